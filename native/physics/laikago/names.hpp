// What the joints and the numbers of a state are called.
#pragma once

#include <string>
#include <vector>

#include "physics/laikago/state.hpp"

namespace arz::physics::laikago {

inline std::vector<std::string> joint_names() {
  std::vector<std::string> names;
  for (const char* leg : kLegNames)
    for (const char* joint : kJointNames) names.push_back(std::string(leg) + " " + joint);
  return names;
}

// In the order of State.
inline std::vector<std::string> state_names() {
  std::vector<std::string> names;
  const auto add = [&](const char* what, const char* axes) {
    for (; *axes != 0; ++axes) names.push_back(what + std::string(" ") + *axes);
  };
  add("quaternion", "xyzw");
  add("position", "xyz");
  for (const std::string& joint : joint_names()) names.push_back(joint);
  add("angular velocity", "xyz");
  add("velocity", "xyz");
  for (const std::string& joint : joint_names()) names.push_back(joint + " velocity");
  return names;
}

}  // namespace arz::physics::laikago
