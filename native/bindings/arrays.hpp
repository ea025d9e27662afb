// NumPy's arrays in and out.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "bindings/checks.hpp"

namespace arz {

namespace nb = nanobind;
using namespace nb::literals;

template <class Value, int Rank>
using Input = nb::ndarray<const Value, nb::ndim<Rank>, nb::c_contig, nb::device::cpu>;
template <class Value>
using Output = nb::ndarray<nb::numpy, Value>;

// How many numbers so many rows of so many make, of any depth; refuses more than any memory could hold.
inline std::size_t product(std::initializer_list<std::size_t> sizes) {
  constexpr std::size_t kMost = std::size_t{1} << 48;
  std::size_t result = 1;
  std::string said;
  for (std::size_t size : sizes) {
    said += (said.empty() ? "" : " x ") + text(size);
    const bool wraps = __builtin_mul_overflow(result, size, &result);
    require(!wraps && result <= kMost, said + " numbers are more than any memory holds: ask for less at a time");
  }
  return result;
}

template <class Value>
Output<Value> as_numpy(std::vector<Value> values, std::vector<std::size_t> shape) {
  auto* kept = new std::vector<Value>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Value>*>(p); });
  return Output<Value>(kept->data(), shape.size(), shape.data(), owner);
}

// A table of names, as a tuple.
template <class Names>
nb::tuple as_tuple(const Names& names) {
  nb::list result;
  for (const auto& name : names) result.append(name);
  return nb::tuple(result);
}

// Keys, copied: the caller's array may change once the GIL is released.
inline std::vector<std::uint64_t> copied(const Input<std::uint64_t, 1>& keys) {
  return {keys.data(), keys.data() + keys.shape(0)};
}

}  // namespace arz
