// The Laikago for Python: its numbers, and its physics by itself, for those who check it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/interruption.hpp"
#include "bindings/module.hpp"
#include "physics/laikago/mechanics.hpp"
#include "physics/laikago/names.hpp"
#include "physics/laikago/step.hpp"
#include "physics/robots.hpp"
#include "tasks/quadruped.hpp"

namespace arz {
namespace {

namespace laikago = physics::laikago;
using physics::Floats;

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
  check_contact_iterations(iterations);
  const Interruptible here;
  laikago::State<T> now;
  T aim[laikago::kJoints], able[laikago::kLegs];
  auto* numbers = reinterpret_cast<T*>(&now);
  for (int i = 0; i < laikago::kStateNumbers; ++i) numbers[i] = physics::number<T>(state.data()[i]);
  for (int j = 0; j < laikago::kJoints; ++j) aim[j] = physics::number<T>(target.data()[j]);
  for (int l = 0; l < laikago::kLegs; ++l) able[l] = physics::number<T>(works.data()[l]);
  std::vector<double> rows;
  for (int s = 0; s < steps; ++s) {
    Cancellation::check();
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
  result["state"] = as_tuple(laikago::state_names());
  result["substeps"] = physics::kSubsteps;
  result["action_limit"] = Quadruped::kActionLimit;
  result["most_aside"] = Quadruped::kMostAside;
  result["speed"] = Quadruped::kSpeed;
  return result;
}

}  // namespace

static void bind_laikago(nb::module_& m) {
  m.attr("LAIKAGO") = model();

  m.def("laikago_accelerations", &accelerations, "state"_a.noconvert(), "torque"_a.noconvert(),
        "How the velocities of the trunk (angular, then linear, in its own axes) and of the joints change per second, "
        "without contact.");
  m.def("laikago_mechanics", &mechanics, "state"_a.noconvert(),
        "Kinetic and potential energy, momentum (3 numbers), and angular momentum about the world's origin (3).");
  const auto define = [&](const char* name, auto simulated) {
    m.def(name, simulated, "state"_a.noconvert(), "target"_a.noconvert(), "works"_a.noconvert(), "steps"_a,
          "contact_iterations"_a,
          "The states after each physics step [step, entry], by targets (absolute angles) and working legs that stay.");
  };
  define("laikago_simulated", &simulated<double>);
  define("laikago_simulated_floats", &simulated<Floats>);
}

namespace {
const TaskBinding binding("laikago", &bind_laikago);
}

}  // namespace arz
