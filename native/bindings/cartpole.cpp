// Cataclysmic Cartpole for Python.
#include "tasks/cartpole.hpp"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "bindings/arrays.hpp"
#include "bindings/interruption.hpp"
#include "bindings/module.hpp"
#include "bindings/policies.hpp"
#include "tasks/rollout.hpp"

namespace arz {
namespace {

CartpoleSettings make_cartpole(int change, std::vector<bool> changes, bool hides_positions, bool has_noise,
                               double noise_sigma, double x_limit, int steps) {
  require(changes.size() == kCartpoleParameters, "expected one truth value for each of the change parameters");
  require(noise_sigma >= 0.0 && noise_sigma <= 1e6, "noise_sigma must lie in 0 to 1e6");
  require(x_limit > 0.0 && x_limit <= 1e6, "x_limit must be above 0 and at most 1e6");
  require(steps >= 1 && steps <= 1'000'000, "steps must be 1 to 1000000");
  require(change >= 0 && change <= 2, "a change is sudden (0), continuous (1) or both (2)");
  CartpoleSettings result{static_cast<Change>(change), {}, hides_positions, has_noise, noise_sigma, x_limit, steps};
  std::copy(changes.begin(), changes.end(), result.changes);
  return result;
}

template <class Many>
std::tuple<Output<double>, Output<std::int32_t>, Output<std::uint8_t>, Output<double>> rollout(
    const Many& batch, const CartpoleSettings& settings, Input<std::uint64_t, 1> keys, int threads, bool only_effective,
    bool compact) {
  using Policy = PolicyOf<Many>;
  check_fit<Cartpole>(batch.shape);
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
    Pool::shared().run(programs * blocks, threads, [&](std::size_t task) {
      const std::size_t p = task / blocks, first = task % blocks * block, count = std::min(block, episodes - first);
      auto& own = per_thread<Rollout<Policy, Cartpole>>();
      std::vector<Outcome>& outcomes = per_thread<std::vector<Outcome>>();
      outcomes.resize(block);
      load(own.policy, batch, p, static_cast<int>(count), only_effective, sums.data() + task * sums_of(batch));
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

template <class Many>
Output<double> recorded_rollout(const Many& batch, std::int64_t index, const CartpoleSettings& settings,
                                Input<std::uint64_t, 1> keys) {
  check_fit<Cartpole>(batch.shape);
  const std::size_t p = checked(batch, index), episodes = keys.shape(0);
  const std::size_t steps = settings.steps, fields = Cartpole::kTruth, block = block_lanes(batch.shape);
  const std::size_t numbers = product({episodes, steps, fields});
  require(numbers < kMostRecorded, "too many episodes to record at once: use fewer");
  const std::vector<std::uint64_t> drawn = copied(keys);
  std::vector<double> rows(numbers, std::numeric_limits<double>::quiet_NaN());
  {
    const LongWork work;
    Rollout<PolicyOf<Many>, Cartpole> own;
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
class CartpoleStepper {
 public:
  CartpoleStepper(const CartpoleSettings& settings, int count) : settings_(settings) {
    require(count >= 1 && count <= 1'000'000, "expected 1 to 1000000 episodes, got " + std::to_string(count));
    tasks_.resize(count);
    for (Cartpole& task : tasks_) task.reset(settings_, std::vector<std::uint64_t>{0});
  }
  CartpoleStepper(const CartpoleStepper&) = delete;

  void start(std::int64_t which, std::uint64_t key) { at(which).reset(settings_, std::vector<std::uint64_t>{key}); }

  // Rewards and statuses. Episodes that have ended stay as they are: reward 0.
  std::tuple<Output<double>, Output<std::uint8_t>> step(Input<double, 1> actions) {
    require(actions.shape(0) == tasks_.size(),
            "expected " + text(tasks_.size()) + " actions, got " + text(actions.shape(0)));
    std::vector<double> rewards(tasks_.size(), 0.0);
    std::vector<std::uint8_t> statuses(tasks_.size());
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].status(0) == Status::running) {
        alignas(64) double lanes[kLanes] = {actions.data()[i]};
        tasks_[i].advance(lanes);
        rewards[i] = tasks_[i].reward(0);
      }
      statuses[i] = static_cast<std::uint8_t>(tasks_[i].status(0));
    }
    const std::size_t count = tasks_.size();
    return std::make_tuple(as_numpy(std::move(rewards), {count}), as_numpy(std::move(statuses), {count}));
  }
  Output<double> observations() const {
    std::vector<double> result(tasks_.size() * Cartpole::kObservations);
    alignas(64) double lanes[kLanes];
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      for (int e = 0; e < Cartpole::kObservations; ++e) {
        tasks_[i].observe(e, lanes);
        result[i * Cartpole::kObservations + e] = lanes[0];
      }
    return as_numpy(std::move(result), {tasks_.size(), Cartpole::kObservations});
  }
  Output<double> truth() const {
    std::vector<double> result(tasks_.size() * Cartpole::kTruth);
    for (std::size_t i = 0; i < tasks_.size(); ++i) tasks_[i].truth(0, result.data() + i * Cartpole::kTruth);
    return as_numpy(std::move(result), {tasks_.size(), Cartpole::kTruth});
  }

 private:
  Cartpole& at(std::int64_t which) {
    require(which >= 0 && static_cast<std::size_t>(which) < tasks_.size(),
            "episode " + std::to_string(which) + " is not among " + text(tasks_.size()));
    return tasks_[which];
  }

  CartpoleSettings settings_;
  std::vector<Cartpole> tasks_;
};

}  // namespace

void bind_cartpole(nb::module_& m) {
  m.attr("CARTPOLE_TRUTH") = as_tuple(Cartpole::kTruthNames);
  m.attr("CARTPOLE_STEP") = Cartpole::kStep;
  m.attr("CARTPOLE_ANGLE_LIMIT") = Cartpole::kAngleLimit;
  nb::list changes;
  for (const ChangeRange& range : kCartpoleChanges)
    changes.append(nb::make_tuple(range.name, range.nominal, range.low, range.high));
  m.attr("CARTPOLE_CHANGES") = nb::tuple(changes);
  m.attr("CARTPOLE_CHANGE_KINDS") = as_tuple(kChangeNames);

  nb::class_<CartpoleSettings>(m, "CartpoleSettings", "A variant of the task: see `cartpole_settings`.");
  m.def("cartpole_settings", &make_cartpole, "change"_a, "changes"_a, "hides_positions"_a, "has_noise"_a,
        "noise_sigma"_a, "x_limit"_a, "steps"_a,
        "How parameters change (a position in CARTPOLE_CHANGE_KINDS) and which of them do, what is seen, the noise on "
        "the action, and when an episode ends.");
  const auto define = [&](auto rollout, auto recorded) {
    m.def("rollout", rollout, "policies"_a, "settings"_a, "episodes"_a.noconvert(), "threads"_a, "only_effective"_a,
          "compact"_a,
          "Each policy in each episode (a key): returns, lengths and statuses [policy, episode], and sums over what "
          "networks saw [policy, part, number].");
    m.def("recorded_rollout", recorded, "policies"_a, "index"_a, "settings"_a, "episodes"_a.noconvert(),
          "All that happens to one policy [episode, step, column] (CARTPOLE_TRUTH), NaN after the end.");
  };
  define(&rollout<Batch>, &recorded_rollout<Batch>);
  define(&rollout<NetworkBatch>, &recorded_rollout<NetworkBatch>);
  nb::class_<CartpoleStepper>(m, "CartpoleStepper",
                              "Episodes that Python drives step by step, each with its own clock.")
      .def(nb::init<const CartpoleSettings&, int>(), "settings"_a, "count"_a)
      .def("start", &CartpoleStepper::start, "which"_a, "key"_a, "Starts one of them anew.")
      .def("step", &CartpoleStepper::step, "actions"_a.noconvert(),
           "Rewards and statuses of a step by these actions [episode]; 0 for those that have ended.")
      .def("observations", &CartpoleStepper::observations, "What policies see [episode, entry].")
      .def("truth", &CartpoleStepper::truth, "All there is to know [episode, column] (CARTPOLE_TRUTH).");
}

}  // namespace arz
