// The GIL and the interpreter's end. Compiling and replaying go on without the GIL; a thread that wants it back while
// the interpreter ends would be unwound by CPython through C++ frames, which ends the process: it sleeps instead.
//
//   { WithoutGil open;  status = instance.execute(); }
#pragma once
#include <nanobind/nanobind.h>

#include <atomic>

namespace hearth::python {

namespace nb = nanobind;

// Whether the interpreter ends: what waits for a compiler gives up.
bool is_exiting();

// Releases the GIL, which the thread holds, until the end of the scope.
class WithoutGil {
 public:
  WithoutGil();
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  // Calls back into Python, from the same thread. False, without a call, once the interpreter ends.
  template <typename F>
  bool with_gil(F&& call) {
    if (!take()) return false;
    call();
    give_back();
    return true;
  }

 private:
  bool take();
  void give_back();
  PyThreadState* state_;
};

// What `call` gives, without the GIL: for what may wait for a GPU or a lock of other threads.
template <typename F>
auto without_gil(F&& call) {
  const WithoutGil open;
  return call();
}

// Counts a call that may wait for a compiler, for the interpreter's end to wait until it has given up.
class Waiting {
 public:
  Waiting();
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

// Registers what is done when the interpreter ends. Once, by the module.
void prepare_for_exit();

}  // namespace hearth::python
