#include "machine/run.hpp"

#include "ops.generated.hpp"

namespace arz {

namespace {

template <class Op, bool Masked, int dim, bool is_one>
void run(const Resolved& line, const Frame<Lanes>& frame) {
  // Copies: a store into memory could change line and frame, as far as the compiler can tell.
  const Resolved x = line;
  Frame<Lanes> here = frame;
  if constexpr (is_one) {
    here.chunks = 1;
    here.width = kLanes;
  }
  Op::template run<Lanes, Masked, dim>(x, here);
}

template <bool Masked, int dim, bool is_one, class... Bodies>
const Run* table(OpList<Bodies...>) {
  static constexpr Run functions[] = {&run<Bodies, Masked, dim, is_one>...};
  return functions;
}
template <int dim, bool is_one>
const Run* table(bool is_masked) {
  return is_masked ? table<true, dim, is_one>(AllOps{}) : table<false, dim, is_one>(AllOps{});
}
template <int dim>
const Run* table(bool is_masked, int chunks) {
  return chunks == 1 ? table<dim, true>(is_masked) : table<dim, false>(is_masked);
}

}  // namespace

const Run* runs(bool is_masked, int dim, int chunks) {
  return dim == 4 ? table<4>(is_masked, chunks) : table<0>(is_masked, chunks);
}

}  // namespace arz
