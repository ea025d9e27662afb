// What the parts of the Python face share: arrays in and out, and refusals.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "batch.hpp"

namespace arz {

namespace nb = nanobind;

template <class Value, int Rank>
using Input = nb::ndarray<const Value, nb::ndim<Rank>, nb::c_contig, nb::device::cpu>;
template <class Value>
using Output = nb::ndarray<nb::numpy, Value>;

[[noreturn]] inline void reject(const std::string& sentence) { throw std::invalid_argument(sentence); }

inline void require(bool holds, const std::string& sentence) {
  if (!holds) reject(sentence);
}

inline std::string text(std::size_t value) { return std::to_string(value); }

inline void check_threads(int threads) {
  require(threads >= 1 && threads <= 1024, "expected 1 to 1024 threads, got " + std::to_string(threads));
}

template <class Value>
Output<Value> as_numpy(std::vector<Value> values, std::vector<std::size_t> shape) {
  auto* kept = new std::vector<Value>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
  return Output<Value>(kept->data(), shape.size(), shape.data(), owner);
}

// Keys, copied: the caller's array may change once the GIL is released.
inline std::vector<std::uint64_t> copied(const Input<std::uint64_t, 1>& keys) {
  return {keys.data(), keys.data() + keys.shape(0)};
}

template <class Many>
std::size_t checked(const Many& batch, std::int64_t index) {
  if (index < 0 || static_cast<std::size_t>(index) >= batch.size())
    reject("policy " + std::to_string(index) + " is not in a batch of " + text(batch.size()));
  return static_cast<std::size_t>(index);
}

void bind_rollout(nb::module_& m);
void bind_cache(nb::module_& m);
void bind_quadruped(nb::module_& m);
void bind_networks(nb::module_& m);

}  // namespace arz
