// What networks cost without a task around them, and what the core could do at most. Python measures the time.
#include "policies/network.hpp"

using namespace arz;

// Products and sums in registers alone, in chains that do not wait for each other: more than it takes to keep the core
// busy, few enough for sixteen registers. Returns how many numbers got one of each.
extern "C" double peak(std::int64_t rounds, double* result) {
  constexpr int kChains = 12;
  Part chains[kChains], factor = 0.5 - Part{}, term = 1.0 - Part{};
  asm volatile("" : "+x"(factor), "+x"(term));  // not known in advance
  for (int i = 0; i < kChains; ++i) chains[i] = i - Part{};
  for (std::int64_t round = 0; round < rounds; ++round)
    for (Part& chain : chains) chain = chain * factor + term;
  Part sum{};
  for (const Part& chain : chains) sum += chain;
  *result = sum[0];
  return static_cast<double>(rounds) * kChains * kPart;
}

// Matrices of these sizes (rows, columns) one after another, each times a vector in every lane.
extern "C" void products(const int* sizes, int count, const double* numbers, int lanes, std::int64_t rounds) {
  std::vector<SharedMatrix> matrices(count);
  int tallest = 0;
  for (int i = 0; i < count; ++i) {
    matrices[i].set(numbers, sizes[2 * i], sizes[2 * i + 1]);
    tallest = std::max(tallest, SharedMatrix::padded(sizes[2 * i]));
  }
  AlignedBuffer<double> results;
  results.reserve(static_cast<std::size_t>(lanes) * tallest);
  for (std::int64_t round = 0; round < rounds; ++round)
    for (int i = 0; i < count; ++i) matrices[i].multiply(numbers, sizes[2 * i + 1], 1, results.data(), lanes);
}

// Steps of a network whose numbers are also what it sees.
extern "C" void steps(bool is_lstm, int observations, int actions, const int* hidden, int layers, const double* numbers,
                      int lanes, std::int64_t rounds) {
  const NetworkShape shape{is_lstm, false, observations, actions, {hidden, hidden + layers}};
  std::vector<double> sums(2 * observations + 1);
  NetworkPolicy policy;
  policy.load(shape, {numbers, shape.size()}, lanes, sums.data());
  policy.reset(std::vector<std::uint64_t>(lanes));
  for (int e = 0; e < observations; ++e) std::copy_n(numbers + e, lanes, policy.observation(e));
  for (std::int64_t round = 0; round < rounds; ++round) policy.step();
}
