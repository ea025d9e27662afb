// How Ctrl-C ends a call that takes long.
#pragma once

#include <nanobind/nanobind.h>

#include "bindings/checks.hpp"
#include "threads/cancellation.hpp"

namespace arz {

namespace nb = nanobind;

// Python's own threading.main_thread, since the module was made.
inline PyObject* main_thread = nullptr;

inline bool is_main_thread() {
  return nb::cast<unsigned long>(nb::handle(main_thread)().attr("ident")) == PyThread_get_thread_ident();
}

// Runs the handlers of signals, Ctrl-C among them; throws what they raise.
inline void look_for_signals() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// What may take long, and can be interrupted: on the main thread, where Python handles signals. A handler cannot begin
// another on that thread: it would take the place of the one that it interrupts.
class Interruptible {
 public:
  Interruptible() : cancellation_(checked_poll()) {}

 private:
  static Cancellation::Poll checked_poll() {
    require(Cancellation::current() == nullptr,
            "a signal handler cannot run programs while it interrupts others that run");
    return is_main_thread() ? &look_for_signals : nullptr;
  }
  Cancellation cancellation_;
};

// The same without the GIL.
class LongWork : Interruptible {
  nb::gil_scoped_release release_;
};

}  // namespace arz
