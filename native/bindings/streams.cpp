// Streams of random numbers for Python, which has the same (src/arz/streams.py).
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "machine/random.hpp"

namespace arz {
namespace {

// The keys of streams: one for each index, from the base of their purpose.
Output<std::uint64_t> stream_keys(std::uint64_t base, Input<std::uint64_t, 1> indices) {
  std::vector<std::uint64_t> result(indices.shape(0));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = mix(base + kGolden * (indices.data()[i] + 1));
  const std::size_t count = result.size();
  return as_numpy(std::move(result), {count});
}

std::vector<double> stream_sample(std::uint64_t key, const std::string& kind, int count) {
  require(kind == "normal" || kind == "uniform", "kind must be normal or uniform, not " + kind);
  require(count >= 0 && count <= 1'000'000, "expected 0 to 1000000 numbers, not " + std::to_string(count));
  Stream stream(key);
  std::vector<double> result;
  for (int i = 0; i < count; ++i) result.push_back(kind == "normal" ? stream.normal() : stream.uniform());
  return result;
}

}  // namespace

void bind_streams(nb::module_& m) {
  m.def("stream_keys", &stream_keys, "base"_a, "indices"_a.noconvert(),
        "The keys of streams: one for each index, from the base of their purpose.");
  m.def("stream_sample", &stream_sample, "key"_a, "kind"_a, "count"_a,
        "The first numbers of a stream, `normal` or `uniform`; for those who compare it with Python's.");
}

}  // namespace arz
