// Graphs of the C ABI: ONNX models as the importer records them.
#include "base/status_macros.h"
#include "base/text.h"
#include "client/c_abi/handles.h"
#include "hearth/array.h"

using hearth::c_abi::check_given;
using hearth::c_abi::guarded;

namespace {

absl::Status import(absl::StatusOr<hearth::onnx::ImportedModel> model, hearth_graph** graph) {
  HEARTH_RETURN_IF_ERROR(model.status());
  *graph = new hearth_graph(*std::move(model));
  return absl::OkStatus();
}

hearth::onnx::ImportOptions or_default(const hearth_import_options* options) {
  return options == nullptr ? hearth::onnx::ImportOptions() : options->options;
}

}  // namespace

extern "C" {

hearth_import_options* hearth_import_options_new(void) { return new (std::nothrow) hearth_import_options(); }
void hearth_import_options_free(hearth_import_options* options) { delete options; }

hearth_code hearth_import_options_set_dim(hearth_import_options* options, const char* name, int64_t min, int64_t max,
                                          hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{options, "options"}, {name, "name"}}));
    if (min < 0 || max < min) {
      return absl::InvalidArgumentError(
          hearth::str_cat("dimension '", name, "' from ", min, " to ", max, "; expected 0 <= min <= max"));
    }
    options->options.dims.insert_or_assign(name, hearth::onnx::DimRange(min, max));
    return absl::OkStatus();
  });
}

hearth_code hearth_import_options_set_dim_parts(hearth_import_options* options, const char* name, int64_t min,
                                                int64_t max, const int64_t* ends, size_t num_ends,
                                                const int64_t* points, size_t num_points, hearth_error** error) {
  if (const hearth_code code = hearth_import_options_set_dim(options, name, min, max, error); code != HEARTH_OK)
    return code;
  return guarded(error, [&]() -> absl::Status {
    if (num_ends > 0 && ends == nullptr) return absl::InvalidArgumentError("ends is NULL");
    if (num_points > 0 && points == nullptr) return absl::InvalidArgumentError("points is NULL");
    hearth::client::RangeParts parts;
    if (num_ends > 0) parts.ends.assign(ends, ends + num_ends);
    if (num_points > 0) parts.points.assign(points, points + num_points);
    options->options.dims.insert_or_assign(name, hearth::onnx::DimRange(min, max, std::move(parts)));
    return absl::OkStatus();
  });
}

hearth_code hearth_import_options_set_constant(hearth_import_options* options, const char* input, hearth_dtype dtype,
                                               const int64_t* shape, size_t rank, const void* data, size_t size_bytes,
                                               hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{options, "options"}, {input, "input"}}));
    if (rank > 0 && shape == nullptr) return absl::InvalidArgumentError("shape is NULL");
    const auto type = hearth::dtype_from_wire(dtype);
    if (!type) return absl::InvalidArgumentError(hearth::str_cat("dtype is ", static_cast<int>(dtype)));
    const hearth::client::ArrayView view(data, size_bytes, *type, std::vector<std::int64_t>(shape, shape + rank));
    if (absl::Status checked = check_array(view, hearth::str_cat("the constant of input '", input, "'")); !checked.ok())
      return checked;
    options->options.constants[input] = {
        *type, view.shape, size_bytes == 0 ? std::string() : std::string(static_cast<const char*>(data), size_bytes)};
    return absl::OkStatus();
  });
}

hearth_code hearth_import_options_set_weights(hearth_import_options* options, hearth_dtype dtype,
                                              hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{options, "options"}}));
    switch (dtype) {
      case HEARTH_F32:
        options->options.weights = hearth::onnx::Weights::kF32;
        return absl::OkStatus();
      case HEARTH_BF16:
        options->options.weights = hearth::onnx::Weights::kBf16;
        return absl::OkStatus();
      case HEARTH_I8:
        options->options.weights = hearth::onnx::Weights::kInt8;
        return absl::OkStatus();
      default: {
        const char* name = hearth_dtype_name(dtype);
        return absl::InvalidArgumentError(hearth::str_cat(
            "weights cannot be stored as ", name == nullptr ? "what is no dtype" : name, "; expected f32, bf16 or i8"));
      }
    }
  });
}

hearth_code hearth_graph_from_onnx_file(const char* path, const hearth_import_options* options, hearth_graph** graph,
                                        hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{path, "path"}, {graph, "graph"}}));
    return import(hearth::onnx::import_model(std::string(path), or_default(options)), graph);
  });
}

hearth_code hearth_graph_from_onnx(const void* model, size_t size_bytes, const char* name,
                                   const hearth_import_options* options, hearth_graph** graph, hearth_error** error) {
  return guarded(error, [&]() -> absl::Status {
    HEARTH_RETURN_IF_ERROR(check_given({{model, "model"}, {graph, "graph"}}));
    return import(hearth::onnx::import_model_bytes({static_cast<const char*>(model), size_bytes},
                                                   name == nullptr ? "the model" : name, or_default(options)),
                  graph);
  });
}

void hearth_graph_free(hearth_graph* graph) { delete graph; }

}  // extern "C"
