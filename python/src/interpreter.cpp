#include "interpreter.h"

#include <unistd.h>

#include <chrono>
#include <thread>

namespace hearth::python {
namespace {

std::atomic<bool> exiting = false;
std::atomic<std::thread::id> exit_thread;
std::atomic<int> entering = 0;  // threads that are about to take the GIL, or call back with it
std::atomic<int> waiting = 0;

bool may_enter() {
  entering.fetch_add(1);
  if (!exiting.load() || exit_thread.load() == std::this_thread::get_id()) return true;
  entering.fetch_sub(1);
  return false;
}

// With the GIL, which other threads get meanwhile: who was about to take it has it before the interpreter ends.
void exit_hook() {
  exit_thread = std::this_thread::get_id();
  exiting = true;
  PyThreadState* state = PyEval_SaveThread();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while ((entering.load() > 0 || waiting.load() > 0) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  PyEval_RestoreThread(state);
}

}  // namespace

bool is_exiting() { return exiting.load(std::memory_order_relaxed); }

WithoutGil::WithoutGil() : state_(PyEval_SaveThread()) {}

WithoutGil::~WithoutGil() {
  if (!may_enter()) {
    for (;;) ::pause();
  }
  PyEval_RestoreThread(state_);
  entering.fetch_sub(1);
}

bool WithoutGil::take() {
  if (!may_enter()) return false;
  PyEval_RestoreThread(state_);
  return true;
}

void WithoutGil::give_back() {
  state_ = PyEval_SaveThread();
  entering.fetch_sub(1);
}

Waiting::Waiting() { waiting.fetch_add(1); }
Waiting::~Waiting() { waiting.fetch_sub(1); }

void prepare_for_exit() {
  // A forked child has none of the threads that are counted.
  nb::module_::import_("os").attr("register_at_fork")(nb::arg("after_in_child") = nb::cpp_function([] {
                                                        entering = 0;
                                                        waiting = 0;
                                                      }));
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&exit_hook));
}

}  // namespace hearth::python
