// The files of this room: each adds to the module what Python calls of its part of the core.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace arz {

void bind_programs(nanobind::module_& m);
void bind_execution(nanobind::module_& m);
void bind_variation(nanobind::module_& m);
void bind_streams(nanobind::module_& m);
void bind_selection(nanobind::module_& m);
void bind_networks(nanobind::module_& m);
void bind_tasks(nanobind::module_& m);

// What each task adds, by its name: its file makes a constant of this type, and nobody else needs to know of it.
struct TaskBinding {
  using Bind = void (*)(nanobind::module_&);
  TaskBinding(const char* name, Bind bind) { all().emplace_back(name, bind); }
  static std::vector<std::pair<std::string, Bind>>& all() {
    static std::vector<std::pair<std::string, Bind>> found;
    return found;
  }
};
inline void bind_all_tasks(nanobind::module_& m) {
  std::sort(TaskBinding::all().begin(), TaskBinding::all().end());
  for (const auto& [name, bind] : TaskBinding::all()) bind(m);
}

}  // namespace arz
