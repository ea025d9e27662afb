// Robots whose legs break, in floats and doubles, and episodes of policies on them.
#include "digest.hpp"
#include "physics/laikago/mechanics.hpp"
#include "physics/robots.hpp"
#include "policies/network.hpp"
#include "tasks/quadruped_rollout.hpp"

namespace arz::bits {
namespace {

namespace laikago = physics::laikago;
using physics::Floats;
using physics::Robots;

// Some hundred control steps of robots that trot or jerk, while one leg after the other breaks.
template <class T>
void add_robots(Digest& digest, int iterations, const laikago::World& world, int count, int steps) {
  Robots<T> robots(iterations, world);
  robots.reserve(count);
  for (int slot = 0; slot < count; ++slot) robots.start(slot);
  Stream stream(count);
  for (int step = 0; step < steps; ++step) {
    for (int slot = 0; slot < count; ++slot) {
      if (step == 30 + 3 * slot) robots.break_leg(slot, slot % laikago::kLegs, slot % 3 == 0 ? 0.25 : 0.0);
      for (int joint = 0; joint < laikago::kJoints; ++joint) {
        const int leg = joint / laikago::kJointsOfLeg;
        const double phase = 0.2 * step + (leg == 0 || leg == 3 ? 0.0 : 3.14);
        const double wild = slot % 5 == 4 ? stream.uniform(-1.0, 1.0) : 0.0;
        robots.set_target(slot, joint, 0.2 * sin(true, phase + joint % 3) + wild);
      }
    }
    robots.advance(count);
    if (step == steps / 2 && count > 2) robots.copy(0, count - 1);
    for (int slot = 0; slot < count; ++slot)
      for (int i = 0; i < laikago::kStateNumbers; ++i) digest.add(robots.state(slot, i));
  }
}

void add_mechanics(Digest& digest) {
  Stream stream(5);
  for (int n = 0; n < 200; ++n) {
    laikago::State<double> state{};
    auto* numbers = reinterpret_cast<double*>(&state);
    for (int i = 0; i < laikago::kStateNumbers; ++i) numbers[i] = stream.uniform(-1.0, 1.0);
    double torque[laikago::kJoints];
    for (double& t : torque) t = stream.uniform(-20.0, 20.0);
    laikago::Coordinates<double> result;
    laikago::accelerations(state, torque, result);
    digest.add(result.base);
    digest.add(result.joint);
    const laikago::Mechanics m = laikago::mechanics(state);
    digest.add(m.kinetic);
    digest.add(m.potential);
    digest.add(m.momentum);
    digest.add(m.angular_momentum);
  }
}

template <class R>
void add_episodes(Digest& digest, R robots) {
  QuadrupedSettings settings;
  settings.steps = settings.break_before = 120;
  settings.noise = 0.5;
  std::vector<std::uint64_t> keys;
  for (int i = 0; i < 12; ++i) keys.push_back(mix(i));
  for (bool is_lstm : {false, true}) {
    const NetworkShape shape{is_lstm, false, Quadruped::kObservations, Quadruped::kActions, {12}};
    std::vector<QuadrupedOutcome> outcomes(3 * keys.size());
    QuadrupedWork<NetworkPolicy> work{settings,
                                      keys,
                                      3,
                                      [&](NetworkPolicy& policy, std::size_t p) {
                                        Stream stream(p);
                                        std::vector<double> numbers(shape.size());
                                        for (double& x : numbers) x = stream.uniform(-0.1, 0.1);
                                        policy.load(shape, numbers, 1);
                                      },
                                      outcomes.data(),
                                      Constraint{}};
    QuadrupedRollout<NetworkPolicy, R>(robots).run(work);
    for (const QuadrupedOutcome& o : outcomes) {
      digest.add(o.outcome.total);
      digest.add(o.distance);
      digest.add(static_cast<std::uint64_t>(o.outcome.length * 8 + static_cast<int>(o.outcome.status)));
    }
  }
}

}  // namespace

void add_quadruped(Digest& floats, Digest& doubles, Digest& episodes) {
  const laikago::World hard{0.4, 3.0, 0.8, 4, 0.05, 9};
  add_robots<Floats>(floats, 1, {}, 20, 300);
  add_robots<Floats>(floats, 5, hard, 3, 300);
  add_robots<double>(doubles, 1, {}, 20, 300);
  add_robots<double>(doubles, 5, hard, 3, 300);
  add_mechanics(doubles);
  add_episodes(episodes, Robots<Floats>(1));
  add_episodes(episodes, Robots<double>(2, hard));
}

}  // namespace arz::bits
