// Threads that wait for work. One pool per process, shared by all calls; work is handed out in single tasks, so that
// uneven tasks still end together, or, where they are small, in one part for each thread. Results must not depend on
// who does a task. Where no more threads can be had, those there are do all of it.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "threads/cancellation.hpp"

namespace arz {

class Pool {
 public:
  // The pool of this process. After a fork the threads of the parent are gone, so the child gets its own;
  // pools are never destroyed, because a thread may still wait in one when the process ends.
  static Pool& shared() {
    static std::mutex guard;
    static Pool* pool = nullptr;
    static pid_t owner = 0;
    const std::lock_guard lock(guard);
    if (pool == nullptr || owner != getpid()) {
      pool = new Pool;
      owner = getpid();
    }
    return *pool;
  }

  // Calls work(task) for each task, on at most `threads` threads, the caller's among them. Rethrows the first
  // exception.
  void run(std::size_t tasks, int threads, const std::function<void(std::size_t)>& work) {
    if (threads <= 1 || tasks <= 1) {
      for (std::size_t task = 0; task < tasks; ++task) {
        Cancellation::check();
        work(task);
      }
      return;
    }
    const std::unique_lock one_call = wait_for_turn();
    {
      const std::lock_guard lock(mutex_);
      const int helpers = started(static_cast<int>(std::min<std::size_t>(threads, tasks)) - 1);
      work_ = &work;
      cancellation_ = Cancellation::current();
      tasks_ = tasks;
      next_ = 0;
      failure_ = nullptr;
      helpers_ = helpers;
      busy_ = helpers;
      ++job_;
    }
    wake_.notify_all();
    do_tasks();
    spin_until([this] { return busy_ == 0; });
    wait_for_helpers();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  // Calls work(first, last, part) for parts of 0..items, one for each thread: for items too small to be handed out
  // singly.
  template <class Work>
  void run_parts(std::size_t items, int threads, Work work) {
    const std::size_t parts = part_count(items, threads);
    run(parts, threads, [&](std::size_t part) { work(part * items / parts, (part + 1) * items / parts, part); });
  }
  static std::size_t part_count(std::size_t items, int threads) {
    constexpr std::size_t kLeast = 16;  // a part must be worth handing out
    return std::clamp<std::size_t>(items / kLeast, 1, threads);
  }

 private:
  static constexpr std::chrono::microseconds kSpinTime{1000};

  // One call at a time; a call that waits for another can be cancelled.
  std::unique_lock<std::timed_mutex> wait_for_turn() {
    std::unique_lock turn(calls_, std::defer_lock);
    while (!turn.try_lock_for(Cancellation::kPollInterval)) Cancellation::check_after_waiting();
    return turn;
  }

  // So many threads to help, or fewer if the system gives no more.
  int started(int wanted) {
    try {
      for (; started_ < wanted; ++started_)
        std::thread([this, worker = started_ + 1] { wait_for_work(worker); }).detach();
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    return std::min(wanted, started_);
  }

  void wait_for_work(int worker) {
    std::uint64_t seen = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return job_ != seen; });
        seen = job_;
        if (worker > helpers_) continue;
      }
      {
        const Cancellation::Scope scope(cancellation_);
        do_tasks();
      }
      {
        const std::lock_guard lock(mutex_);
        if (--busy_ == 0) done_.notify_one();
      }
      spin_until([&] { return job_ != seen; });
    }
  }

  // A thread that sleeps takes long to wake; what comes soon is better awaited with open eyes.
  template <class Condition>
  static void spin_until(Condition is_true) {
    using Clock = std::chrono::steady_clock;
    for (const auto end = Clock::now() + kSpinTime; !is_true() && Clock::now() < end;) std::this_thread::yield();
  }

  void wait_for_helpers() {
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        if (done_.wait_for(lock, Cancellation::kPollInterval, [this] { return busy_ == 0; })) return;
      }
      attempt([] { Cancellation::check_after_waiting(); });
    }
  }

  void do_tasks() {
    for (std::size_t task; (task = next_.fetch_add(1)) < tasks_;)
      attempt([&] {
        Cancellation::check();
        (*work_)(task);
      });
  }

  // The first failure ends the work of all.
  template <class Work>
  void attempt(Work work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      if (cancellation_ != nullptr) cancellation_->cancel();
      next_ = tasks_;
    }
  }

  std::timed_mutex calls_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  int started_ = 0;  // threads that wait for work, or do it
  const std::function<void(std::size_t)>* work_ = nullptr;
  Cancellation* cancellation_ = nullptr;
  std::size_t tasks_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::exception_ptr failure_;
  int helpers_ = 0;
  std::atomic<int> busy_ = 0;
  std::atomic<std::uint64_t> job_ = 0;
};

}  // namespace arz
