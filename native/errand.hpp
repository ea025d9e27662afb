// What a call from outside does, and how it is stopped. Work can take long; those who do it ask often whether to go on,
// which costs next to nothing. The thread that was called looks ten times a second whether somebody wants to stop (in
// Python, whether Ctrl-C was pressed); the others hear of it when they ask.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace arz {

// Thrown by those who ask after another has stopped the work, or failed.
struct Stopped {};

class Errand {
 public:
  using Look = void (*)();  // throws if somebody wants to stop; null where nobody can
  static constexpr std::chrono::milliseconds kBetweenLooks{100};

  // From now on this is what the calling thread does.
  explicit Errand(Look look) : look_(look) { here_ = this; }
  ~Errand() { here_ = nullptr; }
  Errand(const Errand&) = delete;

  // What this thread does; null if it does nothing for anybody.
  static Errand* here() { return here_; }

  // Throws if the work of this thread shall stop.
  static void go_on() {
    if (here_ != nullptr) here_->ask();
  }
  void ask() {
    if (is_over_.load(std::memory_order_relaxed)) throw Stopped();
    if (owner_ == std::this_thread::get_id() && --asks_left_ <= 0) look_if_due();
  }
  // The same for a thread that has waited, so that it asks seldom.
  static void wait_on() {
    if (here_ == nullptr) return;
    if (here_->owner_ == std::this_thread::get_id()) here_->asks_left_ = 0;
    here_->ask();
  }
  // Everybody shall stop.
  void stop() { is_over_ = true; }

  // While it lives, this thread helps with an errand; with none, nobody can stop it.
  class Help {
   public:
    explicit Help(Errand* errand) : before_(std::exchange(here_, errand)) {}
    ~Help() { here_ = before_; }
    Help(const Help&) = delete;

   private:
    Errand* const before_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::chrono::milliseconds kLong{1};
  static constexpr int kMany = 64;

  static inline constinit thread_local Errand* here_ = nullptr;

  // Even to ask what time it is takes long, beside a step of a small program: once in many asks will do, if they follow
  // each other soon.
  [[gnu::noinline]] void look_if_due() {
    const auto now = Clock::now();
    asks_left_ = asks_ = now - last_ask_ < kLong ? std::min(2 * asks_, kMany) : 1;
    last_ask_ = now;
    if (now < next_look_) return;
    next_look_ = now + kBetweenLooks;
    look_();
  }

  const Look look_;
  const std::thread::id owner_ = look_ != nullptr ? std::this_thread::get_id() : std::thread::id();  // who looks
  int asks_ = 1, asks_left_ = 1;  // until the next time
  Clock::time_point last_ask_ = Clock::now(), next_look_ = last_ask_ + kBetweenLooks;
  std::atomic<bool> is_over_ = false;
};

}  // namespace arz
