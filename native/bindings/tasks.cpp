// What all tasks share, for Python.
#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "tasks/status.hpp"

namespace arz {

void bind_tasks(nb::module_& m) { m.attr("STATUSES") = as_tuple(kStatusNames); }

}  // namespace arz
