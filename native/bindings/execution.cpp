// Programs that run, for Python: on sequences of observations, with a trace, and step by step.
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <string_view>

#include "bindings/arrays.hpp"
#include "bindings/interruption.hpp"
#include "bindings/module.hpp"
#include "policies/execute.hpp"

namespace arz {
namespace {

void check_program_lanes(const Batch& batch, std::int64_t index, std::int64_t lanes) {
  const double functions = batch.view(checked(batch, index)).function_count();
  check_lanes(lanes, functions * batch.shape.image_size());
}

void check_observations(const MemoryShape& shape, std::size_t lanes, std::size_t entries, std::size_t keys) {
  require(entries == static_cast<std::size_t>(shape.observations),
          "expected observations of " + text(shape.observations) + " numbers, got " + text(entries));
  require(lanes >= 1 && lanes <= (1u << 20), "expected 1 to 1048576 lanes, got " + text(lanes));
  require(keys == lanes, "expected one key for each of " + text(lanes) + " lanes, got " + text(keys));
}

Output<double> run(const Batch& batch, Input<double, 3> observations, Input<std::uint64_t, 1> keys, int threads,
                   bool only_effective) {
  const std::size_t steps = observations.shape(0), lanes = observations.shape(1);
  check_observations(batch.shape, lanes, observations.shape(2), keys.shape(0));
  check_threads(threads);
  const std::size_t actions = batch.shape.actions;
  auto* result = new double[product({batch.size(), steps, lanes, actions})];
  nb::capsule owner(result, [](void* p) noexcept { delete[] static_cast<double*>(p); });
  {
    const LongWork work;
    execute(batch, observations.data(), steps, lanes, keys.data(), result, threads, only_effective);
  }
  const std::size_t shape[] = {batch.size(), steps, lanes, actions};
  return Output<double>(result, 4, shape, owner);
}

// The most numbers that one step of one lane leaves in a trace: when all calls fire.
double most_traced(const ProgramView& program, int function = 0) {
  constexpr double fields = sizeof(Event) / sizeof(std::int64_t);
  const auto written = [&](char letter) { return fields + program.shape->size(kind_number(letter)); };
  double numbers = function == 0 ? written('v') : 0.0;  // the observation
  for (const Instruction& x : program.functions[function]) {
    const OpInfo& op = kOps[x.op];
    for (int slot = 0; slot < op.outputs; ++slot) numbers += written(op.slots[slot]);
    if (!op.is_call) continue;
    for (char letter : std::string_view(kArgumentKinds)) numbers += written(letter);
    numbers += fields + most_traced(program, 1 + x.args[kCallCallee]);
  }
  return numbers;
}

std::tuple<Output<double>, Output<std::int64_t>, Output<double>> trace(const Batch& batch, std::int64_t index,
                                                                       Input<double, 3> observations,
                                                                       Input<std::uint64_t, 1> keys) {
  const std::size_t steps = observations.shape(0), lanes = observations.shape(1);
  check_observations(batch.shape, lanes, observations.shape(2), keys.shape(0));
  check_program_lanes(batch, index, static_cast<std::int64_t>(lanes));
  const std::size_t p = checked(batch, index), width = lanes * batch.shape.actions;
  require(most_traced(batch.view(p)) * static_cast<double>(steps) * static_cast<double>(lanes) < kMostRecorded,
          "too much happens to trace it at once: use fewer steps or lanes");
  std::vector<double> actions(product({steps, width}));
  Trace record;
  {
    const LongWork work;
    Interpreter interpreter;
    interpreter.load(batch.view(p), static_cast<int>(lanes), &record);
    interpreter.reset({keys.data(), lanes});
    for (std::size_t step = 0; step < steps; ++step) {
      Cancellation::check();
      interpreter.act(observations.data() + step * lanes * batch.shape.observations, actions.data() + step * width);
    }
  }
  constexpr std::size_t fields = sizeof(Event) / sizeof(std::int64_t);
  std::vector<std::int64_t> events(record.events.size() * fields);
  if (!events.empty()) std::memcpy(events.data(), record.events.data(), events.size() * sizeof(std::int64_t));
  const std::size_t count = record.events.size(), values = record.values.size();
  return std::make_tuple(as_numpy(std::move(actions), {steps, lanes, std::size_t(batch.shape.actions)}),
                         as_numpy(std::move(events), {count, fields}), as_numpy(std::move(record.values), {values}));
}

// An interpreter that Python drives step by step. It keeps the program in memory.
class Stepper {
 public:
  Stepper(const Batch& batch, std::int64_t index, int lanes) : program_(batch.selected({checked(batch, index)})) {
    check_program_lanes(batch, index, lanes);
    policy_.load(program_.view(0), lanes);
    policy_.reset(std::vector<std::uint64_t>(lanes, 0));
  }
  void reset(Input<std::uint64_t, 1> keys) {
    check_observations(program_.shape, policy_.lanes(), program_.shape.observations, keys.shape(0));
    policy_.reset({keys.data(), keys.shape(0)});
  }
  void reset_lane(std::int64_t lane, std::uint64_t key) {
    require(lane >= 0 && lane < policy_.lanes(),
            "lane " + std::to_string(lane) + " is not among " + text(policy_.lanes()));
    policy_.reset(static_cast<int>(lane), key);
  }
  Output<double> act(Input<double, 2> observations) {
    const std::size_t lanes = policy_.lanes(), actions = program_.shape.actions;
    require(observations.shape(0) == lanes,
            "expected observations for " + text(lanes) + " lanes, got " + text(observations.shape(0)));
    check_observations(program_.shape, lanes, observations.shape(1), lanes);
    std::vector<double> result(lanes * actions);
    policy_.act(observations.data(), result.data());
    return as_numpy(std::move(result), {lanes, actions});
  }

 private:
  Batch program_;
  ProgramPolicy policy_;
};

}  // namespace

void bind_execution(nb::module_& m) {
  m.attr("EVENT_FIELDS") = as_tuple(Event::kFields);
  m.attr("EVENT_KINDS") = kEventKinds;

  m.def("run", &run, "batch"_a, "observations"_a.noconvert(), "keys"_a.noconvert(), "threads"_a, "only_effective"_a,
        "The actions [program, step, lane, entry] of all programs for observations [step, lane, entry]; a key for each "
        "lane names its random numbers.");
  m.def("trace", &trace, "batch"_a, "index"_a, "observations"_a.noconvert(), "keys"_a.noconvert(),
        "What one program does: actions [step, lane, entry], events [event, field] (EVENT_FIELDS), and the values that "
        "they wrote.");
  nb::class_<Stepper>(m, "Stepper", "A program that Python drives step by step, an episode in each lane.")
      .def(nb::init<const Batch&, std::int64_t, int>(), "batch"_a, "index"_a, "lanes"_a)
      .def("reset", &Stepper::reset, "keys"_a.noconvert(), "Starts an episode in every lane.")
      .def("reset_lane", &Stepper::reset_lane, "lane"_a, "key"_a, "Starts an episode in one lane; the others go on.")
      .def("act", &Stepper::act, "observations"_a.noconvert(),
           "The actions [lane, entry] for observations [lane, entry].");
}

}  // namespace arz
