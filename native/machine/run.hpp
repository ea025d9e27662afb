// A function for each op that executes it over lanes: what the interpreter calls, line by line.
#pragma once

#include "machine/memory.hpp"

namespace arz {

using Run = void (*)(const Resolved& x, const Frame<Lanes>& frame);

// By op. Masked ones work in those lanes where frame.active holds. What is short and frequent has functions of its own:
// vectors of four numbers, and a single chunk of lanes.
const Run* runs(bool is_masked, int dim, int chunks);

}  // namespace arz
