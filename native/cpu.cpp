// Says what the processor can do, before a build that needs it is imported.
#include <nanobind/nanobind.h>

NB_MODULE(_cpu, m) {
  m.def("supports_x86_64_v3", [] {
#if defined(__x86_64__)
    __builtin_cpu_init();
    // With AVX2, FMA and BMI2 every processor so far has the rest of x86-64-v3 too; F16C and LZCNT are asked for where
    // the compiler knows the question.
    bool supported = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                     __builtin_cpu_supports("bmi2");
#if !defined(__clang__)
    supported = supported && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt") &&
                __builtin_cpu_supports("movbe");
#endif
    return supported;
#else
    return false;
#endif
  });
}
