// The Python face of the core. Bad arguments are rejected here, with a sentence; batched calls release the GIL.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "execute.hpp"
#include "face.hpp"
#include "growth.hpp"
#include "interpreter.hpp"
#include "liveness.hpp"
#include "pool.hpp"
#include "variation.hpp"
#include "wire.hpp"

namespace arz {
namespace {

MemoryShape make_shape(int observations, int actions, int scalars, int vectors, int matrices, int indices,
                       bool stateful) {
  const MemoryShape shape{observations, actions, {scalars, vectors, matrices, indices}, stateful};
  if (const std::string what = check_shape(shape, 0); !what.empty()) reject(what);
  return shape;
}

// What make_shape took.
std::tuple<int, int, int, int, int, int, bool> memory_sizes(const Batch& batch) {
  const MemoryShape& shape = batch.shape;
  const auto& counts = shape.counts;
  return {shape.observations, shape.actions, counts[0], counts[1], counts[2], counts[3], shape.stateful};
}

Batch make_batch(const MemoryShape& shape, Input<std::uint8_t, 2> instructions, Input<std::int64_t, 2> lengths,
                 Input<std::uint8_t, 1> cadfs, Input<double, 2> images) {
  const std::size_t programs = cadfs.shape(0), total = instructions.shape(0);
  require(instructions.shape(1) == sizeof(Instruction),
          "an instruction has " + text(sizeof(Instruction)) + " bytes, not " + text(instructions.shape(1)));
  require(lengths.shape(0) == programs && lengths.shape(1) == kMaxFunctions,
          "expected the lengths of " + text(kMaxFunctions) + " functions for each of " + text(programs) + " programs");
  require(images.shape(0) == programs && images.shape(1) == static_cast<std::size_t>(shape.image_size()),
          "expected " + text(shape.image_size()) + " start values for each of " + text(programs) + " programs");
  // Copied: the bytes need not lie where an instruction may.
  std::vector<Instruction> code(total);
  if (total > 0) std::memcpy(static_cast<void*>(code.data()), instructions.data(), total * sizeof(Instruction));
  auto store = std::make_shared<Store>(shape);
  store->reserve(programs, total);
  std::size_t end = 0;
  for (std::size_t p = 0; p < programs; ++p) {
    ProgramView program{&shape, {}, cadfs.data()[p], {images.data() + p * images.shape(1), images.shape(1)}};
    require(program.cadfs <= kMaxCadfs,
            "a program has at most " + text(kMaxCadfs) + " CADFs, not " + text(program.cadfs));
    if (const std::string what = check_shape(shape, program.cadfs); !what.empty()) reject(what);
    for (int f = 0; f < kMaxFunctions; ++f) {
      const std::int64_t length = lengths.data()[p * kMaxFunctions + f];
      require(length >= 0 && static_cast<std::size_t>(length) <= total - end,
              "the lengths do not add up to the instructions");
      require(f <= program.cadfs || length == 0, "a function that the program does not have is not empty");
      program.functions[f] = {code.data() + end, static_cast<std::size_t>(length)};
      end += length;
    }
    if (const std::string what = check_program(program); !what.empty()) reject(what);
    store->append(program);
  }
  require(end == total, "the lengths do not add up to the instructions");
  Batch batch(shape);
  batch.append(std::move(store));
  return batch;
}

// Positions in a batch, checked and copied: the caller's array may change once the GIL is released.
std::vector<std::size_t> positions(const Batch& batch, const Input<std::int64_t, 1>& indices) {
  std::vector<std::size_t> result(indices.shape(0));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = checked(batch, indices.data()[i]);
  return result;
}

void check_same(const MemoryShape& a, const MemoryShape& b) {
  require(a.observations == b.observations && a.actions == b.actions && a.stateful == b.stateful &&
              std::equal(std::begin(a.counts), std::end(a.counts), std::begin(b.counts)),
          "the batches have different memories");
}

Batch selected(const Batch& batch, Input<std::int64_t, 1> indices) { return batch.selected(positions(batch, indices)); }

Batch joined(const Batch& first, const Batch& second) {
  check_same(first.shape, second.shape);
  Batch result = first;
  result.append(second);
  return result;
}

nb::tuple arrays(const Batch& batch) {
  const std::size_t programs = batch.size(), image = batch.shape.image_size();
  std::vector<std::uint8_t> bytes, cadfs;
  std::vector<std::int64_t> lengths;
  std::vector<double> images;
  images.reserve(product({programs, image}));
  for (std::size_t p = 0; p < batch.size(); ++p) {
    const ProgramView program = batch.view(p);
    for (const auto& function : program.functions) {
      const auto* first = reinterpret_cast<const std::uint8_t*>(function.data());
      bytes.insert(bytes.end(), first, first + function.size_bytes());
      lengths.push_back(static_cast<std::int64_t>(function.size()));
    }
    cadfs.push_back(static_cast<std::uint8_t>(program.cadfs));
    images.insert(images.end(), program.image.begin(), program.image.end());
  }
  const std::size_t instructions = bytes.size() / sizeof(Instruction);
  return nb::make_tuple(as_numpy(std::move(bytes), {instructions, sizeof(Instruction)}),
                        as_numpy(std::move(lengths), {programs, kMaxFunctions}), as_numpy(std::move(cadfs), {programs}),
                        as_numpy(std::move(images), {programs, image}));
}

Output<std::uint8_t> encoded_part(const Batch& batch, std::int64_t first, std::int64_t last) {
  require(0 <= first && first <= last && static_cast<std::size_t>(last) <= batch.size(),
          "expected a part of a batch of " + text(batch.size()));
  auto bytes = [&] {
    const LongWork work;
    return encoded(batch, first, last);
  }();
  const std::size_t count = bytes.size();
  return as_numpy(std::move(bytes), {count});
}

Batch decoded_batch(const MemoryShape& shape, Input<std::uint8_t, 1> bytes) {
  const LongWork work;
  return decoded(shape, {bytes.data(), bytes.shape(0)});
}

// A batch of new programs: make(i, genome) for each, in parts, one for each thread.
template <class Make>
Batch make_programs(const MemoryShape& shape, std::size_t count, int threads, Make make) {
  constexpr std::size_t kSample = 8;  // so many show how long the others will be
  std::vector<std::shared_ptr<Store>> stores(Pool::part_count(count, threads));
  Pool::shared().run_parts(count, threads, [&](std::size_t first, std::size_t last, std::size_t part) {
    auto store = std::make_shared<Store>(shape);
    Genome& genome = mine<Genome>();
    for (std::size_t i = first; i < last; ++i) {
      Errand::go_on();
      make(i, genome);
      store->append(genome.view());
      if (store->size() == kSample)
        store->reserve(last - first, store->instructions() * (last - first) / (kSample - 1));  // and some room
    }
    stores[part] = std::move(store);
  });
  Batch batch(shape);
  for (auto& store : stores) batch.append(std::move(store));
  return batch;
}

// ---- simplify ----

nb::tuple effective(const Batch& batch) {
  std::vector<std::uint8_t> live;
  auto result = [&] {
    const LongWork work;
    Liveness liveness;
    return make_programs(batch.shape, batch.size(), 1, [&](std::size_t p, Genome& genome) {
      const ProgramView program = batch.view(p);
      liveness.analyse(program);
      liveness.write_effective(program, genome);
      for (int f = 0; f < program.function_count(); ++f)
        for (std::size_t line = 0; line < program.functions[f].size(); ++line)
          live.push_back(liveness.is_live(f, line));
    });
  }();
  const std::size_t lines = live.size();
  return nb::make_tuple(std::move(result), as_numpy(std::move(live), {lines}));
}

std::vector<std::uint64_t> entry_registers(const Batch& batch, std::int64_t index) {
  Liveness liveness;
  liveness.analyse(batch.view(checked(batch, index)));
  return {std::begin(liveness.entry().bits), std::end(liveness.entry().bits)};
}

// ---- run ----

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

nb::tuple trace(const Batch& batch, std::int64_t index, Input<double, 3> observations, Input<std::uint64_t, 1> keys) {
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
    Interpreter<Lanes> interpreter;
    interpreter.load(batch.view(p), static_cast<int>(lanes), &record);
    interpreter.reset({keys.data(), lanes});
    for (std::size_t step = 0; step < steps; ++step) {
      Errand::go_on();
      interpreter.act(observations.data() + step * lanes * batch.shape.observations, actions.data() + step * width);
    }
  }
  constexpr std::size_t fields = sizeof(Event) / sizeof(std::int64_t);
  std::vector<std::int64_t> events(record.events.size() * fields);
  if (!events.empty()) std::memcpy(events.data(), record.events.data(), events.size() * sizeof(std::int64_t));
  const std::size_t count = record.events.size(), values = record.values.size();
  return nb::make_tuple(as_numpy(std::move(actions), {steps, lanes, std::size_t(batch.shape.actions)}),
                        as_numpy(std::move(events), {count, fields}), as_numpy(std::move(record.values), {values}));
}

// An interpreter that Python drives step by step. It keeps its own copy of the program.
class Stepper {
 public:
  Stepper(const Batch& batch, std::int64_t index, int lanes) {
    check_program_lanes(batch, index, lanes);
    shape_ = batch.shape;
    policy_.load(batch.view(checked(batch, index)), lanes);
    policy_.reset(std::vector<std::uint64_t>(lanes, 0));
  }
  void reset(Input<std::uint64_t, 1> keys) {
    check_observations(shape_, policy_.lanes(), shape_.observations, keys.shape(0));
    policy_.reset({keys.data(), keys.shape(0)});
  }
  void reset_lane(std::int64_t lane, std::uint64_t key) {
    require(lane >= 0 && lane < policy_.lanes(),
            "lane " + std::to_string(lane) + " is not among " + text(policy_.lanes()));
    policy_.reset(static_cast<int>(lane), key);
  }
  Output<double> act(Input<double, 2> observations) {
    const std::size_t lanes = policy_.lanes(), actions = shape_.actions;
    require(observations.shape(0) == lanes,
            "expected observations for " + text(lanes) + " lanes, got " + text(observations.shape(0)));
    check_observations(shape_, lanes, observations.shape(1), lanes);
    std::vector<double> result(lanes * actions);
    policy_.act(observations.data(), result.data());
    return as_numpy(std::move(result), {lanes, actions});
  }

 private:
  MemoryShape shape_{};
  ProgramPolicy policy_;  // holds the program that runs
};

// ---- vary ----

VariationSettings make_settings(std::vector<double> weights, std::vector<double> op_weights, double sigma,
                                double fraction, double decades, double initial_constants, double density,
                                int max_cadfs, int initial_cadfs, int least, int most, int cadf_least, int cadf_most,
                                int growth_length, double growth_memory, double growth_vectors, double growth_branches,
                                double growth_constants, double growth_coefficient) {
  double total = 0.0;
  for (double weight : weights) {
    require(std::isfinite(weight) && weight >= 0.0, "a mutation weight must be a number of 0 or more");
    total += weight;
  }
  require(weights.size() >= kMutationCount && weights.size() < kNoMutation && total > 0.0,
          "at least one mutation weight must be above 0");
  require(op_weights.size() == kOpCount, "expected a weight for each of " + text(kOpCount) + " ops");
  for (double weight : op_weights)
    require(std::isfinite(weight) && weight >= 0.0, "an op weight must be a number of 0 or more");
  require(std::isfinite(sigma) && sigma >= 0.0, "sigma must be 0 or more");
  require(fraction >= 0.0 && fraction <= 1.0, "fraction must lie in 0 to 1");
  require(decades >= 0.0 && decades <= 100.0, "decades must lie in 0 to 100");
  require(density >= 0.0 && density <= 1.0, "density must lie in 0 to 1");
  require(initial_constants >= 0.0 && initial_constants <= 1e100, "initial_constants must lie in 0 to 1e100");
  require(max_cadfs >= 0 && max_cadfs <= kMaxCadfs, "max_cadfs must be 0 to " + text(kMaxCadfs));
  require(initial_cadfs >= 0 && initial_cadfs <= max_cadfs, "initial_cadfs must be 0 to max_cadfs");
  for (const LengthRange& range : {LengthRange{least, most}, LengthRange{cadf_least, cadf_most}})
    require(range.least >= 0 && range.least <= range.most && range.most <= 1'000'000,
            "a length must be a range of 0 to 1000000 with the smaller number first");
  require(growth_length >= 1 && growth_length <= 100, "growth_length must lie in 1 to 100");
  require(growth_memory >= 0.0 && growth_memory <= 1.0, "growth_memory must lie in 0 to 1");
  require(growth_vectors >= 0.0 && growth_vectors <= 3.0, "growth_vectors must lie in 0 to 3");
  require(growth_branches >= 0.0 && growth_branches <= 1.0, "growth_branches must lie in 0 to 1");
  require(growth_constants >= 0.0 && growth_constants <= 1e100, "growth_constants must lie in 0 to 1e100");
  require(growth_coefficient >= 0.0 && growth_coefficient <= 1e100, "growth_coefficient must lie in 0 to 1e100");
  return {std::move(weights),
          std::move(op_weights),
          sigma,
          fraction,
          decades,
          initial_constants,
          density,
          max_cadfs,
          initial_cadfs,
          {least, most},
          {cadf_least, cadf_most},
          growth_length,
          growth_memory,
          growth_vectors,
          growth_branches,
          growth_constants,
          growth_coefficient};
}

Sampler make_sampler(const MemoryShape& shape, const VariationSettings& settings) {
  if (const std::string what = check_shape(shape, settings.initial_cadfs); !what.empty()) reject(what);
  Sampler sampler(shape, settings);
  require(sampler.can_draw(), "no op of positive weight fits the memory");
  return sampler;
}

Batch random_batch(const MemoryShape& shape, const VariationSettings& settings, Input<std::uint64_t, 1> keys,
                   int threads) {
  check_threads(threads);
  const Sampler sampler = make_sampler(shape, settings);
  const std::vector<std::uint64_t> drawn = copied(keys);
  const LongWork work;
  return make_programs(shape, drawn.size(), threads, [&](std::size_t i, Genome& genome) {
    Stream stream(drawn[i]);
    sampler.random_program(genome, stream);
  });
}

nb::tuple mutated(const Batch& batch, const VariationSettings& settings, Input<std::int64_t, 1> parents,
                  Input<std::uint64_t, 1> keys, int threads) {
  require(parents.shape(0) == keys.shape(0), "expected one key for each of " + text(parents.shape(0)) + " children");
  check_threads(threads);
  const std::vector<std::size_t> chosen = positions(batch, parents);
  const Sampler sampler = make_sampler(batch.shape, settings);
  const std::vector<std::uint64_t> drawn = copied(keys);
  std::vector<std::uint8_t> applied(chosen.size());
  auto children = [&] {
    const LongWork work;
    return make_programs(batch.shape, chosen.size(), threads, [&](std::size_t i, Genome& genome) {
      genome.assign(batch.view(chosen[i]));
      Stream stream(drawn[i]);
      applied[i] = static_cast<std::uint8_t>(mutate(genome, stream, sampler));
    });
  }();
  return nb::make_tuple(std::move(children), as_numpy(std::move(applied), {chosen.size()}));
}

// One program for each key: the smallest, and so many terms grown on it.
Batch grown(const MemoryShape& shape, const VariationSettings& settings, int terms, Input<std::uint64_t, 1> keys,
            int threads) {
  check_threads(threads);
  require(terms >= 0 && terms <= 1000, "expected 0 to 1000 terms, not " + text(terms));
  const Sampler sampler = make_sampler(shape, settings);
  const std::vector<std::uint64_t> drawn = copied(keys);
  const LongWork work;
  return make_programs(shape, drawn.size(), threads, [&](std::size_t i, Genome& genome) {
    Stream stream(drawn[i]);
    smallest_program(shape, genome);
    for (int term = 0; term < terms; ++term) grow_term(genome, 0, stream, sampler);
  });
}

// One child of each parent: with a reflex; and its registers (sense, threshold, latch), -1 where it has none.
nb::tuple reflexes(const Batch& batch, const VariationSettings& settings, int terms, Input<std::int64_t, 1> parents,
                   Input<std::uint64_t, 1> keys, int threads) {
  const std::size_t count = parents.shape(0);
  require(keys.shape(0) == count, "expected one key for each child");
  require(terms >= 1 && terms <= 1000, "expected 1 to 1000 terms, not " + text(terms));
  check_threads(threads);
  const Sampler sampler = make_sampler(batch.shape, settings);
  const std::vector<std::size_t> chosen = positions(batch, parents);
  const std::vector<std::uint64_t> drawn = copied(keys);
  std::vector<std::int32_t> registers(3 * count, -1);
  auto children = [&] {
    const LongWork work;
    return make_programs(batch.shape, count, threads, [&](std::size_t i, Genome& genome) {
      genome.assign(batch.view(chosen[i]));
      Stream stream(drawn[i]);
      Reflex reflex;
      if (!grow_reflex(genome, terms, stream, sampler, reflex)) return;
      registers[3 * i] = reflex.sense;
      registers[3 * i + 1] = reflex.threshold;
      registers[3 * i + 2] = reflex.latch;
    });
  }();
  return nb::make_tuple(std::move(children), as_numpy(std::move(registers), {count, 3}));
}

nb::tuple transplanted(const Batch& batch, Input<std::int64_t, 1> first, Input<std::int64_t, 1> second,
                       Input<std::uint64_t, 1> keys, int threads) {
  const std::size_t count = first.shape(0);
  require(second.shape(0) == count && keys.shape(0) == count, "expected two parents and one key for each child");
  check_threads(threads);
  const std::vector<std::size_t> a = positions(batch, first), b = positions(batch, second);
  const std::vector<std::uint64_t> drawn = copied(keys);
  std::vector<std::uint8_t> applied(count);
  auto children = [&] {
    const LongWork work;
    return make_programs(batch.shape, count, threads, [&](std::size_t i, Genome& genome) {
      Stream stream(drawn[i]);
      applied[i] = transplant(batch.view(a[i]), batch.view(b[i]), stream, genome);
    });
  }();
  return nb::make_tuple(std::move(children), as_numpy(std::move(applied), {count}));
}

Batch crossed(const Batch& batch, Input<std::int64_t, 1> first, Input<std::int64_t, 1> second,
              Input<std::uint64_t, 1> keys, int threads) {
  const std::size_t count = first.shape(0);
  require(second.shape(0) == count && keys.shape(0) == count, "expected two parents and one key for each child");
  check_threads(threads);
  const std::vector<std::size_t> ones = positions(batch, first), others = positions(batch, second);
  const std::vector<std::uint64_t> drawn = copied(keys);
  const LongWork work;
  return make_programs(batch.shape, count, threads, [&](std::size_t i, Genome& genome) {
    Stream stream(drawn[i]);
    crossover(batch.view(ones[i]), batch.view(others[i]), stream, genome);
  });
}

// The keys of streams: one for each index, from the base of their purpose.
Output<std::uint64_t> stream_keys(std::uint64_t base, Input<std::uint64_t, 1> indices) {
  std::vector<std::uint64_t> result(indices.shape(0));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = mix(base + kGolden * (indices.data()[i] + 1));
  const std::size_t count = result.size();
  return as_numpy(std::move(result), {count});
}

std::vector<double> stream_sample(std::uint64_t key, const std::string& kind, int count) {
  require(kind == "normal" || kind == "uniform", "kind must be normal or uniform, not " + kind);
  require(count >= 0 && count <= 1'000'000, "expected 0 to 1000000 numbers, not " + std::to_string(count));
  Stream stream(key);
  std::vector<double> result;
  for (int i = 0; i < count; ++i) result.push_back(kind == "normal" ? stream.normal() : stream.uniform());
  return result;
}

}  // namespace
}  // namespace arz

NB_MODULE(ARZ_MODULE, m) {
  using namespace arz;
  main_thread = nb::object(nb::module_::import_("threading").attr("main_thread")).release().ptr();
  nb::set_leak_warnings(false);  // settings and programs kept in Python modules live until the process ends
  m.attr("INSTRUCTION_SET") = ARZ_INSTRUCTION_SET;
  m.attr("OPS_DIGEST") = kOpsDigest;
  m.attr("MAX_CADFS") = kMaxCadfs;
  m.attr("NONE") = static_cast<int>(kNone);
  m.attr("NO_MUTATION") = kNoMutation;
  nb::list mutations;
  for (const NamedMutation& mutation : kMutations) mutations.append(mutation.name);
  m.attr("MUTATIONS") = nb::tuple(mutations);

  nb::class_<MemoryShape>(m, "MemoryShape");
  m.def("memory_shape", &make_shape);
  nb::class_<Batch>(m, "Batch")
      .def("__len__", &Batch::size)
      .def_prop_ro("image_size", [](const Batch& batch) { return batch.shape.image_size(); })
      .def("kept", &Batch::kept)
      .def("memory_sizes", &memory_sizes)
      .def("arrays", &arrays)
      .def("encoded", &encoded_part)
      .def("selected", &selected, nb::arg().noconvert())
      .def("joined", &joined);
  m.def("decoded", &decoded_batch, nb::arg(), nb::arg().noconvert());
  m.def("batch", &make_batch, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg().noconvert());
  m.def("effective", &effective);
  m.def("entry_registers", &entry_registers);
  m.def("run", &run, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg(), nb::arg());
  m.def("trace", &trace, nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert());
  nb::class_<Stepper>(m, "Stepper")
      .def(nb::init<const Batch&, std::int64_t, int>())
      .def("reset", &Stepper::reset, nb::arg().noconvert())
      .def("reset_lane", &Stepper::reset_lane)
      .def("act", &Stepper::act, nb::arg().noconvert());
  nb::class_<VariationSettings>(m, "VariationSettings");
  m.def("variation_settings", &make_settings);
  m.def("random_batch", &random_batch, nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg());
  m.def("grown", &grown, nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg());
  m.def("reflexes", &reflexes, nb::arg(), nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg());
  m.def("transplanted", &transplanted, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(),
        nb::arg());
  m.def("mutated", &mutated, nb::arg(), nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
  m.def("crossed", &crossed, nb::arg(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert(), nb::arg());
  m.def("stream_keys", &stream_keys, nb::arg(), nb::arg().noconvert());
  m.def("stream_sample", &stream_sample);
  bind_rollout(m);
  bind_cache(m);
  bind_quadruped(m);
  bind_networks(m);
}
