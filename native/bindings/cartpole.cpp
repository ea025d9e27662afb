// Cataclysmic Cartpole for Python.
#include "tasks/cartpole.hpp"

#include <nanobind/stl/vector.h>

#include "bindings/lane_task.hpp"
#include "bindings/module.hpp"

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
  bind_lane_task<Cartpole>(m, "Cartpole");
}

const TaskBinding binding("cartpole", &bind_cartpole);

}  // namespace

}  // namespace arz
