// How long work is cancelled. Those who do it check often whether to go on, which costs next to nothing. The thread
// that was called from outside polls ten times a second whether somebody wants to cancel (in Python, whether Ctrl-C was
// pressed); the others hear of it when they check.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace arz {

// Thrown by a check after another thread has cancelled the work, or failed.
struct Cancelled {};

class Cancellation {
 public:
  using Poll = void (*)();  // throws if somebody wants to cancel; null where nobody can
  static constexpr std::chrono::milliseconds kPollInterval{100};

  // From now on this decides for the calling thread.
  explicit Cancellation(Poll poll) : poll_(poll) { current_ = this; }
  ~Cancellation() { current_ = nullptr; }
  Cancellation(const Cancellation&) = delete;

  // What decides for this thread; null if nothing does.
  static Cancellation* current() { return current_; }

  // Throws if the work of this thread shall end.
  static void check() {
    if (current_ != nullptr) current_->check_here();
  }
  void check_here() {
    if (is_cancelled_.load(std::memory_order_relaxed)) throw Cancelled();
    if (owner_ == std::this_thread::get_id() && --checks_left_ <= 0) poll_if_due();
  }
  // The same for a thread that has waited, so that it checks seldom.
  static void check_after_waiting() {
    if (current_ == nullptr) return;
    if (current_->owner_ == std::this_thread::get_id()) current_->checks_left_ = 0;
    current_->check_here();
  }
  // Everybody shall stop.
  void cancel() { is_cancelled_ = true; }

  // While it lives, another's cancellation decides for this thread; with null, nobody can cancel its work.
  class Scope {
   public:
    explicit Scope(Cancellation* cancellation) : before_(std::exchange(current_, cancellation)) {}
    ~Scope() { current_ = before_; }
    Scope(const Scope&) = delete;

   private:
    Cancellation* const before_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kLong{1};
  static constexpr int kMany = 64;

  static inline constinit thread_local Cancellation* current_ = nullptr;

  // Even to ask what time it is takes long, beside a step of a small program: once in many checks will do, if they
  // follow each other soon.
  [[gnu::noinline]] void poll_if_due() {
    const auto now = Clock::now();
    checks_left_ = checks_ = now - last_look_ < kLong ? std::min(2 * checks_, kMany) : 1;
    last_look_ = now;
    if (now < next_poll_) return;
    next_poll_ = now + kPollInterval;
    poll_();
  }

  const Poll poll_;
  const std::thread::id owner_ = poll_ != nullptr ? std::this_thread::get_id() : std::thread::id();  // who polls
  int checks_ = 1, checks_left_ = 1;  // until the next look at the clock
  Clock::time_point last_look_ = Clock::now(), next_poll_ = last_look_ + kPollInterval;
  std::atomic<bool> is_cancelled_ = false;
};

}  // namespace arz
