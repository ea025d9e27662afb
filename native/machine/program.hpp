// A program as packed data: what the memory looks like, the instructions, the start values.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace arz {

inline constexpr int kMaxArguments = 12;
inline constexpr int kMaxConstants = 2;
inline constexpr int kMaxCadfs = 6;
inline constexpr int kMaxFunctions = 1 + kMaxCadfs;  // GetAction, then the CADFs
inline constexpr int kMaxRegisters = 64;             // of each kind
inline constexpr char kRegisterKinds[] = "svmi";     // scalar, vector, matrix, index
inline constexpr int kKinds = 4;
inline constexpr std::uint16_t kNone = 0xFFFF;  // an argument or result of a call that is not passed: `_`

inline constexpr int kObservationVector = 1;  // v1
inline constexpr int kActionScalar = 3;       // s3, where there is one action
inline constexpr int kActionVector = 4;       // v4, where there are several

// Slots of a call: three results, the CADF, then what lands in its s0-s3, v0-v1, i0-i1.
inline constexpr int kCallResults = 3;
inline constexpr int kCallCallee = 3;
inline constexpr int kCallArguments = 4;
inline constexpr int kCallArgumentCount = 8;
inline constexpr char kResultKinds[] = "svi";
inline constexpr char kArgumentKinds[] = "ssssvvii";
inline constexpr int kArgumentRegisters[] = {0, 1, 2, 3, 0, 1, 0, 1};

// 48 bytes, the same in NumPy (program.py). Unused fields are zero, so that equal programs are equal bytes.
struct Instruction {
  double constants[kMaxConstants];
  std::uint16_t op;
  std::uint16_t args[kMaxArguments];
  std::uint16_t unused[3];
};
static_assert(sizeof(Instruction) == 48);

// The kind of register that a letter stands for; -1 where it is no register.
inline constexpr auto kKindNumbers = [] {
  std::array<std::int8_t, 128> numbers{};
  numbers.fill(-1);
  for (int kind = 0; kind < kKinds; ++kind) numbers[kRegisterKinds[kind]] = static_cast<std::int8_t>(kind);
  return numbers;
}();
inline constexpr int kind_number(char letter) { return kKindNumbers[letter & 127]; }

struct MemoryShape {
  int observations, actions;
  int counts[kKinds];  // scalars, vectors, matrices, indices
  bool stateful;

  int dim() const { return std::max(observations, actions); }
  // Numbers in one register of a kind.
  int size(int kind) const { return kind == 1 ? dim() : kind == 2 ? dim() * dim() : 1; }
  // Numbers in the start image: scalars, then vectors, then matrices. Indices start at zero.
  int image_size() const { return counts[0] + counts[1] * size(1) + counts[2] * size(2); }
  int image_offset(int kind, int number) const {
    int offset = number * size(kind);
    for (int k = 0; k < kind; ++k) offset += counts[k] * size(k);
    return offset;
  }
  int action_kind() const { return actions == 1 ? 0 : 1; }
  int action_register() const { return actions == 1 ? kActionScalar : kActionVector; }
};

struct ProgramView {
  const MemoryShape* shape;
  std::span<const Instruction> functions[kMaxFunctions];
  int cadfs;
  std::span<const double> image;
  bool is_effective = false;  // known to have no line that cannot influence an action (Liveness)

  int function_count() const { return 1 + cadfs; }
};

}  // namespace arz
