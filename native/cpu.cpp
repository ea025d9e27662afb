// Says what the processor can do, before a build that needs it is imported.
#include <nanobind/nanobind.h>

NB_MODULE(_cpu, m) {
  m.def("supports_x86_64_v3", [] {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
  });
}
