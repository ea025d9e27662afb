// The files of this room: each adds to the module what Python calls of its part of the core.
#pragma once

#include <nanobind/nanobind.h>

namespace arz {

void bind_programs(nanobind::module_& m);
void bind_execution(nanobind::module_& m);
void bind_variation(nanobind::module_& m);
void bind_streams(nanobind::module_& m);
void bind_selection(nanobind::module_& m);
void bind_networks(nanobind::module_& m);
void bind_tasks(nanobind::module_& m);
void bind_cartpole(nanobind::module_& m);
void bind_quadruped(nanobind::module_& m);
void bind_laikago(nanobind::module_& m);

}  // namespace arz
