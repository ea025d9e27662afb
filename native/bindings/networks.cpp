// Neural networks for Python.
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "policies/network.hpp"

namespace arz {
namespace {

constexpr int kMostUnits = 4096, kMostLayers = 16;

NetworkShape make_shape(bool is_lstm, bool is_relu, int observations, int actions, std::vector<int> hidden) {
  const auto check = [](int value, const char* what) {
    require(value >= 1 && value <= kMostUnits,
            std::string(what) + " must be 1 to " + text(kMostUnits) + ", not " + std::to_string(value));
  };
  check(observations, "observations");
  check(actions, "actions");
  for (int size : hidden) check(size, "the units of a layer");
  require(hidden.size() <= kMostLayers, "a network has at most " + text(kMostLayers) + " hidden layers");
  require(!is_lstm || hidden.size() == 1, "an LSTM has one hidden layer, not " + text(hidden.size()));
  return {is_lstm, is_relu, observations, actions, std::move(hidden)};
}

NetworkBatch make_batch(const NetworkShape& shape, Input<double, 2> numbers) {
  require(numbers.shape(1) == shape.size(),
          "these networks have " + text(shape.size()) + " numbers each, not " + text(numbers.shape(1)));
  return {shape, {numbers.data(), numbers.data() + numbers.shape(0) * numbers.shape(1)}};
}

// One network in some lanes, driven by Python step by step.
class NetworkStepper {
 public:
  NetworkStepper(const NetworkBatch& batch, std::int64_t index, int lanes) : shape_(batch.shape) {
    int widest = std::max(shape_.observations, shape_.actions);
    if (shape_.is_lstm) widest = std::max(widest, 2 * SharedMatrix::padded(shape_.hidden[0]));  // what it remembers
    check_lanes(lanes, widest);
    policy_.load(shape_, batch.view(checked(batch, index)), lanes);
    policy_.reset(std::vector<std::uint64_t>(lanes, 0));
  }
  void reset_lane(std::int64_t lane, std::uint64_t key) {
    require(lane >= 0 && lane < policy_.lanes(),
            "lane " + std::to_string(lane) + " is not among " + text(policy_.lanes()));
    policy_.reset(static_cast<int>(lane), key);
  }
  Output<double> act(Input<double, 2> observations) {
    const std::size_t lanes = policy_.lanes(), seen = shape_.observations, actions = shape_.actions;
    require(observations.shape(0) == lanes && observations.shape(1) == seen,
            "expected observations [" + text(lanes) + ", " + text(seen) + "], got [" + text(observations.shape(0)) +
                ", " + text(observations.shape(1)) + "]");
    std::vector<double> result(lanes * actions);
    policy_.act(observations.data(), result.data());
    return as_numpy(std::move(result), {lanes, actions});
  }

 private:
  NetworkShape shape_;
  NetworkPolicy policy_;
};

}  // namespace

void bind_networks(nb::module_& m) {
  nb::class_<NetworkShape>(m, "NetworkShape", "A kind of network and its sizes: see `network_shape`.")
      .def_prop_ro("size", &NetworkShape::size, "How many numbers it has.");
  m.def("network_shape", &make_shape, "is_lstm"_a, "is_relu"_a, "observations"_a, "actions"_a, "hidden"_a,
        "An LSTM with one hidden layer, or a perceptron with tanh or ReLU.");
  nb::class_<NetworkBatch>(m, "NetworkBatch", "Many networks of one shape: see `network_batch`.")
      .def("__len__", &NetworkBatch::size)
      .def_prop_ro(
          "image_size", [](const NetworkBatch& batch) { return batch.shape.size(); },
          "How many numbers each of them has.");
  m.def("network_batch", &make_batch, "shape"_a, "numbers"_a.noconvert(),
        "Networks from their numbers [network, number].");
  nb::class_<NetworkStepper>(m, "NetworkStepper", "A network that Python drives step by step, an episode in each lane.")
      .def(nb::init<const NetworkBatch&, std::int64_t, int>(), "batch"_a, "index"_a, "lanes"_a)
      .def("reset_lane", &NetworkStepper::reset_lane, "lane"_a, "key"_a,
           "Starts an episode in one lane; the others go on.")
      .def("act", &NetworkStepper::act, "observations"_a.noconvert(),
           "The actions [lane, entry] for observations [lane, entry].");
}

}  // namespace arz
