// Programs as few bytes: how they travel to workers. What cannot influence an action stays at home.
//
// A program: its CADFs (8 bits); of each function the number of lines (32 bits), then the lines, each with the op
// (16 bits), the arguments that the op has (16 bits each) and its constants; which start values are not zero (a bit
// each, in words of 64), and these. Numbers lie in the machine's own order: all machines of a cluster have the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "machine/batch.hpp"

namespace arz {

// The effective programs of a part of a batch, from the first up to before the last.
std::vector<std::uint8_t> encoded(const Batch& batch, std::size_t first, std::size_t last);

// The programs again; throws std::invalid_argument for bytes that are none.
Batch decoded(const MemoryShape& shape, std::span<const std::uint8_t> bytes);

}  // namespace arz
