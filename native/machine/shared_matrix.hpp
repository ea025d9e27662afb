// A matrix that is the same in all lanes, times a vector of each: y = M x.
//
// It is kept once, and worked on in tiles: some rows side by side in vector registers, for some lanes at once. So each
// part of a column that is loaded serves several lanes, and one lane alone leaves no register half empty. (The memory
// of the machine has a matrix for each lane: eight times as much to read, too much for the fast caches, and no less
// work where only one lane is alive.) Each sum starts at zero and goes through the columns in their order, one rounding
// after each product and each sum: the bits are those of the plain loop.
#pragma once

#include <algorithm>
#include <cstddef>

#include "machine/aligned_buffer.hpp"
#include "machine/lanes.hpp"

namespace arz {

class SharedMatrix {
 public:
  // From numbers row by row.
  void set(const double* from, int rows, int columns) {
    rows_ = rows;
    columns_ = columns;
    padded_ = padded(rows);
    numbers_.reserve(static_cast<std::size_t>(columns) * padded_);
    results_.reserve(static_cast<std::size_t>(kResults) * padded_);
    double* to = numbers_.data();
    for (int first = 0; first < padded_; first += kPanel) {
      const int end = std::min(first + kPanel, padded_);
      for (int k = 0; k < columns; ++k)
        for (int i = first; i < end; ++i) *to++ = i < rows ? from[static_cast<std::size_t>(i) * columns + k] : 0.0;
    }
  }

  // Room for a result of so many rows.
  static constexpr int padded(int rows) { return (rows + kPart - 1) / kPart * kPart; }

  // y = M x: entry k of lane l is at x[l * lane + k * entry], row i of it goes to y[l * padded(rows) + i]. y is
  // aligned, and is not x.
  void multiply(const double* x, std::ptrdiff_t lane, std::ptrdiff_t entry, double* y, int lanes) const {
    for (int first = 0; first < padded_; first += kPanel) {
      const int end = std::min(first + kPanel, padded_);
      const double* panel = numbers_.data() + static_cast<std::size_t>(columns_) * first;
      if (lanes == 1 && end - first == kPanel)
        tile<2 * kTile, 1>(panel, kPanel, x, lane, entry, y + first);
      else
        for (int row = first; row < end; row += kTile * kPart)
          rows<kTile>((end - row) / kPart, panel + (row - first), end - first, x, lane, entry, y + row, lanes);
    }
  }

  // For vectors over lanes: entry k of lane l is at [k * stride + l]. x and y may be the same.
  void multiply(const double* x, double* y, std::ptrdiff_t stride, int lanes) const {
    for (; lanes > 0; x += kResults, y += kResults, lanes -= kResults) {
      const int count = std::min(lanes, kResults);
      multiply(x, 1, stride, results_.data(), count);
      const double* from = results_.data();
      for (int l = 0; l < count; ++l, from += padded_)
        for (int i = 0; i < rows_; ++i) y[i * stride + l] = from[i];
    }
  }

 private:
  // The most parts of a column in a tile, and how many sums are held in registers, with room beside them for what is
  // multiplied (AVX-512 has 32 registers, others 16).
  static constexpr int kTile = 4, kSums = kPart == 8 ? 16 : 12;
  // Rows that lie side by side in memory: two tiles, which one lane alone takes at once.
  static constexpr int kPanel = 2 * kTile * kPart;
  static constexpr int kResults = 16;  // lanes whose results wait to be written over lanes

  // So many parts side by side, at most `Most`.
  template <int Most>
  ARZ_INLINE void rows(int parts, const double* column, int step, const double* x, std::ptrdiff_t lane,
                       std::ptrdiff_t entry, double* y, int lanes) const {
    if constexpr (Most > 1)
      if (parts < Most) return rows<Most - 1>(parts, column, step, x, lane, entry, y, lanes);
    tiles<Most, std::min(kSums / Most, 8)>(column, step, x, lane, entry, y, lanes);
  }

  // All lanes, `Count` at a time as far as they go.
  template <int Parts, int Count>
  ARZ_INLINE void tiles(const double* column, int step, const double* x, std::ptrdiff_t lane, std::ptrdiff_t entry,
                        double* y, int lanes) const {
    for (; lanes >= Count; lanes -= Count, x += Count * lane, y += Count * padded_)
      tile<Parts, Count>(column, step, x, lane, entry, y);
    if constexpr (Count > 1)
      if (lanes > 0) tiles<Parts, (Count + 1) / 2>(column, step, x, lane, entry, y, lanes);
  }

  // Loops over parts and lanes must be gone before the compiler gives out registers: hence `unroll`.
  template <int Parts, int Count>
  [[gnu::noinline]] void tile(const double* column, int step, const double* x, std::ptrdiff_t lane,
                              std::ptrdiff_t entry, double* y) const {
    Part sums[Count][Parts];
#pragma GCC unroll 8
    for (int l = 0; l < Count; ++l)
#pragma GCC unroll 8
      for (int p = 0; p < Parts; ++p) sums[l][p] = Part{};
    for (int k = 0; k < columns_; ++k, column += step, x += entry) {
#pragma GCC unroll 8
      for (int l = 0; l < Count; ++l) {
        const Part factor = x[l * lane] - Part{};
#pragma GCC unroll 8
        for (int p = 0; p < Parts; ++p)
          sums[l][p] = sums[l][p] + *reinterpret_cast<const Part*>(column + p * kPart) * factor;
      }
    }
#pragma GCC unroll 8
    for (int l = 0; l < Count; ++l)
#pragma GCC unroll 8
      for (int p = 0; p < Parts; ++p) *reinterpret_cast<Part*>(y + l * padded_ + p * kPart) = sums[l][p];
  }

  int rows_ = 0, columns_ = 0, padded_ = 0;
  AlignedBuffer<double> numbers_;  // panel by panel, column by column
  AlignedBuffer<double> results_;
};

}  // namespace arz
