// Signature: what a call takes and gives, in the model's order: which argument is which input of the plan, which result
// which of its outputs.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hearth/onnx.h"
#include "hearth/prepare.h"

namespace hearth::python {

namespace nb = nanobind;

struct Parameter {
  // kFixed: its value is part of the plan. kUnread: the model declares it, and nothing that is computed depends on it.
  enum class Kind { kInput, kFixed, kUnread };
  std::string name;
  std::string what;  // "input 'x'", for errors
  Kind kind = Kind::kInput;
  std::size_t place = 0;  // among the plan's inputs or fixed inputs
  DType dtype = DType::kF32;
  nb::object key;                         // the name as Python has it
  std::vector<std::string> lengths = {};  // "4", "batch"
  std::string stored = {};                // "int4": codes in u8 (onnx::ModelValue::stored)
};

struct Result {
  std::string name;
  std::size_t place = 0;  // among the plan's outputs
  DType dtype = DType::kF32;
  // Where its length depends on the data: the output that says it, and along which axis.
  std::optional<std::size_t> length_place = {};
  std::size_t length_axis = 0;
  std::vector<std::string> lengths = {};
  std::string stored = {};
};

struct Signature {
  std::vector<Parameter> parameters;
  std::vector<Result> results;
  std::vector<nb::object> variables;  // their names
  nb::object outputs_type;            // of a call with several results

  // The signature of a plan from a file: as the file says, else its inputs and outputs in their order.
  static Signature of(const client::PreparedPlan& plan);
  static Signature of(const client::PreparedPlan& plan, const onnx::ImportedModel& model);
  // The signature that `call` says; without results in it, those of the plan.
  static Signature of(const client::PreparedPlan& plan, const client::CallSignature& call);
  // Without the inputs and outputs that a stream carries. CallError for a name that is none.
  Signature without(const std::vector<client::Carried>& carried) const;
  nb::list parameter_names() const;
  nb::list result_names() const;

  // For PreparedPlan's exports.
  client::CallSignature call(const client::PreparedPlan& plan) const;

 private:
  void finish(const client::PreparedPlan& plan);
};

}  // namespace hearth::python
