// What the core computes, as a digest for each part of it: builds for different processors must print the same lines.
// tests/native/bits.py makes it for several of them and compares.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "digest.hpp"
#include "machine/canonical.hpp"
#include "machine/growth.hpp"
#include "machine/program_codec.hpp"
#include "machine/variation.hpp"
#include "policies/network.hpp"
#include "policies/program.hpp"
#include "tasks/cartpole.hpp"
#include "tasks/rollout.hpp"

namespace arz::bits {
namespace {

constexpr int kPrograms = 250, kLaneCounts[] = {1, 8, 9, 33}, kMostLanes = 33;
constexpr MemoryShape kShapes[] = {
    {4, 1, {8, 6, 3, 4}, true}, {4, 1, {5, 3, 2, 2}, false}, {3, 5, {8, 6, 3, 4}, true}, {13, 2, {6, 6, 2, 3}, true}};

void print(const char* part, const Digest& digest) {
  std::printf("%-12s %016llx\n", part, static_cast<unsigned long long>(digest.value()));
}

// NaNs of other bits must change nothing.
enum class Nan { plain, negative, with_payload };
double nan_of(Nan kind) {
  constexpr std::uint64_t bits[] = {0x7FF8000000000000, 0xFFF8000000000000, 0xFFFF123456789ABC};
  return std::bit_cast<double>(bits[static_cast<int>(kind)]);
}

// Mostly ordinary, at times as hostile as can be.
double some_number(Stream& stream, Nan nan) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double hostile[] = {
      0.0,   -0.0, 1.0,  -1.0,   nan_of(nan), infinity, -infinity,         5e-324, -2.2e-308, 1.7e308,
      -1e22, 1e6,  0.25, 3.1e-9, 709.8,       -745.2,   4503599627370497.5};
  const std::uint32_t kind = stream.below(8);
  if (kind == 0) return hostile[stream.below(std::size(hostile))];
  if (kind == 1) {  // any bits at all
    const double any = std::bit_cast<double>(stream.bits());
    return any != any ? nan_of(nan) : any;
  }
  return kind == 2 ? stream.normal() * 100.0 : stream.uniform(-2.0, 2.0);
}

// ---- elementary functions and random numbers ----

template <class Function>
void add_function(Digest& digest, Stream stream, Function function) {
  for (int i = 0; i < 4000; ++i) {
    Lanes x, y;
    for (int l = 0; l < kLanes; ++l) {
      const double one = some_number(stream, Nan::plain), other = some_number(stream, Nan::plain);
      x.set(l, one), y.set(l, other);
    }
    const Lanes all = function(LaneMask(true), x, y);
    for (int l = 0; l < kLanes; ++l) {
      digest.add(all[l]);
      digest.add(function(true, x[l], y[l]));
    }
  }
}

Digest elementary_functions() {
  Digest digest;
  Stream stream(1);
#define ARZ_ADD(name) add_function(digest, stream, [](auto active, auto x, auto) { return name(active, x); })
  ARZ_ADD(sin);
  ARZ_ADD(cos);
  ARZ_ADD(tan);
  ARZ_ADD(arcsin);
  ARZ_ADD(arccos);
  ARZ_ADD(arctan);
  ARZ_ADD(exp);
  ARZ_ADD(log);
#undef ARZ_ADD
  add_function(digest, stream, [](auto active, auto x, auto y) { return power(active, x, y); });
  for (int i = 0; i < 10000; ++i) {
    digest.add(stream.normal());
    digest.add(stream.uniform(-3.0, 7.0));
    digest.add(std::uint64_t{stream.below(1 + i)});
  }
  return digest;
}

// ---- programs ----

VariationSettings settings() {
  VariationSettings result{std::vector<double>(kMutationCount, 1.0),
                           std::vector<double>(kOpCount, 1.0),
                           0.05,
                           0.3,
                           2.0,
                           2.0,
                           0.7,
                           kMaxCadfs,
                           2,
                           {1, 60},
                           {1, 12},
                           3,
                           0.3,
                           1.0,
                           0.3,
                           0.1,
                           0.01};
  for (int o = 0; o < kOpCount; ++o)
    if (kOps[o].is_call) result.op_weights[o] = 6.0;
  return result;
}

void add_program(Digest& digest, const Genome& genome) {
  digest.add(static_cast<std::uint64_t>(genome.cadfs));
  for (const auto& function : genome.functions)
    for (const Instruction& x : function) {
      digest.add(std::uint64_t{x.op});
      for (std::uint16_t a : x.args) digest.add(std::uint64_t{a});
      digest.add(x.constants);
    }
  digest.add(genome.image);
}

// Random programs and their offspring, with every op somewhere.
std::vector<Genome> made_programs(const MemoryShape& shape, Digest& digest) {
  const Sampler sampler(shape, settings());
  std::vector<Genome> programs(kPrograms);
  std::vector<bool> is_used(kOpCount);
  Liveness liveness;
  Genome effective, child;
  for (int p = 0; p < kPrograms; ++p) {
    Stream stream(mix(p));
    sampler.random_program(programs[p], stream);
    if (p % 4 == 1) crossover(programs[p - 1].view(), programs[p].view(), stream, child), programs[p] = child;
    if (p % 4 == 2)
      for (int i = 0; i < 20; ++i) digest.add(static_cast<std::uint64_t>(mutate(programs[p], stream, sampler)));
    if (p % 4 == 3) {
      Reflex reflex{};
      smallest_program(shape, programs[p]);
      for (int i = 0; i < 12; ++i) grow_term(programs[p], 0, stream, sampler);
      digest.add(static_cast<std::uint64_t>(grow_reflex(programs[p], 4, stream, sampler, reflex)));
      if (transplant(programs[p].view(), programs[p - 3].view(), stream, child)) programs[p] = child;
    }
    for (const auto& function : programs[p].functions)
      for (const Instruction& x : function) is_used[x.op] = true;
    add_program(digest, programs[p]);
    liveness.analyse(programs[p].view());
    liveness.write_effective(programs[p].view(), effective);
    const Key key = program_key(effective.view());
    digest.add(key.high);
    digest.add(key.low);
  }
  for (int o = 0; o < kOpCount; ++o)
    if (!is_used[o]) std::fprintf(stderr, "bits: no program has %s\n", kOps[o].name), std::exit(1);
  auto store = std::make_shared<Store>(shape);
  for (const Genome& program : programs) store->append(program.view());
  Batch batch(shape);
  batch.append(std::move(store));
  for (std::uint8_t byte : encoded(batch, 0, batch.size())) digest.add(std::uint64_t{byte});
  return programs;
}

std::vector<std::uint64_t> keys(int count) {
  std::vector<std::uint64_t> result;
  for (int i = 0; i < count; ++i) result.push_back(mix(1000 + i));
  return result;
}

// All that they write, and what they do without being watched, which takes other ways through the interpreter.
void run_programs(const std::vector<Genome>& programs, Nan nan, Digest& written, Digest& actions) {
  constexpr int kSteps = 4;
  const MemoryShape& shape = programs.front().shape;
  Interpreter watched;
  ProgramPolicy policy;
  Trace trace;
  std::vector<double> seen(kMostLanes * shape.observations), done(kMostLanes * shape.actions);
  for (std::size_t p = 0; p < programs.size(); ++p)
    for (int lanes : kLaneCounts)
      for (int way = 0; way < 3; ++way) {
        if (way == 0) {
          trace.events.clear(), trace.values.clear();
          watched.load(programs[p].view(), lanes, &trace);
          watched.reset(keys(lanes));
        } else {
          policy.load(programs[p].view(), lanes, way == 1);
          policy.reset(keys(lanes));
        }
        Stream stream(mix(p));
        for (int step = 0; step < kSteps; ++step) {
          for (double& x : seen) x = step == 0 ? stream.uniform(-1.0, 1.0) : some_number(stream, nan);
          if (way == 0)
            watched.act(seen.data(), done.data());
          else
            policy.act(seen.data(), done.data());
          actions.add(std::span(done.data(), static_cast<std::size_t>(lanes) * shape.actions));
        }
        if (way > 0) continue;
        for (const Event& e : trace.events) {
          written.add(static_cast<std::uint64_t>(e.line * kMostLanes + e.lane));
          written.add(static_cast<std::uint64_t>(e.number));
        }
        written.add(trace.values);
      }
}

// ---- networks ----

std::vector<double> some_weights(const NetworkShape& shape, std::uint64_t key) {
  Stream stream(key);
  std::vector<double> result(shape.size());
  for (double& x : result) x = stream.uniform(-0.7, 0.7);
  return result;
}

Digest networks() {
  Digest digest;
  const NetworkShape shapes[] = {{false, false, 5, 3, {16, 9}},
                                 {false, true, 4, 1, {7}},
                                 {false, false, 4, 1, {}},
                                 {true, false, 6, 2, {10}},
                                 {true, false, 37, 12, {33}}};
  for (const NetworkShape& shape : shapes)
    for (int lanes : kLaneCounts) {
      NetworkPolicy policy;
      std::vector<double> seen(lanes * shape.observations), done(lanes * shape.actions);
      std::vector<double> sums(2 * shape.observations + 1);
      policy.load(shape, some_weights(shape, lanes), lanes, sums.data());
      policy.reset(keys(lanes));
      Stream stream(7);
      for (int step = 0; step < 20; ++step) {
        for (double& x : seen) x = step < 15 ? 3.0 * stream.normal() : some_number(stream, Nan::plain);
        policy.act(seen.data(), done.data());
        digest.add(done);
      }
      digest.add(sums);
    }
  return digest;
}

// ---- cartpole ----

template <class Policy>
void add_cartpole(Digest& digest, Rollout<Policy, Cartpole>& rollout, const CartpoleSettings& task) {
  const int lanes = rollout.policy.lanes();
  std::vector<Outcome> outcomes(lanes);
  std::vector<double> rows(static_cast<std::size_t>(lanes) * task.steps * Cartpole::kTruth, 0.0);
  const Recording recording{rows.data(), task.steps};
  rollout.run(task, keys(lanes), outcomes.data(), true, &recording);
  digest.add(rows);
  for (const Outcome& outcome : outcomes) {
    digest.add(outcome.total);
    digest.add(static_cast<std::uint64_t>(outcome.length * 8 + static_cast<int>(outcome.status)));
  }
}

Digest cartpole(const std::vector<Genome>& programs) {
  Digest digest;
  const CartpoleSettings noisy{Change::both, {true, true, true}, false, true, 0.3, 0.4, 1000};
  const CartpoleSettings hidden{Change::sudden, {true, false, true}, true, false, 0.0, 1e6, 400};
  Rollout<ProgramPolicy, Cartpole> rollout;
  for (const Genome& program : programs) {
    rollout.policy.load(program.view(), 33);
    add_cartpole(digest, rollout, hidden);
  }
  // One that keeps the pole up, mostly.
  const NetworkShape linear{false, false, 4, 1, {}};
  const std::vector<double> numbers{0, 0, 0, 0, 1, 1, 1, 1, 0.6, 9, 1, 2, 0};
  Rollout<NetworkPolicy, Cartpole> steered;
  for (int lanes : kLaneCounts) {
    steered.policy.load(linear, numbers, lanes);
    add_cartpole(digest, steered, noisy);
  }
  return digest;
}

}  // namespace
}  // namespace arz::bits

int main() {
  using namespace arz;
  using namespace arz::bits;
  print("elementary", elementary_functions());
  Digest variation, written, actions, pole;
  for (const MemoryShape& shape : kShapes) {
    const std::vector<Genome> programs = made_programs(shape, variation);
    Digest first_written, first_actions;
    run_programs(programs, Nan::plain, first_written, first_actions);
    for (Nan nan : {Nan::negative, Nan::with_payload}) {
      Digest other_written, other_actions;
      run_programs(programs, nan, other_written, other_actions);
      if (other_written.value() != first_written.value() || other_actions.value() != first_actions.value())
        std::fprintf(stderr, "bits: what programs do depends on the bits of a NaN\n"), std::exit(1);
    }
    written.add(first_written.value());
    actions.add(first_actions.value());
    if (shape.observations == Cartpole::kObservations && shape.actions == Cartpole::kActions)
      pole.add(cartpole(programs).value());
  }
  print("variation", variation);
  print("programs", written);
  print("actions", actions);
  print("networks", networks());
  print("cartpole", pole);
  Digest floats, doubles, episodes;
  add_quadruped(floats, doubles, episodes);
  print("floats", floats);
  print("doubles", doubles);
  print("quadruped", episodes);
}
