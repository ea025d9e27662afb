// What a thread works with, kept from call to call so that nothing is allocated in between.
#pragma once

namespace arz {

template <class Value>
Value& per_thread() {
  thread_local Value value;
  return value;
}

}  // namespace arz
