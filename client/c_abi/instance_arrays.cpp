// All arrays of an instance in one call, and its tensors of DLPack.
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/c_abi/handles.h"
#include "hearth/dlpack.h"

using hearth::c_abi::check_given;
using hearth::c_abi::check_index;
using hearth::c_abi::guarded;
using hearth::client::ConstView;
using hearth::client::Instance;
using hearth::client::MutableView;

namespace {

template <typename Tensor>
absl::Status bind_dlpack(Instance& run, const char* name, Tensor* tensor) {
  HEARTH_ASSIGN_OR_RETURN(const ConstView input, run.input_view(name));
  HEARTH_ASSIGN_OR_RETURN(const hearth::client::ArrayView array, hearth::client::view_of_dlpack(tensor));
  if (array.dtype != input.dtype || array.shape != input.shape) {
    return absl::InvalidArgumentError(hearth::str_cat(
        "input '", name, "' is ", hearth::dtype_name(input.dtype), " [", absl::StrJoin(input.shape, ", "),
        "], the tensor is ", hearth::dtype_name(array.dtype), " [", absl::StrJoin(array.shape, ", "), "]"));
  }
  // Once to be refused while the tensor is still the caller's, and once, as before, with its owner.
  HEARTH_RETURN_IF_ERROR(run.bind_input(name, array.data, array.size_bytes));
  HEARTH_ASSIGN_OR_RETURN(const hearth::client::ImportedArray taken, hearth::client::from_dlpack(tensor));
  return run.bind_input(name, array.data, array.size_bytes, taken.owner);
}

// A call on an instance with a name and a tensor.
template <typename Tensor, typename F>
hearth_code tensor_call(hearth_instance* instance, const char* name, Tensor* tensor, hearth_error** error, F&& call) {
  return guarded(error, [&]() -> absl::Status {
    const absl::Status given = check_given({{instance, "instance"}, {name, "name"}, {tensor, "tensor"}});
    return given.ok() ? call(instance->instance) : given;
  });
}

absl::Status check_arrays(const hearth_array* arrays, std::size_t count, const char* name) {
  return count > 0 ? check_given({{arrays, name}}) : absl::OkStatus();
}

}  // namespace

extern "C" {

hearth_code hearth_instance_bind_input_dlpack(hearth_instance* instance, const char* name,
                                              struct DLManagedTensor* tensor, hearth_error** error) {
  return tensor_call(instance, name, tensor, error, [&](Instance& run) { return bind_dlpack(run, name, tensor); });
}

hearth_code hearth_instance_bind_input_dlpack_versioned(hearth_instance* instance, const char* name,
                                                        struct DLManagedTensorVersioned* tensor, hearth_error** error) {
  return tensor_call(instance, name, tensor, error, [&](Instance& run) { return bind_dlpack(run, name, tensor); });
}

hearth_code hearth_instance_output_dlpack(hearth_instance* instance, const char* name, struct DLManagedTensor** tensor,
                                          hearth_error** error) {
  return tensor_call(instance, name, tensor, error, [&](const Instance& run) -> absl::Status {
    HEARTH_ASSIGN_OR_RETURN(const ConstView output, run.output(name));
    const absl::StatusOr<DLManagedTensor*> made = hearth::client::to_dlpack(hearth::client::copy_of(output));
    if (made.ok()) *tensor = *made;
    return made.status();
  });
}

hearth_code hearth_instance_output_dlpack_versioned(hearth_instance* instance, const char* name,
                                                    struct DLManagedTensorVersioned** tensor, hearth_error** error) {
  return tensor_call(instance, name, tensor, error, [&](const Instance& run) -> absl::Status {
    HEARTH_ASSIGN_OR_RETURN(const ConstView output, run.output(name));
    const absl::StatusOr<DLManagedTensorVersioned*> made =
        hearth::client::to_dlpack_versioned(hearth::client::copy_of(output), DLPACK_FLAG_BITMASK_IS_COPIED);
    if (made.ok()) *tensor = *made;
    return made.status();
  });
}

hearth_code hearth_instance_set_shapes(hearth_instance* instance, const hearth_shape* shapes, size_t num_shapes,
                                       hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{instance, "instance"}}));
    if (num_shapes > 0 && shapes == nullptr) return absl::InvalidArgumentError("shapes is NULL");
    std::vector<Instance::ShapeView> views;
    for (size_t i = 0; i < num_shapes; ++i)
      views.emplace_back(shapes[i].lengths, shapes[i].lengths ? shapes[i].rank : 0);
    return instance->instance.set_shapes(views);
  });
}

hearth_code hearth_instance_output_shape(hearth_instance* instance, size_t index, int64_t* lengths, size_t* size_bytes,
                                         hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{instance, "instance"}}));
    if (absl::Status checked = check_index(index, instance->instance.num_outputs(), "output"); !checked.ok())
      return checked;
    if (size_bytes != nullptr) *size_bytes = instance->instance.output_bytes(index);
    instance->instance.output_shape(index, &instance->shape);
    if (lengths != nullptr) std::copy(instance->shape.begin(), instance->shape.end(), lengths);
    return absl::OkStatus();
  });
}

hearth_code hearth_instance_execute_arrays(hearth_instance* instance, const hearth_array* inputs, size_t num_inputs,
                                           const hearth_array* outputs, size_t num_outputs, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{instance, "instance"}}));
    HEARTH_RETURN_IF_ERROR(check_arrays(inputs, num_inputs, "inputs"));
    HEARTH_RETURN_IF_ERROR(check_arrays(outputs, num_outputs, "outputs"));
    instance->inputs.clear();
    instance->outputs.clear();
    for (size_t i = 0; i < num_inputs; ++i) instance->inputs.push_back({inputs[i].data, inputs[i].size_bytes});
    for (size_t i = 0; i < num_outputs; ++i) instance->outputs.push_back({outputs[i].data, outputs[i].size_bytes});
    return instance->instance.execute(instance->inputs, instance->outputs);
  });
}

}  // extern "C"
