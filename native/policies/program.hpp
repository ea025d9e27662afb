// A program as a policy: what the rollout drives. Policies of other kinds offer the same members.
#pragma once

#include <cstdint>
#include <span>

#include "machine/batch.hpp"
#include "machine/interpreter.hpp"
#include "machine/liveness.hpp"

namespace arz {

// Reused from program to program, so that nothing is allocated in between.
class ProgramPolicy {
 public:
  // Only what can influence an action is run, unless told otherwise. The program must stay in memory.
  void load(const ProgramView& program, int lanes, bool only_effective = true) {
    interpreter_.load(only_effective ? effective_.of(program) : program, lanes);
  }

  int lanes() const { return interpreter_.lanes(); }

  // Starts an episode in every lane, or in one. A key names the random numbers of an episode.
  void reset(std::span<const std::uint64_t> keys) { interpreter_.reset(keys); }
  void reset(int lane, std::uint64_t key) { interpreter_.reset(lane, key); }

  // Where to put entry e of the observations, one number per lane; null where the policy never looks.
  double* observation(int entry) { return interpreter_.observation(entry); }
  void step() { interpreter_.step(); }
  const double* action(int entry) const { return interpreter_.action(entry); }
  void act(const double* observations, double* actions) { interpreter_.act(observations, actions); }

  // A lane whose episode has ended; and: go on with these lanes only.
  void retire(int lane) { interpreter_.retire(lane); }
  void keep(std::span<const int> lanes) { interpreter_.keep(lanes); }

  // More lanes or fewer; lane `to` goes on as lane `from` does. Lanes with the same past act alike unless it draws.
  void resize(int lanes) { interpreter_.resize(lanes); }
  void copy_lane(int from, int to) { interpreter_.copy_lane(from, to); }
  bool draws() const { return interpreter_.draws(); }

 private:
  Interpreter interpreter_;
  EffectiveForm effective_;
};

}  // namespace arz
