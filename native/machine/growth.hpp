// Growth: code gets longer, or shorter, by whole terms. A term is an expression, times a number near zero, added to a
// register that matters there; so a child acts nearly as its parent does, and there is a slope to climb for whoever
// tunes its numbers. Expressions are drawn from the op table: of ops that are finite wherever their inputs are, into
// registers that nobody misses. With some probability an instruction reads its own destination, so that clocks, sums,
// leaky memories and latches are drawn like anything else. Nothing here knows a task.
//
// As the other mutations (variation.hpp), each returns whether it could apply; if not, the genome is as before. Lines
// that do not matter go, so that their registers are free.
#pragma once

#include "machine/variation.hpp"

namespace arz {

// The least program whose action is set anew in every step: to zero, or to the start values of a register.
void smallest_program(const MemoryShape& shape, Genome& genome);

// Adds a term to a register of any kind, in GetAction or in a CADF.
bool grow_term(Genome& genome, int function, Stream& stream, const Sampler& sampler);
// Adds a term to GetAction, whatever function was drawn: what a conditional call gives, of a CADF that is there or of a
// new one.
bool grow_call(Genome& genome, int function, Stream& stream, const Sampler& sampler);
// Leaves out a term: of two, drawn at random, the one with the smaller coefficients.
bool drop_term(Genome& genome, int function, Stream& stream, const Sampler& sampler);

// Where a reflex keeps what fires it: the weights of its sense, a vector; its threshold and its latch, scalars.
struct Reflex {
  int sense = -1, threshold = -1, latch = -1;
};

// Adds a reflex to GetAction: `terms` terms for the action that are zero until a sense has fired, `dot(weights,
// observation) + threshold > 0`, and act from then on, as a latch remembers. The first is a constant.
bool grow_reflex(Genome& genome, int terms, Stream& stream, const Sampler& sampler, Reflex& reflex);

// `child` becomes `first` with one term of `second` for the action, and all that it is computed from, numbers too, in
// free registers; returns whether there was such a term and room for it. If not, `child` is `first`.
bool transplant(const ProgramView& first, const ProgramView& second, Stream& stream, Genome& child);

}  // namespace arz
