// hearth.Function: a prepared model that is called with arrays; hearth.Stream: one instance of it whose state stays
// from call to call.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <vector>

#include "hearth/onnx.h"
#include "hearth/prepare.h"
#include "replay.h"
#include "signature.h"

namespace hearth::python {

// What Python's side of a function remembers beside the plan.
struct FunctionInfo {
  std::string name;
  bool may_copy = true;
  int opset = 0;  // 0: of a plan file
  std::vector<std::string> warnings;
  onnx::WeightsReport weights;
};

class Function {
 public:
  Function(client::PreparedPlan plan, Signature signature, FunctionInfo info)
      : plan_(std::move(plan)), signature_(std::move(signature)), info_(std::move(info)) {}

  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  nb::object call(const nb::args& args, const nb::kwargs& kwargs);
  nb::object into(const nb::args& args, const nb::dict& out, const nb::kwargs& kwargs);

  // None where a watched array has changed.
  nb::object call_list(nb::handle arrays, nb::handle watch, nb::handle lengths);

  nb::object profile(const nb::args& args, const nb::kwargs& kwargs);
  // Facts about the plan and one instance: kernels, launches, num_ops (at the largest lengths), shared_bytes,
  // instance_bytes.
  nb::dict facts();
  std::size_t num_idle() const { return idle_.size(); }
  // Seconds that `count` replays of one instance take in C++, for benchmarks to subtract.
  double time_executes(std::int64_t count);

  const client::PreparedPlan& plan() const { return plan_; }
  const Signature& signature() const { return signature_; }
  const FunctionInfo& info() const { return info_; }

 private:
  struct Taken;
  // A call has ended.
  void give_back(std::unique_ptr<Replay> replay);
  // A plan whose instances carry state is called by streams alone.
  void refuse_state() const;
  // One for each call that is going on; the GIL guards all below.
  std::unique_ptr<Replay> take();

  const client::PreparedPlan plan_;
  const Signature signature_;
  const FunctionInfo info_;
  std::vector<std::unique_ptr<Replay>> idle_;  // the last one that was used at the end
  std::size_t num_taken_ = 0;
  // Since idle ones were last given up: calls, and how many went on at once.
  std::size_t num_calls_ = 0, most_at_once_ = 0;
};

// {output: input} as pairs; CallError where one is no name.
std::vector<client::Carried> carried_pairs(const nb::dict& carry);

// A Value(name, dtype, shape) for each.
nb::tuple inputs_of(const Signature& signature);
nb::tuple outputs_of(const Signature& signature);

void add_function(nb::module_& module);

}  // namespace hearth::python
