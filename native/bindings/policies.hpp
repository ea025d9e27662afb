// The kinds of policies that tasks are run with, and the batches of them that Python hands over.
#pragma once

#include "bindings/checks.hpp"
#include "policies/execute.hpp"
#include "policies/network.hpp"
#include "policies/program.hpp"

namespace arz {

template <class Many>
struct PolicyFor;
template <>
struct PolicyFor<Batch> {
  using Type = ProgramPolicy;
};
template <>
struct PolicyFor<NetworkBatch> {
  using Type = NetworkPolicy;
};
template <class Many>
using PolicyOf = typename PolicyFor<Many>::Type;

// How many sums over observations a policy gives.
inline std::size_t sums_of(const Batch&) { return 0; }
inline std::size_t sums_of(const NetworkBatch& batch) { return 2 * batch.shape.observations + 1; }

inline void load(ProgramPolicy& policy, const Batch& batch, std::size_t p, int lanes, bool only_effective, double*) {
  policy.load(batch.view(p), lanes, only_effective);
}
inline void load(NetworkPolicy& policy, const NetworkBatch& batch, std::size_t p, int lanes, bool, double* sums) {
  policy.load(batch.shape, batch.view(p), lanes, sums);
}

inline int block_lanes(const NetworkShape&) { return 16; }

template <class Task, class Shape>
void check_fit(const Shape& shape) {
  require(shape.observations == Task::kObservations && shape.actions == Task::kActions,
          "the task has " + text(Task::kObservations) + " observations and " + text(Task::kActions) +
              " actions, the policies have " + text(shape.observations) + " and " + text(shape.actions));
}

}  // namespace arz
