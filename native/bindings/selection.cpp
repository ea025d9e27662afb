// What searches select with, for Python: keys of programs, tournaments, and the cache of scores.
#include <nanobind/stl/tuple.h>

#include <limits>

#include "bindings/arrays.hpp"
#include "bindings/interruption.hpp"
#include "bindings/module.hpp"
#include "machine/canonical.hpp"
#include "machine/liveness.hpp"
#include "search/cache.hpp"
#include "search/tournament.hpp"
#include "threads/per_thread.hpp"
#include "threads/pool.hpp"

namespace arz {
namespace {

using Keys = Input<std::uint64_t, 2>;

constexpr std::int64_t kMostEntrants = 1'000'000;

Key key_at(const Keys& keys, std::size_t i) { return {keys.data()[2 * i], keys.data()[2 * i + 1]}; }

Output<std::uint64_t> program_keys(const Batch& batch, int threads) {
  check_threads(threads);
  const std::size_t programs = batch.size();
  std::vector<std::uint64_t> result(2 * programs);
  {
    const LongWork work;
    Pool::shared().run_parts(programs, threads, [&](std::size_t first, std::size_t last, std::size_t) {
      EffectiveForm& effective = per_thread<EffectiveForm>();
      for (std::size_t p = first; p < last; ++p) {
        Cancellation::check();
        const Key key = program_key(effective.of(batch.view(p)));
        result[2 * p] = key.high;
        result[2 * p + 1] = key.low;
      }
    });
  }
  return as_numpy(std::move(result), {programs, 2});
}

Output<std::uint64_t> row_keys(Input<double, 2> rows) {
  std::vector<std::uint64_t> result;
  result.reserve(product({rows.shape(0), 2}));
  for (std::size_t r = 0; r < rows.shape(0); ++r) {
    Hasher hasher;
    for (std::size_t i = 0; i < rows.shape(1); ++i) {
      const double value = rows.data()[r * rows.shape(1) + i];
      hasher.add(value != value ? std::numeric_limits<double>::quiet_NaN() : value);
    }
    result.push_back(hasher.key().high);
    result.push_back(hasher.key().low);
  }
  return as_numpy(std::move(result), {rows.shape(0), 2});
}

// A winner for each key. The population consists of groups of one size, one after the other; a tournament is held in
// one of them.
Output<std::int64_t> tournaments(Input<std::uint64_t, 1> keys, Input<std::int64_t, 1> groups, Input<double, 1> fitness,
                                 std::int64_t size, std::int64_t entrants) {
  const std::size_t count = keys.shape(0);
  const auto living = static_cast<std::int64_t>(fitness.shape(0));
  require(groups.shape(0) == count, "expected a group for each of " + text(count) + " keys");
  require(size >= 1 && size < (1ll << 31), "a group has 1 to 2147483647 members, not " + std::to_string(size));
  require(entrants >= 1 && entrants <= kMostEntrants,
          "a tournament has 1 to " + text(kMostEntrants) + " entrants, not " + std::to_string(entrants));
  std::vector<std::int64_t> winners(count);
  {
    const LongWork work;
    for (std::size_t i = 0; i < count; ++i) {
      Cancellation::check();
      const std::int64_t group = groups.data()[i];
      if (group < 0 || group >= living / size)
        reject("group " + std::to_string(group) + " is not among " + std::to_string(living / size));
      Stream stream(keys.data()[i]);
      winners[i] = tournament(stream, fitness.data(), group * size, size, entrants);
    }
  }
  return as_numpy(std::move(winners), {count});
}

void check_keys(const Keys& keys) { require(keys.shape(1) == 2, "a key has 2 numbers, not " + text(keys.shape(1))); }

// The positions of the keys that are not known, each key once. The known ones count as used, so that inserting the
// others forgets none of them, if there is room for all.
Output<std::int64_t> unknown(Cache& cache, Keys keys) {
  check_keys(keys);
  std::vector<std::int64_t> result;
  KeyTable asked;
  for (std::size_t i = 0; i < keys.shape(0); ++i) {
    const Key key = key_at(keys, i);
    if (cache.find(key) != nullptr || asked.find(key) != KeyTable::kNothing) continue;
    asked.insert(key, i);
    result.push_back(static_cast<std::int64_t>(i));
  }
  const std::size_t count = result.size();
  return as_numpy(std::move(result), {count});
}

// The values of keys that are all known.
Output<double> values(Cache& cache, Keys keys) {
  check_keys(keys);
  std::vector<double> result;
  result.reserve(product({keys.shape(0), cache.columns()}));
  for (std::size_t i = 0; i < keys.shape(0); ++i) {
    const double* found = cache.find(key_at(keys, i));
    if (found == nullptr) reject("key " + text(i) + " is not in the cache");
    result.insert(result.end(), found, found + cache.columns());
  }
  return as_numpy(std::move(result), {keys.shape(0), cache.columns()});
}

void insert(Cache& cache, Keys keys, Input<double, 2> values) {
  check_keys(keys);
  require(values.shape(0) == keys.shape(0) && values.shape(1) == cache.columns(),
          "expected " + text(cache.columns()) + " values for each of " + text(keys.shape(0)) + " keys");
  for (std::size_t i = 0; i < keys.shape(0); ++i) cache.insert(key_at(keys, i), values.data() + i * cache.columns());
}

std::tuple<Output<std::uint64_t>, Output<double>> contents(const Cache& cache) {
  std::vector<std::uint64_t> keys;
  std::vector<double> values;
  cache.each([&](const Key& key, const double* row) {
    keys.insert(keys.end(), {key.high, key.low});
    values.insert(values.end(), row, row + cache.columns());
  });
  return std::make_tuple(as_numpy(std::move(keys), {cache.size(), 2}),
                         as_numpy(std::move(values), {cache.size(), cache.columns()}));
}

}  // namespace

void bind_selection(nb::module_& m) {
  m.attr("MOST_ENTRANTS") = kMostEntrants;

  m.def("program_keys", &program_keys, "batch"_a, "threads"_a,
        "A key [program, 2] of each program that others share which act like it, whatever their registers are called.");
  m.def("row_keys", &row_keys, "rows"_a.noconvert(), "A key [row, 2] of each row of numbers.");
  m.def(
      "tournaments", &tournaments, "keys"_a.noconvert(), "groups"_a.noconvert(), "fitness"_a.noconvert(), "size"_a,
      "entrants"_a,
      "For each key the position of the best of some entrants, drawn with replacement from a group; groups are of one "
      "size, one after the other.");
  nb::class_<Cache>(m, "Cache", "The scores of the programs seen last, by their keys [key, 2].")
      .def(
          "__init__",
          [](Cache* self, std::int64_t capacity, std::int64_t columns) {
            require(capacity >= 1 && capacity <= 100'000'000, "a cache holds 1 to 100000000 scores");
            require(columns >= 1 && columns <= 64, "a score has 1 to 64 numbers");
            new (self) Cache(static_cast<std::size_t>(capacity), static_cast<std::size_t>(columns));
          },
          "capacity"_a, "columns"_a)
      .def("__len__", &Cache::size)
      .def("unknown", &unknown, "keys"_a.noconvert(), "The positions of the keys that are not known, each key once.")
      .def("values", &values, "keys"_a.noconvert(), "The values [key, column] of keys that are all known.")
      .def("insert", &insert, "keys"_a.noconvert(), "values"_a.noconvert(), "Adds values [key, column].")
      .def("contents", &contents, "All keys and their values, least recently used first.")
      .def("clear", &Cache::clear, "Forgets all.");
}

}  // namespace arz
