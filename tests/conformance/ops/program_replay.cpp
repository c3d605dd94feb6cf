// A program on a device of this process, as a client loads and replays it.
#include <cstring>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/reference/wire_expr.h"
#include "tests/conformance/ops/program.h"
#include "tests/support/plan_in_memory.h"

namespace hearth::conformance {

absl::StatusOr<Tensors> Program::replay(const Feed& feed) {
  const absl::StatusOr<const runtime::Device*> device = replay_device();
  if (!device.ok()) return device.status();
  const test::PlanInMemory made = test::plan_in_memory(lowered_.plan(), artifacts_);
  runtime::LoadRequest request = made.request();
  request.device = *device;
  std::map<std::string, const HostTensor*> inputs;
  for (const v1::Node& node : graph_.nodes()) {
    if (node.op() != v1::INPUT && node.op() != v1::PARAMETER) continue;
    const HostTensor& value = feed.inputs.at(inputs.size());
    inputs[node.name()] = &value;
    if (node.op() == v1::PARAMETER) request.parameters[node.name()] = {value.bytes.data(), value.bytes.size(), nullptr};
  }
  const auto plan = runtime::LoadedPlan::create(request);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<runtime::Instance> instance = runtime::create_instance(*plan, {.threads = 1});
  if (!instance.ok()) return instance.status();
  if (absl::Status set = instance->set_vars(feed.vars); !set.ok()) return set;
  for (const auto& input : (*plan)->inputs()) {
    const auto view = instance->input(input.name);
    if (!view.ok()) return view.status();
    const HostTensor& value = *inputs.at(input.name);
    if (view->size_bytes != value.bytes.size())
      return absl::InternalError(absl::StrCat(input.name, " has ", view->size_bytes, " bytes in the plan"));
    if (view->size_bytes != 0) std::memcpy(view->data, value.bytes.data(), view->size_bytes);
  }
  // Twice: the second has the device's memory as the first left it.
  Tensors results;
  for (int replay = 0; replay < 2; ++replay) {
    if (absl::Status ran = instance->execute(); !ran.ok()) return ran;
    Tensors outputs;
    for (const v1::GraphOutput& wanted : graph_.outputs()) {
      const auto view = instance->output(wanted.name());
      if (!view.ok()) return view.status();
      HostTensor& tensor = outputs.emplace_back();
      tensor.dtype = static_cast<ir::Scalar>(view->dtype);
      tensor.shape = view->shape;
      const auto* bytes = static_cast<const std::uint8_t*>(view->data);
      tensor.bytes.assign(bytes, bytes + view->size_bytes);
    }
    if (replay > 0 && outputs != results) return absl::InternalError("a second replay gives another result");
    results = std::move(outputs);
  }
  return results;
}

}  // namespace hearth::conformance
