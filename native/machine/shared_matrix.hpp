// A matrix that is the same in all lanes, times a vector of each: y = M x.
//
// It is kept once, by columns, and a lane is worked on with its rows side by side. (The memory of the machine has a
// matrix for each lane: eight times as much to read, too much for the fast caches, and no less work where only one
// lane is alive.) Each sum starts at zero and goes through the columns in their order, one rounding after each product
// and each sum: the bits are those of the plain loop.
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
    lane_.reserve(static_cast<std::size_t>(columns) + padded_);
    double* to = numbers_.data();
    for (int k = 0; k < columns; ++k)
      for (int i = 0; i < padded_; ++i) *to++ = i < rows ? from[i * columns + k] : 0.0;
  }

  // Room for a result of so many rows.
  static constexpr int padded(int rows) { return (rows + kPart - 1) / kPart * kPart; }

  // y = M x for one vector; y is aligned and has room for padded(rows) numbers, and is not x.
  void multiply(const double* x, double* y) const {
    int row = 0;
    for (; row + 8 * kPart <= padded_; row += 8 * kPart) rows<8>(row, x, y);
    if (row + 4 * kPart <= padded_) rows<4>(row, x, y), row += 4 * kPart;
    if (row + 2 * kPart <= padded_) rows<2>(row, x, y), row += 2 * kPart;
    if (row < padded_) rows<1>(row, x, y);
  }

  // For vectors over lanes: entry k of lane l is at [k * stride + l]. x and y may be the same.
  void multiply(const double* x, double* y, std::ptrdiff_t stride, int lanes) const {
    double* const in = lane_.data() + padded_;
    double* const out = lane_.data();
    for (int l = 0; l < lanes; ++l) {
      for (int k = 0; k < columns_; ++k) in[k] = x[k * stride + l];
      multiply(in, out);
      for (int i = 0; i < rows_; ++i) y[i * stride + l] = out[i];
    }
  }

 private:
  // Some rows, from `first` on, so many parts side by side.
  template <int Parts>
  ARZ_INLINE void rows(int first, const double* in, double* out) const {
    Part sums[Parts] = {};
    const double* column = numbers_.data() + first;
    for (int k = 0; k < columns_; ++k, column += padded_) {
      const Part factor = in[k] - Part{};
      for (int p = 0; p < Parts; ++p) sums[p] = sums[p] + *reinterpret_cast<const Part*>(column + p * kPart) * factor;
    }
    for (int p = 0; p < Parts; ++p) *reinterpret_cast<Part*>(out + first + p * kPart) = sums[p];
  }

  int rows_ = 0, columns_ = 0, padded_ = 0;
  AlignedBuffer<double> numbers_;
  AlignedBuffer<double> lane_;  // one lane's result, then its vector
};

}  // namespace arz
