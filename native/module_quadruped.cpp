// The Python face of the Laikago: its numbers, its physics, its episodes.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>

#include "branching.hpp"
#include "execute.hpp"
#include "face.hpp"
#include "physics/laikago/mechanics.hpp"
#include "physics/mujoco.hpp"
#include "physics/robots.hpp"
#include "policies/policies.hpp"
#include "pool.hpp"
#include "tasks/quadruped.hpp"

namespace arz {
namespace {

namespace laikago = physics::laikago;
using physics::Floats;
using physics::MujocoApi;
using physics::MujocoData;
using physics::MujocoRobots;
using physics::Robots;

// ---- engines: how robots move ----

// A relay for each kind of policy.
struct Relays {
  virtual ~Relays() = default;
  virtual void run(BranchingWork<ProgramPolicy>& work) = 0;
  virtual void run(BranchingWork<NetworkPolicy>& work) = 0;
};
template <class R>
struct RelaysOf final : Relays {
  std::mutex baton;  // one for all: MuJoCo's robots share their data
  Relay<ProgramPolicy, R> programs;
  Relay<NetworkPolicy, R> networks;

  explicit RelaysOf(const R& robots) : programs(robots), networks(robots) {}
  void run(BranchingWork<ProgramPolicy>& work) override { programs.run(work, baton); }
  void run(BranchingWork<NetworkPolicy>& work) override { networks.run(work, baton); }
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
  std::shared_ptr<Relays> relays = nullptr;

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
  engine.visit(0, [&]<class R>(const R& robots) { result.relays = std::make_shared<RelaysOf<R>>(robots); });
  return result;
}

void check_iterations(int count) {
  require(count >= 1 && count <= 1000, "contact_iterations must be 1 to 1000, not " + std::to_string(count));
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
  check_iterations(contact_iterations);
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
      Errand::go_on();
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
nb::tuple rollout(const Many& batch, const QuadrupedSettings& settings, const Engine& engine,
                  Input<std::uint64_t, 1> keys, double constraint_length, double constraint_total, int threads,
                  bool only_effective, bool shares_trunk, int crowd) {
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
    BranchingWork<Policy> work{settings, drawn, programs, load_one, outcomes.data(), constraint, shares_trunk, crowd};
    if (engine.relays) {
      const Errand::Help help(nullptr);  // others wait for the robots that it moves
      engine.relays->run(work);
    } else {
      Pool::shared().run(threads, threads, [&](std::size_t thread) {
        engine.visit(thread, [&]<class R>(R robots) { Branching<Policy, R>(std::move(robots)).run(work); });
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
  return nb::make_tuple(as_numpy(std::move(totals), shape), as_numpy(std::move(lengths), shape),
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
  nb::tuple step(Input<double, 2> actions) {
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
    return nb::make_tuple(as_numpy(std::move(rewards), {count}), as_numpy(std::move(statuses), {count}));
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

// ---- physics by itself, for those who check it ----

laikago::State<double> state_of(const Input<double, 1>& numbers) {
  require(numbers.shape(0) == laikago::kStateNumbers, "expected a state of 37 numbers");
  laikago::State<double> state;
  std::copy_n(numbers.data(), laikago::kStateNumbers, reinterpret_cast<double*>(&state));
  return state;
}

// 6 of the trunk (angular, then linear, in its own axes) and 12 of the joints, without contact.
Output<double> accelerations(Input<double, 1> state, Input<double, 1> torque) {
  require(torque.shape(0) == laikago::kJoints, "expected 12 torques");
  laikago::Coordinates<double> result;
  laikago::accelerations(state_of(state), torque.data(), result);
  std::vector<double> numbers(result.base, result.base + laikago::kBase);
  numbers.insert(numbers.end(), result.joint, result.joint + laikago::kJoints);
  return as_numpy(std::move(numbers), {laikago::kBase + laikago::kJoints});
}

std::vector<double> mechanics(Input<double, 1> state) {
  const laikago::Mechanics m = laikago::mechanics(state_of(state));
  return {m.kinetic,     m.potential,           m.momentum[0],         m.momentum[1],
          m.momentum[2], m.angular_momentum[0], m.angular_momentum[1], m.angular_momentum[2]};
}

// The states after each of some physics steps, by targets (absolute angles) and working legs that stay.
template <class T>
Output<double> simulated(Input<double, 1> state, Input<double, 1> target, Input<double, 1> works, int steps,
                         int iterations) {
  using physics::Element;
  require(state.shape(0) == laikago::kStateNumbers && target.shape(0) == laikago::kJoints &&
              works.shape(0) == laikago::kLegs,
          "expected a state of 37 numbers, 12 targets and 4 truth values");
  require(steps >= 0 && steps <= 1'000'000, "expected 0 to 1000000 steps");
  check_iterations(iterations);
  const Interruptible here;
  laikago::State<T> now;
  T aim[laikago::kJoints], able[laikago::kLegs];
  auto* numbers = reinterpret_cast<T*>(&now);
  for (int i = 0; i < laikago::kStateNumbers; ++i) numbers[i] = physics::number<T>(state.data()[i]);
  for (int j = 0; j < laikago::kJoints; ++j) aim[j] = physics::number<T>(target.data()[j]);
  for (int l = 0; l < laikago::kLegs; ++l) able[l] = physics::number<T>(works.data()[l]);
  std::vector<double> rows;
  for (int s = 0; s < steps; ++s) {
    Errand::go_on();
    laikago::step(now, aim, able, iterations);
    for (int i = 0; i < laikago::kStateNumbers; ++i) {
      if constexpr (physics::Traits<T>::lanes == 1)
        rows.push_back(numbers[i]);
      else
        rows.push_back(numbers[i][0]);
    }
  }
  return as_numpy(std::move(rows), {static_cast<std::size_t>(steps), laikago::kStateNumbers});
}

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

nb::dict link(const laikago::Link<double>& l) {
  nb::dict result;
  result["mass"] = l.mass;
  result["centre"] = nb::make_tuple(l.centre.x, l.centre.y, l.centre.z);
  result["inertia"] = nb::make_tuple(l.xx, l.yy, l.zz, l.xz);
  return result;
}

// The numbers of the robot, the motors and the ground, so that other models can be made of the same.
nb::dict model() {
  const auto point = [](const physics::Vector<double>& v) { return nb::make_tuple(v.x, v.y, v.z); };
  nb::dict result;
  result["trunk"] = link(laikago::kTrunk);
  result["toe"] = point(laikago::kToe.centre);
  nb::dict legs;
  for (int l = 0; l < laikago::kLegs; ++l) {
    const laikago::Leg<double>& leg = laikago::kLeg<double>[l];
    nb::dict made;
    made["side"] = leg.side;
    made["joints"] = nb::make_tuple(point(leg.abduction), point(leg.hip), point(leg.knee));
    made["links"] = nb::make_tuple(link(leg.motor), link(leg.upper), link(leg.lower));
    legs[laikago::kLegNames[l]] = made;
  }
  result["legs"] = legs;
  result["joint_names"] = nb::make_tuple(laikago::kJointNames[0], laikago::kJointNames[1], laikago::kJointNames[2]);
  result["toe_radius"] = laikago::kToeRadius;
  result["gravity"] = laikago::kGravity;
  result["step"] = laikago::kStep;
  result["friction"] = laikago::kFriction;
  result["height"] = laikago::kNominalHeight;
  result["pose"] = nb::make_tuple(laikago::kNominal[0], laikago::kNominal[1], laikago::kNominal[2]);
  result["stiffness"] = laikago::kStiffness;
  result["damping"] = laikago::kDamping;
  result["max_torque"] = laikago::kMaxTorque;
  result["substeps"] = physics::kSubsteps;
  result["action_limit"] = Quadruped::kActionLimit;
  result["most_aside"] = Quadruped::kMostAside;
  result["speed"] = Quadruped::kSpeed;
  return result;
}

}  // namespace

void bind_quadruped(nb::module_& m) {
  nb::class_<QuadrupedSettings>(m, "QuadrupedSettings");
  nb::class_<Engine>(m, "Engine");
  nb::class_<laikago::World>(m, "World");
  m.def("quadruped_settings", &make_quadruped);
  m.def("laikago_world", &make_world);
  m.def("own_engine", &own_engine);
  m.def("shared_engine", &shared_engine);
  m.def("mujoco_engine", &mujoco_engine);
  const auto define = [&](auto rollout, auto recorded) {
    m.def("quadruped_rollout", rollout, nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg(), nb::arg(),
          nb::arg(), nb::arg(), nb::arg(), nb::arg());
    m.def("recorded_quadruped", recorded, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert());
  };
  define(&rollout<Batch>, &recorded_rollout<Batch>);
  define(&rollout<NetworkBatch>, &recorded_rollout<NetworkBatch>);
  m.def("quadruped_breaks", &breaks, nb::arg(), nb::arg().noconvert());
  m.def("quadruped_balanced", &balanced, nb::arg(), nb::arg().noconvert());
  m.def("laikago_accelerations", &accelerations, nb::arg().noconvert(), nb::arg().noconvert());
  m.def("laikago_mechanics", &mechanics, nb::arg().noconvert());
  m.def("laikago_simulated", &simulated<double>, nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg(), nb::arg());
  m.def("laikago_simulated_floats", &simulated<Floats>, nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg(), nb::arg());
  m.def("exercise", &exercise);
  m.attr("LAIKAGO") = model();
  nb::class_<QuadrupedStepper>(m, "QuadrupedStepper")
      .def(nb::init<const QuadrupedSettings&, const Engine&, int>())
      .def("start", &QuadrupedStepper::start)
      .def("step", &QuadrupedStepper::step, nb::arg().noconvert())
      .def("states", &QuadrupedStepper::states)
      .def("observations", &QuadrupedStepper::observations)
      .def("breaks", &QuadrupedStepper::breaks);
}

}  // namespace arz
