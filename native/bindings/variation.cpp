// Variation for Python: random programs and children.
#include "machine/variation.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include "bindings/batches.hpp"
#include "bindings/interruption.hpp"
#include "bindings/module.hpp"
#include "machine/growth.hpp"

namespace arz {
namespace {

VariationSettings make_settings(std::vector<double> weights, std::vector<double> op_weights, double sigma,
                                double fraction, double decades, int max_cadfs, std::pair<int, int> length,
                                std::pair<int, int> cadf_length, int initial_cadfs, double initial_constants,
                                double density, int growth_length, double growth_memory, double growth_vectors,
                                double growth_branches, double growth_constants, double growth_coefficient) {
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
  for (const auto& [least, most] : {length, cadf_length})
    require(least >= 0 && least <= most && most <= 1'000'000,
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
          {length.first, length.second},
          {cadf_length.first, cadf_length.second},
          growth_length,
          growth_memory,
          growth_vectors,
          growth_branches,
          growth_constants,
          growth_coefficient};
}

nb::tuple mutation_names() {
  nb::list names;
  for (const NamedMutation& mutation : kMutations) names.append(mutation.name);
  return nb::tuple(names);
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

std::tuple<Batch, Output<std::uint8_t>> mutated(const Batch& batch, const VariationSettings& settings,
                                                Input<std::int64_t, 1> parents, Input<std::uint64_t, 1> keys,
                                                int threads) {
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
  return std::make_tuple(std::move(children), as_numpy(std::move(applied), {chosen.size()}));
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
std::tuple<Batch, Output<std::int32_t>> reflexes(const Batch& batch, const VariationSettings& settings, int terms,
                                                 Input<std::int64_t, 1> parents, Input<std::uint64_t, 1> keys,
                                                 int threads) {
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
  return std::make_tuple(std::move(children), as_numpy(std::move(registers), {count, 3}));
}

std::tuple<Batch, Output<std::uint8_t>> transplanted(const Batch& batch, Input<std::int64_t, 1> first,
                                                     Input<std::int64_t, 1> second, Input<std::uint64_t, 1> keys,
                                                     int threads) {
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
  return std::make_tuple(std::move(children), as_numpy(std::move(applied), {count}));
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

}  // namespace

void bind_variation(nb::module_& m) {
  m.attr("NO_MUTATION") = kNoMutation;
  m.attr("MUTATIONS") = mutation_names();

  nb::class_<VariationSettings>(m, "VariationSettings", "What random code is drawn from: see `variation_settings`.");
  m.def(
      "variation_settings", &make_settings, "weights"_a, "op_weights"_a, "sigma"_a, "fraction"_a, "decades"_a,
      "max_cadfs"_a, "length"_a, "cadf_length"_a, "initial_cadfs"_a, "initial_constants"_a, "density"_a,
      "growth_length"_a, "growth_memory"_a, "growth_vectors"_a, "growth_branches"_a, "growth_constants"_a,
      "growth_coefficient"_a,
      "The fields of `arz.Variation`: the weights of all mutations, custom ones last, and of all ops; then the others "
      "under their names.");
  m.def("random_batch", &random_batch, "shape"_a, "settings"_a, "keys"_a.noconvert(), "threads"_a,
        "A random program for each key.");
  m.def("grown", &grown, "shape"_a, "settings"_a, "terms"_a, "keys"_a.noconvert(), "threads"_a,
        "A program for each key: the smallest, and so many terms grown on it.");
  m.def("mutated", &mutated, "batch"_a, "settings"_a, "parents"_a.noconvert(), "keys"_a.noconvert(), "threads"_a,
        "A child of each parent (a position in the batch) by one mutation, and the number of that mutation.");
  m.def("reflexes", &reflexes, "batch"_a, "settings"_a, "terms"_a, "parents"_a.noconvert(), "keys"_a.noconvert(),
        "threads"_a,
        "A child of each parent with a reflex of so many terms, and the registers of its sense, threshold and latch "
        "[child, 3]; -1 where it has none.");
  m.def("transplanted", &transplanted, "batch"_a, "first"_a.noconvert(), "second"_a.noconvert(), "keys"_a.noconvert(),
        "threads"_a, "Each first parent with a term of the second, and whether there was one and room for it.");
  m.def("crossed", &crossed, "batch"_a, "first"_a.noconvert(), "second"_a.noconvert(), "keys"_a.noconvert(),
        "threads"_a, "Each first parent with a CADF of the second in place of one of its own.");
}

}  // namespace arz
