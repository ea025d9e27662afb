// Typed registers over lanes. A register of n numbers lies as n rows of `width` lanes, so that each
// instruction is a short loop over contiguous numbers:
//
//   v3 of dim 2 at width 16:  [e0: lane 0 .. lane 15] [e1: lane 0 .. lane 15]
//
// Lanes are worked on in chunks of one `Number` each (eight episodes for Lanes, one for double).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "machine/lanes.hpp"
#include "machine/program.hpp"
#include "machine/random.hpp"

namespace arz {

// An instruction whose registers are resolved to places in memory: `at[slot]` is an offset into the
// frame's numbers (s, v, m) or indices (i), or the plain number (d, r, f).
struct Resolved {
  std::uint16_t op;
  std::uint32_t body;  // of a call: the number of what it runs
  std::uint32_t at[kMaxArguments];
  double constants[kMaxConstants];
};

template <class Number>
ARZ_INLINE Number load(const double* from) {
  if constexpr (LaneTraits<Number>::lanes == 1)
    return *from;
  else
    return each_part([&](int p) { return *reinterpret_cast<const Part*>(from + p * kPart); });
}
ARZ_INLINE void store(double* to, double value) { *to = value; }
ARZ_INLINE void store(double* to, const Lanes& value) {
  for (int p = 0; p < kParts; ++p) *reinterpret_cast<Part*>(to + p * kPart) = value.part[p];
}

template <class Number>
ARZ_INLINE Indices<Number> load_index(const std::int64_t* from) {
  if constexpr (LaneTraits<Number>::lanes == 1) {
    return *from;
  } else {
    LaneIndices result;
    for (int p = 0; p < kParts; ++p) result.part[p] = *reinterpret_cast<const IntegerPart*>(from + p * kPart);
    return result;
  }
}
ARZ_INLINE void store_index(std::int64_t* to, std::int64_t value) { *to = value; }
ARZ_INLINE void store_index(std::int64_t* to, const LaneIndices& value) {
  for (int p = 0; p < kParts; ++p) *reinterpret_cast<IntegerPart*>(to + p * kPart) = value.part[p];
}

// Rows become columns: to[c * to_stride + r] = from[r * from_stride + c].
inline void transpose(const double* from, std::ptrdiff_t from_stride, int rows, int columns, double* to,
                      std::ptrdiff_t to_stride) {
  if (rows == 1 && to_stride == 1) {
    std::copy_n(from, columns, to);
    return;
  }
  int done = 0;  // rows
#if defined(__AVX__)
  // Squares of 4 x 4 by shuffles: faster than number by number.
  typedef double Four __attribute__((vector_size(32), may_alias));
  for (; done + 4 <= rows; done += 4) {
    const double* row = from + done * from_stride;
    double* column = to + done;
    int c = 0;
    for (; c + 4 <= columns; c += 4) {
      Four r0, r1, r2, r3;  // not aligned
      std::memcpy(&r0, row + c, sizeof r0);
      std::memcpy(&r1, row + from_stride + c, sizeof r1);
      std::memcpy(&r2, row + 2 * from_stride + c, sizeof r2);
      std::memcpy(&r3, row + 3 * from_stride + c, sizeof r3);
      const Four even01 = __builtin_shufflevector(r0, r1, 0, 4, 2, 6),
                 odd01 = __builtin_shufflevector(r0, r1, 1, 5, 3, 7);
      const Four even23 = __builtin_shufflevector(r2, r3, 0, 4, 2, 6),
                 odd23 = __builtin_shufflevector(r2, r3, 1, 5, 3, 7);
      const auto put = [&](int k, const Four& turned)
                           ARZ_INLINE_LAMBDA { std::memcpy(column + (c + k) * to_stride, &turned, sizeof turned); };
      put(0, __builtin_shufflevector(even01, even23, 0, 1, 4, 5));
      put(1, __builtin_shufflevector(odd01, odd23, 0, 1, 4, 5));
      put(2, __builtin_shufflevector(even01, even23, 2, 3, 6, 7));
      put(3, __builtin_shufflevector(odd01, odd23, 2, 3, 6, 7));
    }
    for (; c < columns; ++c)
      for (int r = 0; r < 4; ++r) column[c * to_stride + r] = row[r * from_stride + c];
  }
#endif
  for (int r = done; r < rows; ++r)
    for (int c = 0; c < columns; ++c) to[c * to_stride + r] = from[r * from_stride + c];
}

ARZ_INLINE Lanes gather(const double* base, std::ptrdiff_t stride, const LaneIndices& at) {
  Lanes result;
  for (int l = 0; l < kLanes; ++l) result.set(l, base[at[l] * stride + l]);
  return result;
}
ARZ_INLINE double gather(const double* base, std::ptrdiff_t stride, std::int64_t at) { return base[at * stride]; }

// The same address, of which the compiler does not know how it was made: so it steps through rows by one index, in
// place of taking sums of offsets apart and making each address anew.
template <class Value>
ARZ_INLINE Value* opaque(Value* address) {
  asm("" : "+r"(address));
  return address;
}

template <class Number>
struct VectorReader {
  const double* base;
  std::ptrdiff_t stride;

  ARZ_INLINE Number operator()(int i) const { return load<Number>(base + i * stride); }
  // One number of the vector, here and in the chunks further on.
  ARZ_INLINE auto row(int i) const {
    return [at = opaque(base + i * stride)](int further)
               ARZ_INLINE_LAMBDA { return load<Number>(at + further * LaneTraits<Number>::lanes); };
  }
  ARZ_INLINE Number operator()(const Indices<Number>& i) const { return gather(base, stride, i); }
};

template <class Number>
struct MatrixReader {
  const double* base;
  std::ptrdiff_t stride;
  int n;

  ARZ_INLINE Number operator()(int i, int j) const { return load<Number>(base + (i * n + j) * stride); }
  ARZ_INLINE Number operator()(int i, const Indices<Number>& j) const {
    return gather(base + i * n * stride, stride, j);
  }
  ARZ_INLINE Number operator()(const Indices<Number>& i, int j) const {
    return gather(base + j * stride, stride * n, i);
  }
  ARZ_INLINE Number operator()(const Indices<Number>& i, const Indices<Number>& j) const {
    Number result;
    if constexpr (LaneTraits<Number>::lanes == 1) {
      result = base[(i * n + j) * stride];
    } else {
      for (int l = 0; l < LaneTraits<Number>::lanes; ++l) result.set(l, base[(i[l] * n + j[l]) * stride + l]);
    }
    return result;
  }
};

template <class Number, bool Masked>
struct Writer {
  double* base;
  std::ptrdiff_t stride;
  int n;
  Mask<Number> active;

  ARZ_INLINE void put(double* to, const Number& value) const {
    if constexpr (Masked)
      store(to, select(active, value, load<Number>(to)));
    else
      store(to, value);
  }
  ARZ_INLINE void set(const Number& value) const { put(base, value); }
  ARZ_INLINE void set(int i, const Number& value) const { put(base + i * stride, value); }
  ARZ_INLINE void set(int i, int j, const Number& value) const { put(base + (i * n + j) * stride, value); }
  ARZ_INLINE void set(const Indices<Number>& i, const Number& value) const {
    if constexpr (LaneTraits<Number>::lanes == 1) {
      if (!Masked || active) base[i * stride] = value;
    } else {
      for (int l = 0; l < LaneTraits<Number>::lanes; ++l)
        if (!Masked || active[l]) base[i[l] * stride + l] = value[l];
    }
  }
};

// Where an instruction works: the memory, the lanes it works in, and their random numbers.
template <class Number>
struct Frame {
  double* numbers;
  std::int64_t* indices;
  double* scratch;             // room for one matrix of one chunk
  const Mask<Number>* active;  // per chunk
  const std::uint64_t* keys;   // per lane: names the episode's random numbers
  const std::uint64_t* ticks;  // per lane: how often this function ran before in this episode
  int dim;
  int width;  // lanes in memory: a multiple of the chunk
  int chunks;

  static constexpr int kChunk = LaneTraits<Number>::lanes;

  ARZ_INLINE Number scalar(std::uint32_t at, int chunk) const { return load<Number>(numbers + at + chunk * kChunk); }
  ARZ_INLINE VectorReader<Number> vector(std::uint32_t at, int chunk) const {
    return {opaque(numbers + at + chunk * kChunk), width};
  }
  ARZ_INLINE MatrixReader<Number> matrix(std::uint32_t at, int chunk) const {
    return {opaque(numbers + at + chunk * kChunk), width, dim};
  }
  ARZ_INLINE Indices<Number> index(std::uint32_t at, int chunk) const {
    return load_index<Number>(indices + at + chunk * kChunk);
  }

  template <bool Masked>
  ARZ_INLINE Writer<Number, Masked> writer(std::uint32_t at, int chunk, const Mask<Number>& mask) const {
    return {opaque(numbers + at + chunk * kChunk), width, dim, mask};
  }
  template <bool Masked>
  ARZ_INLINE void set_index(std::uint32_t at, int chunk, const Mask<Number>& mask, const Indices<Number>& value) const {
    std::int64_t* to = indices + at + chunk * kChunk;
    store_index(to, Masked ? select(mask, value, load_index<Number>(to)) : value);
  }

  // For ops that may overwrite their own input: write aside, then commit.
  ARZ_INLINE Writer<Number, false> scratch_writer() const { return {scratch, kChunk, dim, Mask<Number>(true)}; }
  template <bool Masked>
  ARZ_INLINE void commit(std::uint32_t at, int chunk, const Mask<Number>& mask, char kind) const {
    const int size = kind == 'm' ? dim * dim : dim;
    const auto out = writer<Masked>(at, chunk, mask);
    for (int e = 0; e < size; ++e) out.set(e, load<Number>(scratch + e * kChunk));
  }

  Number random(int chunk, int stream) const {
    const int first = chunk * kChunk;
    if constexpr (kChunk == 1) {
      return episode_uniform(keys[first], ticks[first], stream);
    } else {
      Number result;
      for (int l = 0; l < kChunk; ++l) result.set(l, episode_uniform(keys[first + l], ticks[first + l], stream));
      return result;
    }
  }
};

// Sums over lanes have to go through their terms in order, and each sum waits for the one before: so several chunks
// are added up side by side.
inline constexpr int kTogether = kParts > 2 ? 2 : 4;

template <bool Masked, class Number, int chunks, class Frame, class Terms, class Done>
ARZ_INLINE void add_up_some(const Frame& frame, int n, int first, Terms terms, Done done) {
  if constexpr (Masked) {
    bool some = false;
    for (int c = 0; c < chunks; ++c) some = some || any(frame.active[first + c]);
    if (!some) return;
  }
  Number sums[chunks];
  for (Number& sum : sums) sum = 0.0;
  const auto term = terms(first);
  ARZ_UNROLL
  for (int k = 0; k < n; ++k) {
    const auto row = term(k);
    for (int c = 0; c < chunks; ++c) sums[c] = sums[c] + row(c);
  }
  for (int c = 0; c < chunks; ++c) done(first + c, sums[c], frame.active[first + c]);
}

// For every chunk done(chunk, sum, active lanes): the sum of terms(first)(k)(further) over all k < n, where the chunk
// is so much further than the first.
template <bool Masked, class Number, class Frame, class Terms, class Done>
ARZ_INLINE void add_up(const Frame& frame, int n, Terms terms, Done done) {
  int chunk = 0;
  for (; chunk + kTogether <= frame.chunks; chunk += kTogether)
    add_up_some<Masked, Number, kTogether>(frame, n, chunk, terms, done);
  for (; chunk + 2 <= frame.chunks; chunk += 2) add_up_some<Masked, Number, 2>(frame, n, chunk, terms, done);
  for (; chunk < frame.chunks; ++chunk) add_up_some<Masked, Number, 1>(frame, n, chunk, terms, done);
}

}  // namespace arz
