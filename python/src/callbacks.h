// Callbacks of a prepare into Python: Ctrl-C and progress, while the GIL is released.
//
//   Callbacks callbacks(progress);
//   { WithoutGil open;  callbacks.add_to(&config, &open);  … prepare(graph, config) … }
//   callbacks.rethrow();
#pragma once
#include <nanobind/nanobind.h>

#include "hearth/prepare.h"
#include "interpreter.h"

namespace hearth::python {

// What calls back while the GIL is released, and the exception that this left.
class Callbacks {
 public:
  explicit Callbacks(const nb::object& progress) : progress_(progress) {}

  // They may be called as long as `open` lives.
  void add_to(client::PrepareConfig* config, WithoutGil* open) {
    open_ = open;
    config->cancelled = [this] { return is_cancelled(); };
    if (!progress_.is_none()) config->progress = [this](const client::PrepareProgress& now) { report(now); };
  }
  // Restores what was raised: with the GIL.
  void rethrow() {
    if (!raised_) return;
    PyErr_Restore(type_, value_, trace_);
    throw nb::python_error();
  }

 private:
  bool is_cancelled() {
    if (raised_ || is_exiting()) return true;
    open_->with_gil([&] {
      if (PyErr_CheckSignals() != 0) keep();
    });
    return raised_;
  }
  void report(const client::PrepareProgress& now) {
    static constexpr const char* kStates[] = {"queued", "lowering", "compiling", "loading", "packing"};
    const bool is_packing = now.state == client::PrepareProgress::State::kPacking;
    if (raised_) return;
    open_->with_gil([&] {
      try {
        progress_(kStates[static_cast<int>(now.state)], is_packing ? now.bytes_done : now.kernels_done,
                  is_packing ? now.bytes_total : now.kernels_total);
      } catch (nb::python_error& error) {
        error.restore();
        keep();
      }
    });
  }
  void keep() {
    PyErr_Fetch(&type_, &value_, &trace_);
    raised_ = true;
  }

  WithoutGil* open_ = nullptr;
  const nb::object progress_;
  bool raised_ = false;
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

}  // namespace hearth::python
