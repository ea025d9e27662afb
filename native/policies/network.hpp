// Neural networks as policies: a perceptron with tanh or ReLU (MLP), and a layer of long short-term memory (LSTM) with
// a linear layer on top. They offer the same members as a program's policy (policies/program.hpp).
//
// The numbers of a network are, in this order: what is subtracted from each entry of the observation and what it is
// then multiplied by; then for each layer its matrix, row by row, and its bias. The LSTM's layer has a matrix for the
// observation, one for its last output, and a bias, each with four times as many rows as outputs: input gate, forget
// gate, candidate, output gate.
//
// The lanes that run are worked on in blocks. In a block their numbers lie lane after lane, so that products have the
// rows of a matrix side by side and few lanes cost little (machine/shared_matrix.hpp); what is done number by number
// goes over all lanes at once, without gaps, whatever the size of a layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "machine/several.hpp"
#include "machine/shared_matrix.hpp"

namespace arz {

struct NetworkShape {
  bool is_lstm = false, is_relu = false;
  int observations = 0, actions = 0;
  std::vector<int> hidden;

  std::size_t size() const {
    std::size_t count = 2 * static_cast<std::size_t>(observations), inputs = observations;
    for (int outputs : hidden) {
      const std::size_t rows = static_cast<std::size_t>(is_lstm ? 4 : 1) * outputs;
      count += rows * (inputs + (is_lstm ? outputs : 0) + 1);
      inputs = outputs;
    }
    return count + static_cast<std::size_t>(actions) * (inputs + 1);
  }
};

// Many networks of one shape.
struct NetworkBatch {
  NetworkShape shape;
  std::vector<double> numbers;

  std::size_t size() const { return numbers.size() / shape.size(); }
  std::span<const double> view(std::size_t p) const { return {numbers.data() + p * shape.size(), shape.size()}; }
};

namespace network {

using elementary::Exp, elementary::Several, elementary::Vector, elementary::in_turn, elementary::kSeveral;

// Anywhere in memory, not only where a whole part begins.
typedef double LoosePart __attribute__((vector_size(kPart * 8), may_alias, aligned(sizeof(double))));

ARZ_INLINE Part part(const double* at) { return *reinterpret_cast<const LoosePart*>(at); }
ARZ_INLINE void put(double* at, const Part& part) { *reinterpret_cast<LoosePart*>(at) = part; }

struct Sigmoid {
  template <class X>
  ARZ_INLINE static X of(const X& x) {
    return 1.0 / (1.0 + Exp::of(X(0.0 - x)));
  }
};
struct Tanh {
  template <class X>
  ARZ_INLINE static X of(const X& x) {
    return 1.0 - 2.0 / (Exp::of(X(x + x)) + 1.0);
  }
};
struct Relu {
  ARZ_INLINE static Vector of(const Vector& x) { return x > 0.0 ? x : x - x; }  // NaN stays
  ARZ_INLINE static Several of(const Several& x) {
    return in_turn<Several>([&](int i) { return of(x.part[i]); });
  }
};

// at[i] = f(at[i]). What is beyond the last one changes too, up to a whole part.
template <class Function>
[[gnu::noinline]] inline void each(double* at, int count) {
  int i = 0;
  for (; i + kSeveral * kPart <= count; i += kSeveral * kPart) {
    const double* const from = at + i;
    const Several result = Function::of(in_turn<Several>([&](int p) { return part(from + p * kPart); }));
    for (int p = 0; p < kSeveral; ++p) put(at + i + p * kPart, result.part[p]);
  }
  for (; i < count; i += kPart) put(at + i, Function::of(Vector(part(at + i))));
}

// Rows of `size` numbers, one after another without gaps: get(row, i) is the part of a row from its number i on. Whole
// parts are written; what is too much of a row is written over by the next one.
template <class Get>
ARZ_INLINE void pack(double* to, int rows, int size, Get get) {
  for (int row = 0; row < rows; ++row, to += size)
    for (int i = 0; i < size; i += kPart) put(to + i, get(row, i));
}

struct Layer {
  SharedMatrix matrix;
  int rows = 0;
  AlignedBuffer<double> bias;  // and zeros: the last gates are read in whole parts

  const double* set(const double* from, int height, int columns) {
    rows = height;
    matrix.set(from, rows, columns);
    from += static_cast<std::size_t>(rows) * columns;
    bias.reserve(rows + kPart);
    std::fill_n(std::copy_n(from, rows, bias.data()), kPart, 0.0);
    return from + rows;
  }
  int padded() const { return SharedMatrix::padded(rows); }
};

}  // namespace network

class NetworkPolicy {
 public:
  // With `sums` (2 * observations + 1 numbers), the observations of all steps are added up there: their differences
  // from what the network subtracts, the squares of these, and how many there were.
  void load(const NetworkShape& shape, std::span<const double> numbers, int lanes, double* sums = nullptr) {
    shape_ = shape;
    sums_ = sums;
    const int seen = shape_.observations, deepest = static_cast<int>(shape_.hidden.size());
    shift_.assign(numbers.data(), numbers.data() + seen);
    scale_.assign(numbers.data() + seen, numbers.data() + 2 * seen);
    const double* from = numbers.data() + 2 * seen;
    if (static_cast<int>(layers_.size()) < deepest + 1) layers_.resize(deepest + 1);
    int inputs = seen, widest = std::max(seen, shape_.actions);
    for (int k = 0; k < deepest; ++k) {
      const int outputs = shape_.hidden[k], rows = shape_.is_lstm ? 4 * outputs : outputs;
      if (shape_.is_lstm) {
        input_.set(from, rows, inputs);
        from += static_cast<std::size_t>(rows) * inputs;
        from = layers_[k].set(from, rows, outputs);
      } else {
        from = layers_[k].set(from, rows, inputs);
      }
      inputs = outputs;
      widest = std::max(widest, rows);
    }
    layers_[deepest].set(from, shape_.actions, inputs);
    for (AlignedBuffer<double>* buffer : {&values_, &products_, &inputs_, &gates_, &cells_})
      buffer->reserve(static_cast<std::size_t>(kBlock) * SharedMatrix::padded(widest) + kPart);
    lanes_ = lanes;
    widen(lanes);
  }

  int lanes() const { return lanes_; }

  void reset(std::span<const std::uint64_t> keys) {
    for (std::size_t l = 0; l < keys.size(); ++l) reset(static_cast<int>(l), keys[l]);
  }
  void reset(int lane, std::uint64_t) {
    std::fill_n(state(lane), state_size(), 0.0);
    is_running_[lane] = true;
  }

  double* observation(int entry) { return observations_.data() + static_cast<std::size_t>(entry) * width_; }
  const double* action(int entry) const { return actions_.data() + static_cast<std::size_t>(entry) * width_; }

  void step() {
    int block[kBlock], count = 0;
    for (int l = 0; l < lanes_; ++l) {
      if (is_running_[l]) block[count++] = l;
      if (count == kBlock) step({block, kBlock}), count = 0;
    }
    if (count > 0) step({block, static_cast<std::size_t>(count)});
  }
  void act(const double* observations, double* actions) {
    for (int l = 0; l < lanes_; ++l)
      for (int e = 0; e < shape_.observations; ++e) observation(e)[l] = observations[l * shape_.observations + e];
    step();
    for (int l = 0; l < lanes_; ++l)
      for (int e = 0; e < shape_.actions; ++e) actions[l * shape_.actions + e] = action(e)[l];
  }

  void retire(int lane) { is_running_[lane] = false; }
  void keep(std::span<const int> kept) {
    for (std::size_t l = 0; l < kept.size(); ++l) copy_lane(kept[l], static_cast<int>(l));
    lanes_ = static_cast<int>(kept.size());
  }
  void resize(int lanes) {
    lanes_ = lanes;
    if (lanes > width_) widen(lanes);
  }
  void copy_lane(int from, int to) {
    std::copy_n(state(from), state_size(), state(to));
    is_running_[to] = is_running_[from];
  }
  bool draws() const { return false; }

 private:
  static constexpr int kBlock = 16;  // lanes

  int state_size() const { return shape_.is_lstm ? 2 * SharedMatrix::padded(shape_.hidden[0]) : 0; }
  double* state(int lane) { return states_.data() + static_cast<std::size_t>(lane) * state_size(); }

  // Room for more lanes. Observations and actions are written anew in each step; states stay.
  void widen(int lanes) {
    width_ = (lanes + kLanes - 1) / kLanes * kLanes;
    for (auto [buffer, entries] :
         {std::pair{&observations_, shape_.observations}, std::pair{&actions_, shape_.actions}}) {
      buffer->reserve(static_cast<std::size_t>(entries) * width_);
      std::fill_n(buffer->data(), static_cast<std::size_t>(entries) * width_, 0.0);
    }
    is_running_.resize(width_, false);
    states_.resize(static_cast<std::size_t>(width_) * state_size());
  }

  using Block = std::span<const int>;  // its lanes

  [[gnu::noinline]] void step(Block block) {
    const int count = static_cast<int>(block.size()), deepest = static_cast<int>(shape_.hidden.size());
    see(block);
    int stride = SharedMatrix::padded(shape_.observations);  // from lane to lane
    for (int k = 0; k < deepest; ++k) {
      if (shape_.is_lstm)
        remember(block);
      else
        activate(layers_[k], stride, count);
      stride = shape_.hidden[k];
    }
    const network::Layer& last = layers_[deepest];
    last.matrix.multiply(values_.data(), stride, 1, products_.data(), count);
    for (int e = 0; e < shape_.actions; ++e)
      for (int l = 0; l < count; ++l)
        actions_.data()[static_cast<std::size_t>(e) * width_ + block[l]] =
            products_.data()[l * last.padded() + e] + last.bias.data()[e];
  }

  // The observations, normalised.
  void see(Block block) {
    const int seen = shape_.observations, stride = SharedMatrix::padded(seen), count = static_cast<int>(block.size());
    for (int e = 0; e < seen; ++e) {
      const double* const from = observation(e);
      double* const to = values_.data() + e;
      for (int l = 0; l < count; ++l) to[l * stride] = from[block[l]];
    }
    for (int l = 0; l < count; ++l) normalise(values_.data() + l * stride, shift_.data(), scale_.data(), sums_, seen);
  }
  static void normalise(double* __restrict in, const double* __restrict shift, const double* __restrict scale,
                        double* __restrict sums, int seen) {
    if (sums == nullptr) {
      for (int e = 0; e < seen; ++e) in[e] = (in[e] - shift[e]) * scale[e];
      return;
    }
    for (int e = 0; e < seen; ++e) {
      const double difference = in[e] - shift[e];
      in[e] = difference * scale[e];
      sums[e] += difference;
      sums[seen + e] += difference * difference;
    }
    sums[2 * seen] += 1.0;
  }

  // A layer of the perceptron: of the values, and to there.
  void activate(const network::Layer& layer, int stride, int count) {
    layer.matrix.multiply(values_.data(), stride, 1, products_.data(), count);
    const double *const product = products_.data(), *const bias = layer.bias.data();
    network::pack(values_.data(), count, layer.rows, [=, padded = layer.padded()](int l, int i) {
      return network::part(product + l * padded + i) + network::part(bias + i);
    });
    if (shape_.is_relu)
      network::each<network::Relu>(values_.data(), count * layer.rows);
    else
      network::each<network::Tanh>(values_.data(), count * layer.rows);
  }
  // One step of the LSTM: its output and its cell are the state of a lane.
  void remember(Block block) {
    using namespace network;
    const Layer& layer = layers_[0];
    const int count = static_cast<int>(block.size()), size = shape_.hidden[0], padded = SharedMatrix::padded(size);
    const int room = SharedMatrix::padded(count * size);  // of a gate, or of the cells
    // Locals, not members: a store could change a member, as far as the compiler can tell.
    double *const hidden = values_.data(), *const cells = cells_.data(), *const states = states_.data();
    const std::ptrdiff_t state_size = this->state_size();
    input_.multiply(hidden, SharedMatrix::padded(shape_.observations), 1, inputs_.data(), count);
    pack(hidden, count, size, [=](int l, int i) { return part(states + block[l] * state_size + i); });
    pack(cells, count, size, [=](int l, int i) { return part(states + block[l] * state_size + padded + i); });
    layer.matrix.multiply(hidden, size, 1, products_.data(), count);

    double *const input = gates_.data(), *const forget = input + room, *const output = forget + room,
                  *const candidate = output + room;
    const int first_row[] = {0, size, 3 * size, 2 * size};  // of these, in the matrices
    for (int gate = 0; gate < 4; ++gate) {
      const int first = first_row[gate], rows = layer.padded();
      const double *const product = products_.data() + first, *const bias = layer.bias.data() + first,
                          *const other = inputs_.data() + first;
      pack(input + gate * room, count, size,
           [=](int l, int i) { return part(product + l * rows + i) + part(bias + i) + part(other + l * rows + i); });
    }
    each<Sigmoid>(input, 3 * room);
    each<Tanh>(candidate, room);
    for (int i = 0; i < room; i += kPart) {
      const Part cell = part(cells + i) * part(forget + i) + part(input + i) * part(candidate + i);
      put(cells + i, cell);
      put(hidden + i, cell);
    }
    each<Tanh>(hidden, room);
    for (int i = 0; i < room; i += kPart) put(hidden + i, part(output + i) * part(hidden + i));

    for (int l = 0; l < count; ++l)
      for (int i = 0; i < size; i += kPart) {
        put(states + block[l] * state_size + i, part(hidden + l * size + i));
        put(states + block[l] * state_size + padded + i, part(cells + l * size + i));
      }
  }

  NetworkShape shape_;
  double* sums_ = nullptr;
  std::vector<double> shift_, scale_;
  std::vector<network::Layer> layers_;
  SharedMatrix input_;  // of the LSTM
  int lanes_ = 0, width_ = 0;
  // Of a block: what goes into a layer, products with matrices (of the LSTM: one more), gates and cells.
  AlignedBuffer<double> values_, products_, inputs_, gates_, cells_;
  AlignedBuffer<double> observations_, actions_;
  std::vector<double> states_;
  std::vector<std::uint8_t> is_running_;
};

}  // namespace arz
