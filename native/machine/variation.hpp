// The seven mutations of the paper, three that grow and shrink programs by whole terms (growth.hpp), the paper's
// crossover, and random programs. Every function changes a genome in
// place from a stream of random numbers; a mutation returns whether it could apply, and if it did, the
// genome differs from before.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/batch.hpp"
#include "machine/random.hpp"

namespace arz {

struct LengthRange {
  int least, most;
};

// What random instructions and mutations are drawn from. See vary.py for the meaning and the defaults.
struct VariationSettings {
  std::vector<double> weights;     // of the mutations, in the order of kMutations, then of custom ones
  std::vector<double> op_weights;  // of each op of the table
  double sigma;                    // of the noise on start values
  double fraction;                 // of a register's start values, or an instruction's positions, that change
  double decades;                  // sigma and that fraction are made smaller by up to this many powers of ten
  double initial_constants;        // start values are drawn from U(-this, this)...
  double density;                  // ...with this probability; else they are 0
  int max_cadfs;
  int initial_cadfs;
  LengthRange length, cadf_length;  // of GetAction and of CADFs, when they are created
  int growth_length;                // instructions in a grown expression, at most
  double growth_memory;             // how likely one of them reads its own destination
  double growth_vectors;            // how often one gives a vector where a scalar would do, relative to the usual
  double growth_branches;           // how likely what else one reads is an expression of its own
  double growth_constants;          // start values that an expression reads
  double growth_coefficient;        // by which it is multiplied at first, at most
};

using Mutation = bool (*)(Genome&, int function, Stream&, const class Sampler&);

struct NamedMutation {
  const char* name;
  Mutation apply;
  int most_failures = 1000;  // it is not tried again on the same genome after so many
};
inline constexpr int kFewFailures = 6;  // of those that look at the whole program
inline constexpr int kMutationCount = 10;
inline constexpr int kNoMutation = 255;
extern const NamedMutation kMutations[kMutationCount];

// Draws a position with the probability of its weight. Weights may be any finite numbers of 0 or more.
class WeightedChoice {
 public:
  void assign(const std::vector<double>& weights);
  bool is_possible() const { return !cumulative_.empty() && cumulative_.back() > 0.0; }
  int draw(Stream& stream) const;

 private:
  std::vector<double> cumulative_;
  int last_ = 0;  // the last position of positive weight
};

// Draws instructions, for one memory shape and one set of settings.
class Sampler {
 public:
  Sampler(const MemoryShape& shape, const VariationSettings& settings);

  const VariationSettings& settings() const { return settings_; }
  // Whether some op can be drawn, in GetAction and in CADFs.
  bool can_draw() const { return ops_[0].is_possible() && ops_[1].is_possible(); }
  const WeightedChoice& mutations() const { return mutations_; }
  // May create a CADF, when the drawn instruction calls one that is not there yet.
  Instruction instruction(Genome& genome, int function, Stream& stream) const;
  void create_cadf(Genome& genome, Stream& stream) const;
  void random_program(Genome& genome, Stream& stream) const;
  // An op for a grown expression that gives a value of a kind; -1 where there is none.
  int draw_growth(int kind, Stream& stream) const;
  bool has_growth(int kind) const { return growth_[kind].is_possible(); }

 private:
  MemoryShape shape_;
  VariationSettings settings_;
  WeightedChoice ops_[2];          // in GetAction, in CADFs
  WeightedChoice growth_[kKinds];  // that give a value of a kind
  WeightedChoice mutations_;
};

// Applies one mutation, drawn by weight; one that cannot apply is drawn again. Returns its number; a number
// past the native ones is a custom operator, left to the caller; kNoMutation where none could apply.
int mutate(Genome& genome, Stream& stream, const Sampler& sampler);

// `child` becomes `first` with one of its CADFs replaced by one of `second`'s; where either has none, one of
// the two, at random.
void crossover(const ProgramView& first, const ProgramView& second, Stream& stream, Genome& child);

}  // namespace arz
