// Laikago leg-breaking for Python: who moves the robots, and its episodes.
#include "tasks/quadruped.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "bindings/arrays.hpp"
#include "bindings/interruption.hpp"
#include "bindings/module.hpp"
#include "bindings/policies.hpp"
#include "physics/laikago/names.hpp"
#include "physics/mujoco.hpp"
#include "physics/robots.hpp"
#include "tasks/quadruped_rollout.hpp"

namespace arz {
namespace {

namespace laikago = physics::laikago;
using physics::Floats;
using physics::MujocoApi;
using physics::MujocoData;
using physics::MujocoRobots;
using physics::Robots;

// ---- engines: how robots move ----

// A shared rollout for each kind of policy.
struct SharedRollouts {
  virtual ~SharedRollouts() = default;
  virtual void run(QuadrupedWork<ProgramPolicy>& work) = 0;
  virtual void run(QuadrupedWork<NetworkPolicy>& work) = 0;
};
template <class R>
struct SharedRolloutsOf final : SharedRollouts {
  std::mutex turn;  // one for all: MuJoCo's robots share their data
  SharedQuadrupedRollout<ProgramPolicy, R> programs;
  SharedQuadrupedRollout<NetworkPolicy, R> networks;

  explicit SharedRolloutsOf(const R& robots) : programs(robots), networks(robots) {}
  void run(QuadrupedWork<ProgramPolicy>& work) override { programs.run(work, turn); }
  void run(QuadrupedWork<NetworkPolicy>& work) override { networks.run(work, turn); }
};

// Which robots: our own in floats (eight side by side) or doubles, or MuJoCo's, of which each thread needs its own
// data.
struct Engine {
  enum class Kind { floats, doubles, mujoco } kind;
  int contact_iterations = 1;
  laikago::World world{};
  MujocoApi api{};
  std::vector<MujocoData> data;
  std::vector<double> start;
  nb::object owner;  // keeps what the addresses point to
  std::shared_ptr<SharedRollouts> shared = nullptr;

  // Calls work(robots, thread's own maker of robots) for the kind.
  template <class Work>
  auto visit(std::size_t thread, Work work) const {
    switch (kind) {
      case Kind::floats:
        return work(Robots<Floats>(contact_iterations, world));
      case Kind::doubles:
        return work(Robots<double>(contact_iterations, world));
      default:
        return work(MujocoRobots(api, data[thread], start, world));
    }
  }
};

// The same, for callers that share one thread's worth of robots.
Engine shared_engine(const Engine& engine) {
  Engine result = engine;
  engine.visit(0, [&]<class R>(const R& robots) { result.shared = std::make_shared<SharedRolloutsOf<R>>(robots); });
  return result;
}

// (friction, payload, strength of the motors, latency in physics steps, start pose and its key)
laikago::World make_world(double friction, double payload, double strength, int latency, double pose,
                          std::uint64_t key) {
  require(friction >= 0 && friction <= 100, "friction must lie in 0 to 100");
  require(payload >= -10 && payload <= 1000, "payload must lie in -10 to 1000 kg");
  require(strength >= 0 && strength <= 100, "motor_strength must lie in 0 to 100");
  require(latency >= 0 && latency < physics::kSubsteps, "latency must lie in 0 to 9 ms");
  require(pose >= 0 && pose <= 1, "start_pose must lie in 0 to 1");
  return {friction, payload, strength, latency, pose, key};
}

Engine own_engine(bool is_double, int contact_iterations, const laikago::World& world) {
  check_contact_iterations(contact_iterations);
  return {is_double ? Engine::Kind::doubles : Engine::Kind::floats, contact_iterations, world, {}, {}, {}, {}};
}

// functions: mj_step, mj_getState, mj_setState; data: (address, position, velocity, control) for each thread.
Engine mujoco_engine(std::vector<std::uintptr_t> functions, std::uintptr_t model, unsigned int which,
                     std::vector<double> start, std::vector<std::vector<std::uintptr_t>> data,
                     const laikago::World& world, nb::object owner) {
  require(functions.size() == 3 && !data.empty(), "expected three functions and data for at least one thread");
  const auto is_null = [](std::uintptr_t address) { return address == 0; };
  require(model != 0 && std::none_of(functions.begin(), functions.end(), is_null), "an address is 0");
  Engine engine{Engine::Kind::mujoco, 0, world, {}, {}, std::move(start), std::move(owner)};
  engine.api = {reinterpret_cast<decltype(MujocoApi::step)>(functions[0]),
                reinterpret_cast<decltype(MujocoApi::get_state)>(functions[1]),
                reinterpret_cast<decltype(MujocoApi::set_state)>(functions[2]),
                reinterpret_cast<const void*>(model),
                which,
                static_cast<int>(engine.start.size())};
  for (const auto& d : data) {
    require(d.size() == 4 && std::none_of(d.begin(), d.end(), is_null), "expected four addresses for each thread");
    engine.data.push_back({reinterpret_cast<void*>(d[0]), reinterpret_cast<double*>(d[1]),
                           reinterpret_cast<double*>(d[2]), reinterpret_cast<double*>(d[3])});
  }
  return engine;
}

QuadrupedSettings make_quadruped(int leg, int break_step, int steps, int break_before,
                                 const std::vector<double>& torque_left, double sensor_noise, std::uint64_t key) {
  require(leg >= kRandom && leg < laikago::kLegs, "expected a leg from -2 to 3, not " + std::to_string(leg));
  require(steps >= 1 && steps <= 1'000'000, "steps must be 1 to 1000000");
  require(break_step == kRandom || (break_step >= 0 && break_step < steps),
          "break_step must lie in 0 to " + std::to_string(steps - 1));
  require(break_before >= 1 && break_before <= steps, "break_before must lie in 1 to " + std::to_string(steps));
  QuadrupedSettings result{leg, break_step, steps, break_before, {}, sensor_noise, key};
  require(sensor_noise >= 0 && sensor_noise <= 1000, "sensor_noise must lie in 0 to 1000");
  require(torque_left.size() == laikago::kLegs, "expected what is left of the torque of four legs");
  for (int l = 0; l < laikago::kLegs; ++l) {
    require(torque_left[l] >= 0 && torque_left[l] <= 1, "torque_left must lie in 0 to 1");
    result.torque_left[l] = torque_left[l];
  }
  return result;
}

// Which leg breaks in each episode, and when: rows (leg, step).
Output<std::int32_t> breaks(const QuadrupedSettings& settings, Input<std::uint64_t, 1> keys) {
  std::vector<std::int32_t> rows;
  rows.reserve(2 * keys.shape(0));
  for (const Break& b : breaks_of(settings, copied(keys))) rows.insert(rows.end(), {b.leg, b.step});
  return as_numpy(std::move(rows), {keys.shape(0), 2});
}

// Keys made from these so that their episodes are spread evenly: key i has leg i mod 4, and its break lies in one of as
// many parts of the episode as there are keys for a leg (or steps, if these are fewer).
Output<std::uint64_t> balanced(const QuadrupedSettings& settings, Input<std::uint64_t, 1> keys) {
  std::vector<std::uint64_t> result = copied(keys);
  {
    const LongWork work;
    const std::size_t parts = std::clamp<std::size_t>(result.size() / laikago::kLegs, 1, settings.break_before);
    QuadrupedSettings random = settings;
    random.leg = random.break_step = kRandom;
    for (std::size_t i = 0; i < result.size(); ++i) {
      Cancellation::check();
      const std::size_t leg = i % laikago::kLegs, part = i / laikago::kLegs % parts;
      for (Break b = break_of(random, result[i]);
           static_cast<std::size_t>(b.leg) != leg || b.step * parts / settings.break_before != part;
           b = break_of(random, result[i]))
        result[i] = mix(result[i] + kGolden);
    }
  }
  const std::size_t count = result.size();
  return as_numpy(std::move(result), {count});
}

// ---- rollouts ----

template <class Many>
std::tuple<Output<double>, Output<std::int32_t>, Output<std::uint8_t>, Output<double>, Output<double>> rollout(
    const Many& batch, const QuadrupedSettings& settings, const Engine& engine, Input<std::uint64_t, 1> keys,
    double constraint_length, double constraint_total, int threads, bool only_effective, bool shares_trunk, int crowd) {
  check_fit<Quadruped>(batch.shape);
  check_threads(threads);
  require(crowd >= 1 && crowd <= 100'000, "expected 1 to 100000 robots side by side");
  const std::size_t programs = batch.size(), episodes = keys.shape(0);
  check_episodes(episodes);
  std::vector<QuadrupedOutcome> outcomes(product({programs, episodes}));
  std::vector<double> sums(product({programs, sums_of(batch)}));
  const std::vector<std::uint64_t> drawn = copied(keys);
  if (engine.kind == Engine::Kind::mujoco) threads = std::min<int>(threads, static_cast<int>(engine.data.size()));
  {
    const LongWork long_work;
    using Policy = PolicyOf<Many>;
    const auto load_one = [&](Policy& policy, std::size_t p) {
      load(policy, batch, p, 1, only_effective, sums.data() + p * sums_of(batch));
    };
    const Constraint constraint{constraint_length, constraint_total};
    QuadrupedWork<Policy> work{settings, drawn, programs, load_one, outcomes.data(), constraint, shares_trunk, crowd};
    if (engine.shared) {
      const Cancellation::Scope scope(nullptr);  // others wait for the robots that it moves
      engine.shared->run(work);
    } else {
      Pool::shared().run(threads, threads, [&](std::size_t thread) {
        engine.visit(thread, [&]<class R>(R robots) { QuadrupedRollout<Policy, R>(std::move(robots)).run(work); });
      });
    }
  }
  std::vector<double> totals(outcomes.size()), distances(outcomes.size());
  std::vector<std::int32_t> lengths(outcomes.size());
  std::vector<std::uint8_t> statuses(outcomes.size());
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    totals[i] = outcomes[i].outcome.total;
    lengths[i] = outcomes[i].outcome.length;
    statuses[i] = static_cast<std::uint8_t>(outcomes[i].outcome.status);
    distances[i] = outcomes[i].distance;
  }
  const std::vector<std::size_t> shape{programs, episodes};
  return std::make_tuple(as_numpy(std::move(totals), shape), as_numpy(std::move(lengths), shape),
                         as_numpy(std::move(statuses), shape), as_numpy(std::move(sums), {programs, 1, sums_of(batch)}),
                         as_numpy(std::move(distances), shape));
}

template <class Many>
Output<double> recorded_rollout(const Many& batch, std::int64_t index, const QuadrupedSettings& settings,
                                const Engine& engine, Input<std::uint64_t, 1> keys) {
  check_fit<Quadruped>(batch.shape);
  const std::size_t p = checked(batch, index), episodes = keys.shape(0), steps = settings.steps;
  const std::size_t numbers = product({episodes, steps, kQuadrupedTruth});
  require(numbers < kMostRecorded, "too many episodes to record at once: use fewer");
  const std::vector<std::uint64_t> drawn = copied(keys);
  std::vector<double> rows(numbers, std::numeric_limits<double>::quiet_NaN());
  {
    const LongWork work;
    engine.visit(0, [&](auto robots) {
      PolicyOf<Many> policy;
      load(policy, batch, p, 1, true, nullptr);
      for (std::size_t e = 0; e < episodes; ++e)
        record(policy, robots, settings, drawn[e], rows.data() + e * steps * kQuadrupedTruth);
    });
  }
  return as_numpy(std::move(rows), {episodes, steps, kQuadrupedTruth});
}

// ---- episodes that Python drives step by step ----

class QuadrupedStepper {
 public:
  QuadrupedStepper(const QuadrupedSettings& settings, const Engine& engine, int count)
      : settings_(settings), owner_(engine.owner) {
    require(count >= 1 && count <= 1'000'000, "expected 1 to 1000000 episodes, got " + std::to_string(count));
    engine.visit(0, [&]<class R>(R robots) { robots_ = std::make_unique<Held<R>>(std::move(robots)); });
    robots_->reserve(count);
    episodes_.resize(count);
    times_.resize(count);
    breaks_.resize(count, {kNoLeg, 0});
  }
  QuadrupedStepper(const QuadrupedStepper&) = delete;

  void start(std::int64_t which, std::uint64_t key) {
    require(which >= 0 && static_cast<std::size_t>(which) < episodes_.size(),
            "episode " + std::to_string(which) + " is not among " + text(episodes_.size()));
    robots_->start(static_cast<int>(which));
    episodes_[which] = {};
    times_[which] = 0;
    breaks_[which] = break_of(settings_, key);
  }

  // Rewards and statuses. Episodes that have ended have the reward 0, whatever their robots do. After an interruption
  // some robots have moved and others have not: start anew.
  std::tuple<Output<double>, Output<std::uint8_t>> step(Input<double, 2> actions) {
    const Interruptible here;
    const std::size_t count = episodes_.size();
    require(actions.shape(0) == count && actions.shape(1) == Quadruped::kActions,
            "expected " + text(count) + " actions of " + text(Quadruped::kActions) + " numbers each");
    std::vector<double> rewards(count, 0.0);
    std::vector<std::uint8_t> statuses(count);
    std::vector<std::uint8_t> runs(count);
    for (std::size_t i = 0; i < count; ++i) {
      runs[i] = episodes_[i].status() == Status::running;
      if (!runs[i]) continue;
      if (const auto [leg, when] = breaks_[i]; leg >= 0 && when == times_[i])
        robots_->break_leg(static_cast<int>(i), leg, settings_.torque_left[leg]);
      robots_->act(episodes_[i], static_cast<int>(i), actions.data() + i * Quadruped::kActions);
    }
    robots_->advance(static_cast<int>(count));
    for (std::size_t i = 0; i < count; ++i) {
      if (runs[i]) {
        robots_->judge(episodes_[i], static_cast<int>(i));
        if (++times_[i] >= settings_.steps) episodes_[i].complete();
        rewards[i] = episodes_[i].reward();
      }
      statuses[i] = static_cast<std::uint8_t>(episodes_[i].status());
    }
    return std::make_tuple(as_numpy(std::move(rewards), {count}), as_numpy(std::move(statuses), {count}));
  }

  Output<double> states() const { return entries(false); }
  // The same as the sensors tell it.
  Output<double> observations() const { return entries(true); }
  // Which leg breaks and when: (leg, step) for each; the leg -1 if none.
  std::vector<std::pair<int, int>> breaks() const {
    std::vector<std::pair<int, int>> result;
    for (const Break& b : breaks_) result.emplace_back(b.leg, b.step);
    return result;
  }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual void reserve(int slots) = 0;
    virtual void start(int slot) = 0;
    virtual void break_leg(int slot, int leg, double left) = 0;
    virtual void act(Quadruped& episode, int slot, const double* action) = 0;
    virtual void advance(int slots) = 0;
    virtual void judge(Quadruped& episode, int slot) const = 0;
    virtual double state(int slot, int i) const = 0;
  };
  template <class R>
  struct Held final : Any {
    R robots;
    explicit Held(R given) : robots(std::move(given)) {}
    void reserve(int slots) override { robots.reserve(slots); }
    void start(int slot) override { robots.start(slot); }
    void break_leg(int slot, int leg, double left) override { robots.break_leg(slot, leg, left); }
    void act(Quadruped& episode, int slot, const double* action) override { episode.act(robots, slot, action, 1); }
    void advance(int slots) override { robots.advance(slots); }
    void judge(Quadruped& episode, int slot) const override { episode.judge(robots, slot); }
    double state(int slot, int i) const override { return robots.state(slot, i); }
  };

  Output<double> entries(bool sensed) const {
    std::vector<double> result(episodes_.size() * laikago::kStateNumbers);
    for (std::size_t i = 0; i < episodes_.size(); ++i)
      for (int e = 0; e < laikago::kStateNumbers; ++e)
        result[i * laikago::kStateNumbers + e] =
            robots_->state(static_cast<int>(i), e) + (sensed ? settings_.sensor_error(times_[i], e) : 0.0);
    return as_numpy(std::move(result), {episodes_.size(), laikago::kStateNumbers});
  }

  QuadrupedSettings settings_;
  nb::object owner_;
  std::unique_ptr<Any> robots_;
  std::vector<Quadruped> episodes_;
  std::vector<int> times_;
  std::vector<Break> breaks_;
};

// Moves standing robots for some control steps; for measuring speed.
void exercise(const Engine& engine, int robots, int control_steps) {
  require(robots >= 1 && robots <= 100'000 && control_steps >= 0 && control_steps <= 1'000'000,
          "expected 1 to 100000 robots and 0 to 1000000 steps");
  const LongWork work;
  engine.visit(0, [&](auto herd) {
    herd.reserve(robots);
    for (int r = 0; r < robots; ++r) herd.start(r);
    for (int s = 0; s < control_steps; ++s) herd.advance(robots);
  });
}

// The columns of a recorded episode: the state, the action of each joint, the reward, and whether each leg works.
nb::tuple truth_names() {
  std::vector<std::string> names = laikago::state_names();
  for (const std::string& joint : laikago::joint_names()) names.push_back(joint + " action");
  names.push_back("reward");
  for (const char* leg : laikago::kLegNames) names.push_back(leg + std::string(" works"));
  require(names.size() == kQuadrupedTruth, "a column of a recorded episode has no name");
  return as_tuple(names);
}

}  // namespace

static void bind_quadruped(nb::module_& m) {
  m.attr("QUADRUPED_TRUTH") = truth_names();
  m.attr("QUADRUPED_RANDOM") = kRandom;
  m.attr("QUADRUPED_NO_LEG") = kNoLeg;

  nb::class_<laikago::World>(m, "World", "What may differ from one simulation to the next: see `laikago_world`.");
  m.def("laikago_world", &make_world, "friction"_a, "payload"_a, "motor_strength"_a, "latency"_a, "start_pose"_a,
        "key"_a,
        "A world: friction of the toes, a mass on the trunk (kg), how strong motors are, after how many physics steps "
        "they hear of an action, and how far joints start off their places, as the key says.");
  nb::class_<Engine>(m, "Engine", "Who moves the robots: see `own_engine` and `mujoco_engine`.");
  m.def("own_engine", &own_engine, "is_double"_a, "contact_iterations"_a, "world"_a,
        "Our simulator: in double precision, or many robots side by side in single precision.");
  m.def("shared_engine", &shared_engine, "engine"_a,
        "The same for several callers at once: one at a time moves the robots of all.");
  m.def(
      "mujoco_engine", &mujoco_engine, "functions"_a, "model"_a, "which"_a, "start"_a, "data"_a, "world"_a, "owner"_a,
      "MuJoCo, by addresses: of mj_step, mj_getState and mj_setState, of the model, and, for each thread, of its data, "
      "positions, velocities and controls. `which` says what is in a state, `start` is the first; the owner keeps all "
      "that alive.");

  nb::class_<QuadrupedSettings>(m, "QuadrupedSettings", "A variant of the task: see `quadruped_settings`.");
  m.def(
      "quadruped_settings", &make_quadruped, "leg"_a, "break_step"_a, "steps"_a, "break_before"_a, "torque_left"_a,
      "sensor_noise"_a, "key"_a,
      "Which leg breaks (its number, QUADRUPED_NO_LEG or QUADRUPED_RANDOM) and when (a step or QUADRUPED_RANDOM), how "
      "much torque each leg then has left, and the noise of the sensors, as the key says.");
  const auto define = [&](auto rollout, auto recorded) {
    m.def(
        "quadruped_rollout", rollout, "policies"_a, "settings"_a, "engine"_a, "episodes"_a.noconvert(),
        "constraint_length"_a, "constraint_return"_a, "threads"_a, "only_effective"_a, "shares_trunk"_a, "crowd"_a,
        "Each policy in each episode (a key): returns, lengths and statuses [policy, episode], sums over what networks "
        "saw [policy, part, number], and distances [policy, episode]. A policy is stopped once it is certain that its "
        "episodes are longer and return less than the constraint.");
    m.def("recorded_quadruped", recorded, "policies"_a, "index"_a, "settings"_a, "engine"_a, "episodes"_a.noconvert(),
          "All that happens to one policy [episode, step, column] (QUADRUPED_TRUTH), NaN after the end.");
  };
  define(&rollout<Batch>, &recorded_rollout<Batch>);
  define(&rollout<NetworkBatch>, &recorded_rollout<NetworkBatch>);
  m.def("quadruped_breaks", &breaks, "settings"_a, "episodes"_a.noconvert(),
        "Which leg breaks in each episode, and when [episode, 2].");
  m.def("quadruped_balanced", &balanced, "settings"_a, "episodes"_a.noconvert(),
        "Episodes made from these in which all legs break equally often, and at all times.");
  m.def("exercise", &exercise, "engine"_a, "robots"_a, "control_steps"_a,
        "Moves standing robots; for measuring speed.");
  nb::class_<QuadrupedStepper>(m, "QuadrupedStepper",
                               "Episodes that Python drives step by step, each with its own clock.")
      .def(nb::init<const QuadrupedSettings&, const Engine&, int>(), "settings"_a, "engine"_a, "count"_a)
      .def("start", &QuadrupedStepper::start, "which"_a, "key"_a, "Starts one of them anew.")
      .def("step", &QuadrupedStepper::step, "actions"_a.noconvert(),
           "Rewards and statuses of a step by these actions [episode, joint]; 0 for those that have ended.")
      .def("states", &QuadrupedStepper::states, "Where the robots are [episode, entry].")
      .def("observations", &QuadrupedStepper::observations, "The same as the sensors tell it.")
      .def("breaks", &QuadrupedStepper::breaks, "Which leg breaks and when, for each; the leg -1 if none.");
}

namespace {
const TaskBinding binding("quadruped", &bind_quadruped);
}

}  // namespace arz
