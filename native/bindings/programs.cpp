// Programs for Python: memories, batches and what can be asked about them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstring>

#include "bindings/batches.hpp"
#include "bindings/interruption.hpp"
#include "bindings/module.hpp"
#include "machine/liveness.hpp"
#include "machine/program_codec.hpp"
#include "threads/per_thread.hpp"

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

std::tuple<Output<std::uint8_t>, Output<std::int64_t>, Output<std::uint8_t>, Output<double>> arrays(
    const Batch& batch) {
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
  return std::make_tuple(as_numpy(std::move(bytes), {instructions, sizeof(Instruction)}),
                         as_numpy(std::move(lengths), {programs, kMaxFunctions}),
                         as_numpy(std::move(cadfs), {programs}), as_numpy(std::move(images), {programs, image}));
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

std::tuple<Batch, Output<std::uint8_t>> effective(const Batch& batch) {
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
  return std::make_tuple(std::move(result), as_numpy(std::move(live), {lines}));
}

Batch effective_forms(const Batch& batch, int threads) {
  check_threads(threads);
  const LongWork work;
  const auto make = [&](std::size_t p, Genome& genome) {
    Liveness& liveness = per_thread<Liveness>();
    liveness.analyse(batch.view(p));
    liveness.write_effective(batch.view(p), genome);
  };
  return make_programs(batch.shape, batch.size(), threads, make, true);
}

std::vector<std::uint64_t> entry_registers(const Batch& batch, std::int64_t index) {
  Liveness liveness;
  liveness.analyse(batch.view(checked(batch, index)));
  return {std::begin(liveness.entry().bits), std::end(liveness.entry().bits)};
}

// At which byte each field of a packed instruction begins.
nb::dict instruction_offsets() {
  nb::dict result;
  result["constants"] = offsetof(Instruction, constants);
  result["op"] = offsetof(Instruction, op);
  result["args"] = offsetof(Instruction, args);
  result["unused"] = offsetof(Instruction, unused);
  return result;
}

// The registers that every program has: the observation, and the action, where there is one or several.
nb::dict fixed_registers() {
  nb::dict result;
  result["observation"] = nb::make_tuple("v", kObservationVector);
  result["action"] = nb::make_tuple("s", kActionScalar);
  result["actions"] = nb::make_tuple("v", kActionVector);
  return result;
}

}  // namespace

void bind_programs(nb::module_& m) {
  m.attr("MAX_CADFS") = kMaxCadfs;
  m.attr("NONE") = static_cast<int>(kNone);
  m.attr("REGISTER_KINDS") = kRegisterKinds;
  m.attr("INSTRUCTION_OFFSETS") = instruction_offsets();
  m.attr("FIXED_REGISTERS") = fixed_registers();

  nb::class_<MemoryShape>(m, "MemoryShape", "What a program can see, do and remember: see `memory_shape`.");
  m.def("memory_shape", &make_shape, "observations"_a, "actions"_a, "scalars"_a, "vectors"_a, "matrices"_a, "indices"_a,
        "stateful"_a, "A memory with so many registers of each kind.");

  nb::class_<Batch>(m, "Batch", "Many packed programs of one memory shape: see `batch`.")
      .def("__len__", &Batch::size)
      .def_prop_ro(
          "image_size", [](const Batch& batch) { return batch.shape.image_size(); },
          "How many numbers each program starts with.")
      .def("kept", &Batch::kept, "How many programs it keeps in memory: its own, and those packed with them.")
      .def("memory_sizes", &memory_sizes, "What `memory_shape` took, in its order.")
      .def("arrays", &arrays, "What `batch` took: instructions, lengths, cadfs, images.")
      .def("encoded", &encoded_part, "first"_a, "last"_a,
           "The effective programs from the first up to before the last, as few bytes.")
      .def("selected", &selected, "indices"_a.noconvert(), "The programs at these positions.")
      .def("joined", &joined, "other"_a, "These programs, then the other's, of the same memory shape.");
  m.def(
      "batch", &make_batch, "shape"_a, "instructions"_a.noconvert(), "lengths"_a.noconvert(), "cadfs"_a.noconvert(),
      "images"_a.noconvert(),
      "Programs from packed arrays: instructions [line, byte] of all functions one after the other, lengths [program, "
      "function], how many CADFs [program], start values [program, number].");
  m.def("decoded", &decoded_batch, "shape"_a, "encoded"_a.noconvert(), "The programs that `Batch.encoded` wrote.");
  m.def("effective", &effective, "batch"_a,
        "The programs without what cannot influence an action, and for each line of each function whether it can.");
  m.def("effective_forms", &effective_forms, "batch"_a, "threads"_a,
        "The programs without what cannot influence an action; what is made of them does not look for it again.");
  m.def("entry_registers", &entry_registers, "batch"_a, "index"_a,
        "The registers whose values matter when GetAction starts: for each kind a bit for each register.");
}

}  // namespace arz
