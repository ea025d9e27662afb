// Programs x observation sequences -> actions, over threads.
#pragma once

#include <cstdint>
#include <span>

#include "batch.hpp"
#include "interpreter.hpp"
#include "liveness.hpp"
#include "pool.hpp"

namespace arz {

// How many episodes to run side by side: enough to hide the cost of dispatch, few enough that the vectors of
// a program stay in the nearest cache.
inline int block_lanes(const MemoryShape& shape) { return shape.dim() <= 8 ? 32 : 16; }

// What one thread needs to run programs; reused from call to call, so that nothing is allocated in between.
struct Workbench {
  Interpreter<Lanes> interpreter;
  Liveness liveness;
  Genome effective;

  void load(const ProgramView& program, int lanes, bool only_effective) {
    if (!only_effective) {
      interpreter.load(program, lanes);
      return;
    }
    liveness.analyse(program);
    liveness.write_effective(program, effective);
    interpreter.load(effective.view(), lanes);
  }

  static Workbench& mine() {
    thread_local Workbench bench;
    return bench;
  }
};

// observations[step][lane][entry] and keys[lane] are shared by all programs; actions[program][step][lane][entry].
inline void execute(const Batch& batch, const double* observations, std::int64_t steps, std::int64_t lanes,
                    const std::uint64_t* keys, double* actions, int threads, bool only_effective) {
  const MemoryShape& shape = batch.shape;
  const std::int64_t block = block_lanes(shape), blocks = (lanes + block - 1) / block;
  Pool::shared().run(batch.size() * blocks, threads, [&](std::size_t task) {
    const std::size_t p = task / blocks;
    const std::int64_t first = (task % blocks) * block;
    const int count = static_cast<int>(std::min(block, lanes - first));
    Workbench& bench = Workbench::mine();
    bench.load(batch.view(p), count, only_effective);
    bench.interpreter.reset({keys + first, static_cast<std::size_t>(count)});
    for (std::int64_t step = 0; step < steps; ++step)
      bench.interpreter.act(observations + (step * lanes + first) * shape.observations,
                            actions + ((p * steps + step) * lanes + first) * shape.actions);
  });
}

}  // namespace arz
