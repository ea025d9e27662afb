// What a thread works with, kept from call to call so that nothing is allocated in between.
//
// Not inlined: else the compiler knows in a rollout where the number of each lane lies, relative to the thread, and
// asks for the place of the thread's data again and again.
#pragma once

namespace arz {

template <class Value>
[[gnu::noinline]] Value& per_thread() {
  thread_local Value value;
  return value;
}

}  // namespace arz
