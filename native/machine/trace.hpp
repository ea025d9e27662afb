// What a program did: one event for each register write and each call of each episode, in the order of execution.
#pragma once

#include <cstdint>
#include <iterator>
#include <vector>

namespace arz {

inline constexpr int kCallEvent = 4;
inline constexpr char kEventKinds[] = "svmif";  // a letter for each kind of event

struct Event {
  std::int64_t step;
  std::int64_t lane;
  std::int64_t site;      // the line of GetAction whose call runs this function; -1 in GetAction itself
  std::int64_t line;      // in the function; -1 for the observation and for arguments, which arrive from outside
  std::int64_t function;  // 0 is GetAction, 1 the first CADF
  std::int64_t kind;      // of the register written: 0 scalar, 1 vector, 2 matrix, 3 index; 4 is a call
  std::int64_t number;    // of the register written, or of the CADF called
  std::int64_t offset;    // of the new value in `values`

  static constexpr const char* kFields[] = {"step", "lane", "site", "line", "function", "kind", "number", "offset"};
};
static_assert(sizeof(Event) == sizeof(std::int64_t) * std::size(Event::kFields));

struct Trace {
  std::vector<Event> events;
  std::vector<double> values;

  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
};

}  // namespace arz
