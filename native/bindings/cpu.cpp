// Says what the processor can do, before a build that needs it is imported.
#include <nanobind/nanobind.h>

namespace {

#if defined(__x86_64__)
bool supports_v3() {
  __builtin_cpu_init();
  // With AVX2, FMA and BMI2 every processor so far has the rest of x86-64-v3 too; F16C and LZCNT are asked for where
  // the compiler knows the question.
  bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                   __builtin_cpu_supports("bmi2");
#if !defined(__clang__)
  supported =
      supported && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe");
#endif
  return supported;
}

bool supports_v4() {
  return supports_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
bool supports_v3() { return false; }
bool supports_v4() { return false; }
#endif

}  // namespace

NB_MODULE(_cpu, m) {
  m.def("supports_x86_64_v3", supports_v3);
  m.def("supports_x86_64_v4", supports_v4);
}
