// What the parts of the Python face share: arrays in and out, and refusals.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "batch.hpp"
#include "errand.hpp"
#include "lanes.hpp"

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

// Lanes share a memory whose places are 32-bit numbers; each has so many.
inline void check_lanes(std::int64_t lanes, double numbers) {
  require(lanes >= 1 && lanes <= (1 << 20), "expected 1 to 1048576 lanes, got " + std::to_string(lanes));
  require(numbers * static_cast<double>(lanes + kLanes) < 2147483648.0,
          "the memory of " + std::to_string(lanes) + " lanes is too large to run side by side: use fewer");
}

inline void check_episodes(std::size_t count) {
  require(count <= 1'000'000'000, "expected at most 1000000000 episodes, got " + text(count));
}

// Python's own threading.main_thread, since the module was made.
inline PyObject* main_thread = nullptr;

inline bool is_main_thread() {
  return nb::cast<unsigned long>(nb::handle(main_thread)().attr("ident")) == PyThread_get_thread_ident();
}

// Runs the handlers of signals, Ctrl-C among them; throws what they raise.
inline void look_for_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// What may take long, and can be interrupted: on the main thread, where Python handles signals. A handler cannot begin
// another on that thread: it would take the place of the one that it interrupts.
class Interruptible {
 public:
  Interruptible() : errand_(checked_look()) {}

 private:
  static Errand::Look checked_look() {
    require(Errand::here() == nullptr, "a signal handler cannot run programs while it interrupts others that run");
    return is_main_thread() ? &look_for_signals : nullptr;
  }
  Errand errand_;
};

// The same without the GIL.
class LongWork : Interruptible {
  nb::gil_scoped_release release_;
};

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
