// Policy x task x episodes -> how each episode went.
//
// A policy offers load, reset, observation, step, action, retire, keep (policies/program.hpp); a task offers what
// `LaneTask` says (tasks/cartpole.hpp is one). Episodes run in lock step, one per lane. A lane whose episode has ended
// is retired, and as soon as the others fit into fewer chunks of lanes they move together: finished episodes stop
// costing.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

#include "machine/lanes.hpp"
#include "machine/random.hpp"
#include "tasks/status.hpp"
#include "threads/cancellation.hpp"

namespace arz {

// A task over lanes. It is made with no arguments; `observe(policy)` hands a policy the whole observation. A lane whose
// episode has ended may go on, but its status stays.
template <class Task>
concept LaneTask =
    requires(Task task, const Task& seen, const typename Task::Settings& settings, std::span<const std::uint64_t> keys,
             std::span<const int> kept, const double* const* actions, int entry, double* to, int lane) {
      // Steps of an episode, sizes, and how many columns a record has ("reward" is one).
      { settings.steps } -> std::convertible_to<int>;
      { Task::kObservations } -> std::convertible_to<int>;
      { Task::kActions } -> std::convertible_to<int>;
      { Task::kTruth } -> std::convertible_to<int>;
      // An episode in each lane, named by its key.
      task.reset(settings, keys);
      { seen.lanes() } -> std::same_as<int>;
      // Steps done.
      { seen.time() } -> std::same_as<int>;
      // An entry of the observation, in all lanes.
      seen.observe(entry, to);
      // A step by actions[entry][lane]; whether an episode ended in it.
      { task.advance(actions) } -> std::same_as<bool>;
      { seen.status(lane) } -> std::same_as<Status>;
      // Of the last step, and of all steps.
      { seen.reward(lane) } -> std::convertible_to<double>;
      { seen.total(lane) } -> std::convertible_to<double>;
      // All columns before a step; and after it those that tell of it, while the others stay.
      seen.truth(lane, to);
      seen.last_step(lane, to);
      // Goes on with these lanes only, in this (ascending) order.
      task.keep(kept);
    };

// Everything that happened, step by step: rows[episode][step][Task::kTruth], NaN after the end. A row has the state
// and the parameters at the start of the step, and the action and reward of the step.
struct Recording {
  double* rows;
  int steps;
};

// A program's random numbers are its own: not those that set up the episode.
inline std::uint64_t policy_key(std::uint64_t episode) { return mix(episode ^ 0x706F6C696379ull); }

// What one thread rolls out with; reused, so that nothing is allocated in between.
template <class Policy, LaneTask Task>
class Rollout {
 public:
  Policy policy;  // load it, then run
  Task task;

  template <class Settings>
  [[gnu::noinline]] void run(const Settings& settings, std::span<const std::uint64_t> keys, Outcome* outcomes,
                             bool compact = true, const Recording* recording = nullptr) {
    task.reset(settings, keys);
    policy_keys_.clear();
    for (std::uint64_t key : keys) policy_keys_.push_back(policy_key(key));
    policy.reset(policy_keys_);
    episode_.resize(keys.size());
    for (std::size_t l = 0; l < keys.size(); ++l) episode_[l] = static_cast<int>(l);
    running_ = static_cast<int>(keys.size());
    is_open_.assign(keys.size(), true);
    Cancellation* const cancellation = Cancellation::current();
    while (running_ > 0) {
      if (cancellation != nullptr) cancellation->check_here();
      task.observe(policy);
      if (recording != nullptr) [[unlikely]]
        record_before(*recording);
      policy.step();
      const double* actions[Task::kActions];
      for (int a = 0; a < Task::kActions; ++a) actions[a] = policy.action(a);
      const bool ended = task.advance(actions);
      if (recording != nullptr) [[unlikely]]
        record_after(*recording);
      if (ended) collect(outcomes, compact);
    }
  }

 private:
  void collect(Outcome* outcomes, bool compact) {
    for (int l = 0; l < task.lanes(); ++l) {
      if (!is_open_[l] || task.status(l) == Status::running) continue;
      outcomes[episode_[l]] = {task.total(l), task.time(), task.status(l)};
      is_open_[l] = false;
      policy.retire(l);
      --running_;
    }
    const int chunks = (task.lanes() + kLanes - 1) / kLanes, needed = (running_ + kLanes - 1) / kLanes;
    if (!compact || running_ == 0 || needed == chunks) return;
    kept_.clear();
    for (int l = 0; l < task.lanes(); ++l)
      if (is_open_[l]) kept_.push_back(l);
    for (std::size_t l = 0; l < kept_.size(); ++l) episode_[l] = episode_[kept_[l]];
    is_open_.assign(kept_.size(), true);
    policy.keep(kept_);
    task.keep(kept_);
  }

  double* recorded(const Recording& recording, int lane, int step) const {
    return recording.rows + (static_cast<std::size_t>(episode_[lane]) * recording.steps + step) * Task::kTruth;
  }
  void record_before(const Recording& recording) {
    for (int l = 0; l < task.lanes(); ++l)
      if (is_open_[l]) task.truth(l, recorded(recording, l, task.time()));
  }
  void record_after(const Recording& recording) {
    for (int l = 0; l < task.lanes(); ++l)
      if (is_open_[l]) task.last_step(l, recorded(recording, l, task.time() - 1));
  }

  int running_ = 0;
  std::vector<std::uint64_t> policy_keys_;
  std::vector<int> episode_, kept_;
  std::vector<std::uint8_t> is_open_;
};

}  // namespace arz
