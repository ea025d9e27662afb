// Neural networks as policies: a perceptron with tanh or ReLU (MLP), and a layer of long short-term memory (LSTM) with
// a linear layer on top. They offer the same members as a program's policy (policies/program.hpp).
//
// The numbers of a network are, in this order: what is subtracted from each entry of the observation and what it is
// then multiplied by; then for each layer its matrix, row by row, and its bias. The LSTM's layer has a matrix for the
// observation, one for its last output, and a bias, each with four times as many rows as outputs: input gate, forget
// gate, candidate, output gate.
//
// A lane is worked on alone, with the rows of a matrix side by side, so that few lanes cost little.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "machine/elementary.hpp"
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

// Anywhere in memory, not only where a whole part begins.
typedef double LoosePart __attribute__((vector_size(kPart * 8), may_alias, aligned(sizeof(double))));

ARZ_INLINE Part exp(const Part& x) {
  const elementary::Vector given = x;
  return elementary::Exp::of(given);
}
struct Sigmoid {
  ARZ_INLINE static Part of(const Part& x) { return 1.0 / (1.0 + exp(0.0 - x)); }
};
struct Tanh {
  ARZ_INLINE static Part of(const Part& x) { return 1.0 - 2.0 / (exp(x + x) + 1.0); }
};
struct Relu {
  ARZ_INLINE static Part of(const Part& x) { return x > 0.0 ? x : x - x; }  // NaN stays
};

// to[i] = f(from[i]). Both have room up to the next whole part, and may be the same.
template <class Function>
ARZ_INLINE void each(const double* from, double* to, int count) {
  for (int i = 0; i < count; i += kPart) {
    const Part part = *reinterpret_cast<const LoosePart*>(from + i);
    *reinterpret_cast<LoosePart*>(to + i) = Function::of(part);
  }
}

struct Layer {
  SharedMatrix matrix;
  std::vector<double> bias;

  const double* set(const double* from, int rows, int columns) {
    matrix.set(from, rows, columns);
    from += static_cast<std::size_t>(rows) * columns;
    bias.assign(from, from + rows);
    return from + rows;
  }
  void apply(const double* in, double* out) const {
    matrix.multiply(in, out);
    for (std::size_t i = 0; i < bias.size(); ++i) out[i] += bias[i];
  }
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
    int inputs = seen, widest = SharedMatrix::padded(std::max(seen, shape_.actions));
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
      widest = std::max({widest, SharedMatrix::padded(rows), 2 * SharedMatrix::padded(outputs)});
    }
    layers_[deepest].set(from, shape_.actions, inputs);
    room_ = widest;
    work_.reserve(3 * static_cast<std::size_t>(widest) + kPart);  // the last gates are read in whole parts
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
    for (int l = 0; l < lanes_; ++l)
      if (is_running_[l]) step(l);
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

  void step(int lane) {
    double *in = work_.data(), *out = in + room_;
    for (int e = 0; e < shape_.observations; ++e) {
      const double difference = observation(e)[lane] - shift_[e];
      if (sums_ != nullptr) {
        sums_[e] += difference;
        sums_[shape_.observations + e] += difference * difference;
      }
      in[e] = difference * scale_[e];
    }
    if (sums_ != nullptr) sums_[2 * shape_.observations] += 1.0;
    const int deepest = static_cast<int>(shape_.hidden.size());
    for (int k = 0; k < deepest; ++k) {
      if (shape_.is_lstm) {
        remember(lane, in, out);
      } else {
        layers_[k].apply(in, out);
        if (shape_.is_relu)
          network::each<network::Relu>(out, out, shape_.hidden[k]);
        else
          network::each<network::Tanh>(out, out, shape_.hidden[k]);
      }
      std::swap(in, out);
    }
    layers_[deepest].apply(in, out);
    for (int e = 0; e < shape_.actions; ++e) actions_.data()[static_cast<std::size_t>(e) * width_ + lane] = out[e];
  }

  // One step of the LSTM: its output and its cell are the state of the lane.
  void remember(int lane, const double* in, double* out) {
    const int size = shape_.hidden[0], padded = SharedMatrix::padded(size);
    double *hidden = state(lane), *cell = hidden + padded, *gates = work_.data() + 2 * room_;
    layers_[0].apply(hidden, gates);
    input_.multiply(in, out);
    for (int i = 0; i < 4 * size; ++i) gates[i] += out[i];
    double *opened = out, *other = out + padded;
    network::each<network::Sigmoid>(gates + size, opened, size);
    for (int i = 0; i < size; ++i) cell[i] *= opened[i];
    network::each<network::Sigmoid>(gates, opened, size);
    network::each<network::Tanh>(gates + 2 * size, other, size);
    for (int i = 0; i < size; ++i) cell[i] += opened[i] * other[i];
    network::each<network::Sigmoid>(gates + 3 * size, opened, size);
    network::each<network::Tanh>(cell, other, size);
    for (int i = 0; i < size; ++i) hidden[i] = opened[i] * other[i];
    std::copy_n(hidden, size, out);
  }

  NetworkShape shape_;
  double* sums_ = nullptr;
  std::vector<double> shift_, scale_;
  std::vector<network::Layer> layers_;
  SharedMatrix input_;  // of the LSTM
  int lanes_ = 0, width_ = 0, room_ = 0;
  AlignedBuffer<double> work_;  // two layers, and the gates
  AlignedBuffer<double> observations_, actions_;
  std::vector<double> states_;
  std::vector<std::uint8_t> is_running_;
};

}  // namespace arz
