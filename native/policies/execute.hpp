// Programs x observation sequences -> actions, over threads.
#pragma once

#include <cstdint>
#include <span>

#include "machine/batch.hpp"
#include "policies/program.hpp"
#include "threads/per_thread.hpp"
#include "threads/pool.hpp"

namespace arz {

// How many episodes to run side by side: enough to hide the cost of dispatch, few enough that the vectors of
// a program stay in the nearest cache.
inline int block_lanes(const MemoryShape& shape) { return shape.dim() <= 8 ? 32 : 16; }

// Steps may be so short that even to check whether to go on takes long.
inline constexpr std::int64_t kStepsBetweenChecks = 16;

// observations[step][lane][entry] and keys[lane] are shared by all programs; actions[program][step][lane][entry].
inline void execute(const Batch& batch, const double* observations, std::int64_t steps, std::int64_t lanes,
                    const std::uint64_t* keys, double* actions, int threads, bool only_effective) {
  const MemoryShape& shape = batch.shape;
  const std::int64_t block = block_lanes(shape), blocks = (lanes + block - 1) / block;
  Pool::shared().run(batch.size() * blocks, threads, [&](std::size_t task) {
    const std::size_t p = task / blocks;
    const std::int64_t first = (task % blocks) * block;
    const int count = static_cast<int>(std::min(block, lanes - first));
    ProgramPolicy& policy = per_thread<ProgramPolicy>();
    policy.load(batch.view(p), count, only_effective);
    policy.reset({keys + first, static_cast<std::size_t>(count)});
    for (std::int64_t begin = 0; begin < steps; begin += kStepsBetweenChecks) {
      Cancellation::check();
      for (std::int64_t step = begin; step < std::min(steps, begin + kStepsBetweenChecks); ++step)
        policy.act(observations + (step * lanes + first) * shape.observations,
                   actions + ((p * steps + step) * lanes + first) * shape.actions);
    }
  });
}

}  // namespace arz
