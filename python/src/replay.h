// Replay: an instance of a plan and what one call of it needs: its arguments, and where results go. One thread at a
// time.
//
//   Replay replay(plan);
//   nb::object y = replay.call(signature, args, kwargs, nb::dict(), may_copy);   // with the GIL
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <vector>

#include "argument.h"
#include "hearth/prepare.h"
#include "signature.h"

namespace hearth::python {

class Replay {
 public:
  // Its memory is allocated without the GIL.
  explicit Replay(const client::PreparedPlan& plan);

  // `out` has arrays for results, by name. Throws what Python raises; arguments are let go of in any case.
  nb::object call(const Signature& signature, const nb::args& args, const nb::kwargs& kwargs, const nb::dict& out,
                  bool may_copy);
  // The same for arrays of a list: those of the parameters, in order. `kind`: of results where no array says it. Gives a
  // list.
  nb::object call_list(const Signature& signature, const std::vector<PyObject*>& arrays, nb::handle lengths,
                       ArrayKind kind);
  // The same, each launch measured: (total_ns, ((kernel, launches, ns, operations), ...)).
  nb::object profile(const Signature& signature, const nb::args& args, const nb::kwargs& kwargs);
  client::Instance& instance() { return instance_; }
  // The instance's variables were set by others.
  void forget_lengths() { last_lengths_.clear(); }

 private:
  struct LetGo;
  struct Output {
    std::vector<std::int64_t> shape;
    nb::object tuple;  // the same
    std::size_t size_bytes = 0;
    nb::object made;  // of this call
  };

  // Arguments and results, up to the execute.
  void begin(const Signature& signature, const nb::args& args, const nb::kwargs& kwargs, const nb::dict& out,
             bool may_copy);
  void begin_read(std::size_t count, bool accepts_gradients);
  ArrayKind end_read(const Signature& signature);
  void bind_on_host(const Signature& signature, ArrayKind kind, bool may_copy);
  // Which it is of the results' arrays.
  ArrayKind read(const Signature& signature, const nb::args& args, const nb::kwargs& kwargs);
  void read_one(const Signature& signature, std::size_t parameter, nb::handle object);
  void read_keyword(const Signature& signature, nb::handle key, nb::handle value);
  void check_fixed(const Parameter& parameter, const Argument& argument, nb::handle object) const;
  void set_shapes();
  void bind_given(const Signature& signature, const nb::dict& out);
  void make_outputs(const Signature& signature, ArrayKind kind);
  void check_overlap(const Signature& signature) const;
  // Where an array of the call lies on the plan's GPU (replay_device.cpp).
  void read_on_device(const Parameter& parameter, Argument& argument, nb::handle object);
  void begin_on_device(const Signature& signature, bool may_copy);
  void bind_on_device(const Signature& signature, bool may_copy);
  void make_outputs_on_device(const Signature& signature);
  absl::Status execute_on_device();
  void read_host_results(const Signature& signature);
  void cut_results(const Signature& signature);
  nb::list result_list(const Signature& signature);
  nb::object results(const Signature& signature);
  void let_go();
  absl::Status execute();

  const client::PreparedPlan plan_;
  client::Instance instance_;
  std::size_t num_arguments_ = 0;
  std::unique_ptr<Argument[]> arguments_;      // one a parameter of the model
  std::vector<char> is_given_;                 // likewise
  std::unique_ptr<Argument[]> given_outputs_;  // one a plan output; where `out` has it
  std::vector<client::Instance::InputArray> inputs_;
  std::vector<client::Instance::OutputArray> outputs_;
  std::vector<client::Instance::ShapeView> shapes_;
  std::vector<std::optional<std::int64_t>> variables_;
  bool has_variables_ = false;
  std::vector<std::int64_t> lengths_, last_lengths_;  // of all inputs; those that the variables' values are of
  bool is_measured_ = false;
  // The shortest replay at these lengths so far: below a few microseconds handing the GIL over costs more than it
  // gives.
  std::int64_t shortest_ns_ = 0;
  int num_timed_ = 0;
  std::vector<Output> made_;

  // Used by calls with arrays on the plan's GPU.
  const int device_type_;  // DLPack's; 0: the plan's device takes none
  nb::object like_;        // the first such array
  ArrayKind like_kind_ = ArrayKind::kNone;
  void* stream_ = nullptr;
  bool may_copy_ = true;
  bool waits_ = false;                    // the call does, for its results
  std::vector<char> bound_, last_bound_;  // which of the parameters, then of the results, lie there
};

}  // namespace hearth::python
