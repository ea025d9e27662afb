// The Python face of tasks and rollouts.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "execute.hpp"
#include "face.hpp"
#include "policies/policies.hpp"
#include "pool.hpp"
#include "rollout.hpp"
#include "tasks/cartpole.hpp"

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
nb::tuple rollout(const Many& batch, const CartpoleSettings& settings, Input<std::uint64_t, 1> keys, int threads,
                  bool only_effective, bool compact) {
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
      auto& mine_own = mine<Rollout<Policy, Cartpole>>();
      std::vector<Outcome>& outcomes = mine<std::vector<Outcome>>();
      outcomes.resize(block);
      load(mine_own.policy, batch, p, static_cast<int>(count), only_effective, sums.data() + task * sums_of(batch));
      mine_own.run(settings, {drawn.data() + first, count}, outcomes.data(), compact);
      for (std::size_t e = 0; e < count; ++e) {
        const std::size_t at = p * episodes + first + e;
        totals[at] = outcomes[e].total;
        lengths[at] = outcomes[e].length;
        statuses[at] = static_cast<std::uint8_t>(outcomes[e].status);
      }
    });
  }
  return nb::make_tuple(as_numpy(std::move(totals), {programs, episodes}),
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
    Rollout<PolicyOf<Many>, Cartpole> mine_own;
    std::vector<Outcome> outcomes(block);
    for (std::size_t first = 0; first < episodes; first += block) {
      const std::size_t count = std::min(block, episodes - first);
      const Recording recording{rows.data() + first * steps * fields, settings.steps};
      load(mine_own.policy, batch, p, static_cast<int>(count), true, nullptr);
      mine_own.run(settings, {drawn.data() + first, count}, outcomes.data(), true, &recording);
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
  nb::tuple step(Input<double, 1> actions) {
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
    return nb::make_tuple(as_numpy(std::move(rewards), {count}), as_numpy(std::move(statuses), {count}));
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

void bind_rollout(nb::module_& m) {
  nb::class_<CartpoleSettings>(m, "CartpoleSettings");
  m.def("cartpole_settings", &make_cartpole);
  nb::list names;
  for (const char* name : Cartpole::kTruthNames) names.append(name);
  m.attr("CARTPOLE_TRUTH") = nb::tuple(names);
  m.attr("CARTPOLE_STEP") = Cartpole::kStep;
  m.attr("CARTPOLE_ANGLE_LIMIT") = Cartpole::kAngleLimit;
  nb::list changes;
  for (const ChangeRange& range : kCartpoleChanges)
    changes.append(nb::make_tuple(range.name, range.nominal, range.low, range.high));
  m.attr("CARTPOLE_CHANGES") = nb::tuple(changes);
  const auto define = [&](auto rollout, auto recorded) {
    m.def("rollout", rollout, nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg(), nb::arg());
    m.def("recorded_rollout", recorded, nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert());
  };
  define(&rollout<Batch>, &recorded_rollout<Batch>);
  define(&rollout<NetworkBatch>, &recorded_rollout<NetworkBatch>);
  nb::class_<CartpoleStepper>(m, "CartpoleStepper")
      .def(nb::init<const CartpoleSettings&, int>())
      .def("start", &CartpoleStepper::start)
      .def("step", &CartpoleStepper::step, nb::arg().noconvert())
      .def("observations", &CartpoleStepper::observations)
      .def("truth", &CartpoleStepper::truth);
}

}  // namespace arz
