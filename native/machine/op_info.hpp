// What the C++ side knows of an op beside its meaning: the shape of its instructions.
#pragma once

#include <cstdint>

#include "machine/program.hpp"

namespace arz {

struct OpInfo {
  const char* name;
  char slots[kMaxArguments + 1];  // kind of each argument, outputs first: s v m i, d (position), r (stream), f (CADF)
  std::uint8_t slot_count;
  std::uint8_t outputs;
  std::uint8_t constants;
  bool writes_part;  // the output keeps the elements that are not written
  bool is_call;
  bool draws;           // reads the lane's random numbers
  bool is_tame;         // finite wherever its inputs are, overflow aside
  bool adds;            // its formula has a sum or a difference
  std::uint16_t keeps;  // a bit for each slot: with its own destination there, the op accumulates
};

}  // namespace arz
