// The module as Python imports it. Bad arguments are rejected at this boundary, with a sentence; batched calls release
// the GIL. Arguments have names, and arrays the shapes that the docstrings say; `make stub` writes both down for types.
#include "bindings/module.hpp"

#include "bindings/interruption.hpp"
#include "ops.generated.hpp"

NB_MODULE(ARZ_MODULE, m) {
  using namespace arz;
  main_thread = nb::object(nb::module_::import_("threading").attr("main_thread")).release().ptr();
  nb::set_leak_warnings(false);  // settings and programs kept in Python modules live until the process ends
  m.attr("INSTRUCTION_SET") = ARZ_INSTRUCTION_SET;
  m.attr("OPS_DIGEST") = kOpsDigest;
  bind_programs(m);
  bind_execution(m);
  bind_variation(m);
  bind_streams(m);
  bind_selection(m);
  bind_networks(m);
  bind_tasks(m);
  bind_all_tasks(m);
}
