// A task over lanes (tasks/rollout.hpp) for Python: rollouts, what happened in episodes, and episodes step by step.
//
// `bind_lane_task<Task>(m, "Name")` gives the module `rollout` and `recorded_rollout` for the settings of the task, and
// `NameStepper`. What a task says is the concept `LaneTask`.
#pragma once

#include <nanobind/stl/tuple.h>

#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/checks.hpp"
#include "bindings/interruption.hpp"
#include "bindings/policies.hpp"
#include "policies/execute.hpp"
#include "tasks/rollout.hpp"

namespace arz {

template <class Task, class Many>
std::tuple<Output<double>, Output<std::int32_t>, Output<std::uint8_t>, Output<double>> rollout(
    const Many& batch, const typename Task::Settings& settings, Input<std::uint64_t, 1> keys, int threads,
    bool only_effective, bool compact) {
  using Policy = PolicyOf<Many>;
  check_fit<Task>(batch.shape);
  check_threads(threads);
  const std::size_t programs = batch.size(), episodes = keys.shape(0), all = product({programs, episodes});
  check_episodes(episodes);
  const std::vector<std::uint64_t> drawn = copied(keys);
  std::vector<double> totals(all);
  std::vector<std::int32_t> lengths(all);
  std::vector<std::uint8_t> statuses(all);
  const std::size_t block = block_lanes(batch.shape), blocks = (episodes + block - 1) / block;
  std::vector<double> sums(product({programs, blocks, sums_of(batch)}));
  {
    const LongWork work;
    Pool::shared().run(programs * blocks, threads, [&](std::size_t job) {
      const std::size_t p = job / blocks, first = job % blocks * block, count = std::min(block, episodes - first);
      auto& own = per_thread<Rollout<Policy, Task>>();
      std::vector<Outcome>& outcomes = per_thread<std::vector<Outcome>>();
      outcomes.resize(block);
      load(own.policy, batch, p, static_cast<int>(count), only_effective, sums.data() + job * sums_of(batch));
      own.run(settings, {drawn.data() + first, count}, outcomes.data(), compact);
      for (std::size_t e = 0; e < count; ++e) {
        const std::size_t at = p * episodes + first + e;
        totals[at] = outcomes[e].total;
        lengths[at] = outcomes[e].length;
        statuses[at] = static_cast<std::uint8_t>(outcomes[e].status);
      }
    });
  }
  return std::make_tuple(as_numpy(std::move(totals), {programs, episodes}),
                         as_numpy(std::move(lengths), {programs, episodes}),
                         as_numpy(std::move(statuses), {programs, episodes}),
                         as_numpy(std::move(sums), {programs, blocks, sums_of(batch)}));
}

template <class Task, class Many>
Output<double> recorded_rollout(const Many& batch, std::int64_t index, const typename Task::Settings& settings,
                                Input<std::uint64_t, 1> keys) {
  check_fit<Task>(batch.shape);
  const std::size_t p = checked(batch, index), episodes = keys.shape(0);
  const std::size_t steps = settings.steps, fields = Task::kTruth, block = block_lanes(batch.shape);
  const std::size_t numbers = product({episodes, steps, fields});
  require(numbers < kMostRecorded, "too many episodes to record at once: use fewer");
  const std::vector<std::uint64_t> drawn = copied(keys);
  std::vector<double> rows(numbers, std::numeric_limits<double>::quiet_NaN());
  {
    const LongWork work;
    Rollout<PolicyOf<Many>, Task> own;
    std::vector<Outcome> outcomes(block);
    for (std::size_t first = 0; first < episodes; first += block) {
      const std::size_t count = std::min(block, episodes - first);
      const Recording recording{rows.data() + first * steps * fields, settings.steps};
      load(own.policy, batch, p, static_cast<int>(count), true, nullptr);
      own.run(settings, {drawn.data() + first, count}, outcomes.data(), true, &recording);
    }
  }
  return as_numpy(std::move(rows), {episodes, steps, fields});
}

// Episodes that Python drives step by step, each with its own clock.
template <class Task>
class Stepping {
 public:
  Stepping(const typename Task::Settings& settings, int count) : settings_(settings) {
    require(count >= 1 && count <= 1'000'000, "expected 1 to 1000000 episodes, got " + std::to_string(count));
    tasks_.resize(count);
    for (Task& task : tasks_) task.reset(settings_, std::vector<std::uint64_t>{0});
  }
  Stepping(const Stepping&) = delete;

  void start(std::int64_t which, std::uint64_t key) { at(which).reset(settings_, std::vector<std::uint64_t>{key}); }

  // Rewards and statuses. Episodes that have ended stay as they are: reward 0.
  std::tuple<Output<double>, Output<std::uint8_t>> step(Input<double, 2> actions) {
    require(actions.shape(0) == tasks_.size() && actions.shape(1) == Task::kActions,
            "expected actions of shape (" + text(tasks_.size()) + ", " + text(Task::kActions) + "), got (" +
                text(actions.shape(0)) + ", " + text(actions.shape(1)) + ")");
    std::vector<double> rewards(tasks_.size(), 0.0);
    std::vector<std::uint8_t> statuses(tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].status(0) == Status::running) {
        alignas(64) double lanes[Task::kActions][kLanes] = {};
        const double* given[Task::kActions];
        for (int a = 0; a < Task::kActions; ++a) {
          lanes[a][0] = actions.data()[i * Task::kActions + a];
          given[a] = lanes[a];
        }
        tasks_[i].advance(given);
        rewards[i] = tasks_[i].reward(0);
      }
      statuses[i] = static_cast<std::uint8_t>(tasks_[i].status(0));
    }
    const std::size_t count = tasks_.size();
    return std::make_tuple(as_numpy(std::move(rewards), {count}), as_numpy(std::move(statuses), {count}));
  }
  Output<double> observations() const {
    std::vector<double> result(tasks_.size() * Task::kObservations);
    alignas(64) double lanes[kLanes];
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      for (int e = 0; e < Task::kObservations; ++e) {
        tasks_[i].observe(e, lanes);
        result[i * Task::kObservations + e] = lanes[0];
      }
    return as_numpy(std::move(result), {tasks_.size(), Task::kObservations});
  }
  Output<double> truth() const {
    std::vector<double> result(tasks_.size() * Task::kTruth);
    for (std::size_t i = 0; i < tasks_.size(); ++i) tasks_[i].truth(0, result.data() + i * Task::kTruth);
    return as_numpy(std::move(result), {tasks_.size(), Task::kTruth});
  }

 private:
  Task& at(std::int64_t which) {
    require(which >= 0 && static_cast<std::size_t>(which) < tasks_.size(),
            "episode " + std::to_string(which) + " is not among " + text(tasks_.size()));
    return tasks_[which];
  }

  typename Task::Settings settings_;
  std::vector<Task> tasks_;
};

template <LaneTask Task>
void bind_lane_task(nb::module_& m, const char* name) {
  using Settings = typename Task::Settings;
  const auto define = [&](auto rollout, auto recorded) {
    m.def("rollout", rollout, "policies"_a, "settings"_a, "episodes"_a.noconvert(), "threads"_a, "only_effective"_a,
          "compact"_a,
          "Each policy in each episode (a key): returns, lengths and statuses [policy, episode], and sums over what "
          "networks saw [policy, part, number].");
    m.def("recorded_rollout", recorded, "policies"_a, "index"_a, "settings"_a, "episodes"_a.noconvert(),
          "All that happens to one policy [episode, step, column], in the columns of the task, NaN after the end.");
  };
  define(&rollout<Task, Batch>, &recorded_rollout<Task, Batch>);
  define(&rollout<Task, NetworkBatch>, &recorded_rollout<Task, NetworkBatch>);
  nb::class_<Stepping<Task>>(m, (std::string(name) + "Stepper").c_str(),
                             "Episodes that Python drives step by step, each with its own clock.")
      .def(nb::init<const Settings&, int>(), "settings"_a, "count"_a)
      .def("start", &Stepping<Task>::start, "which"_a, "key"_a, "Starts one of them anew.")
      .def("step", &Stepping<Task>::step, "actions"_a.noconvert(),
           "Rewards and statuses of a step by these actions [episode, action]; 0 for those that have ended.")
      .def("observations", &Stepping<Task>::observations, "What policies see [episode, entry].")
      .def("truth", &Stepping<Task>::truth, "All there is to know [episode, column], in the columns of the task.");
}

}  // namespace arz
