#include "client/cli/load_model.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "client/cli/array_file.h"
#include "client/cli/format.h"
#include "client/cli/input_file.h"
#include "client/cli/plan_parameters.h"
#include "client/cli/print.h"
#include "client/cli/weights_report.h"
#include "client/files/plan_file_contents.h"
#include "client/onnx/dim_search.h"
#include "client/onnx/model_file.h"
#include "client/onnx/test_data.h"
#include "client/tensor/elements.h"
#include "client/trace/encoded_graph.h"
#include "hearth/error.h"
#include "hearth/npy.h"

namespace hearth::cli {
namespace {

// Every array in the dtype of its input, or an error.
absl::Status match_arrays(const std::string& path, Model& model) {
  for (const onnx::ModelValue& input : model.imported.inputs) {
    const auto found = model.arrays.find(input.name);
    if (found == model.arrays.end()) continue;
    const DType given = found->second.dtype;
    const auto stored = model.stored.find(input.name);
    if (stored != model.stored.end() && stored->second != input.stored) {
      return absl::InvalidArgumentError(str_cat(path, ": input '", input.name, "' has type ",
                                                input.stored.empty() ? dtype_name(input.dtype) : input.stored,
                                                " but --input gives ", stored->second));
    }
    auto array = client::as_dtype(std::move(found->second), input.dtype);
    if (!array) {
      return absl::InvalidArgumentError(str_cat(
          path, ": input '", input.name, "' has type ", dtype_name(input.dtype), " but --input gives ",
          dtype_name(given),
          given == DType::kF64 && input.dtype == DType::kF32 ? "; convert it with .astype(numpy.float32)" : ""));
    }
    found->second = *std::move(array);
  }
  return absl::OkStatus();
}

// `path`: the model's, which may have been standard input.
absl::Status read_arrays(const std::string& path, const ModelFlags& flags, Model& model) {
  bool is_read = is_kept_stream(path);
  for (const std::string& text : flags.inputs) {
    HEARTH_ASSIGN_OR_RETURN(auto flag, split_flag("--input", text, kArrayForm));
    if (flag.second == "-" && std::exchange(is_read, true))
      return usage_error("--input ", text, ": standard input was read already; give the array as a file");
    HEARTH_ASSIGN_OR_RETURN(ArrayFile given, read_array_file("--input", flag.second));
    model.files.reads(given.path, str_cat("the array of --input ", flag.first));
    if (!given.stored.empty()) model.stored.insert_or_assign(flag.first, given.stored);
    model.arrays.insert_or_assign(flag.first, std::move(given.array));
  }
  return absl::OkStatus();
}

absl::Status read_test_data(const std::string& folder, const onnx::ModelFile& file, Model& model) {
  HEARTH_ASSIGN_OR_RETURN(onnx::TestData data, onnx::read_test_data(folder, file));
  for (auto& [name, array] : data.inputs) model.arrays.emplace(name, std::move(array));
  for (auto& [name, array] : data.outputs) model.expected.emplace(name, std::move(array));
  for (const std::string& path : data.files) model.files.reads(path, "an array of --test-data");
  return absl::OkStatus();
}

}  // namespace

client::Dim dim_of(const v1::Expr& expr, const v1::Plan& plan) {
  using Token = v1::ExprToken;
  std::vector<client::Dim> stack;
  for (const Token& token : expr.tokens()) {
    if (token.kind() == Token::CONST) {
      stack.emplace_back(token.value());
    } else if (token.kind() == Token::VAR) {
      const v1::Variable& variable = plan.vars(static_cast<int>(token.value()));
      stack.push_back(client::Dim::variable(client::Variable{
          variable.name(), variable.min(), variable.max(), {}, std::max<std::int64_t>(1, variable.unit())}));
    } else {
      const client::Dim b = stack.back();
      stack.pop_back();
      client::Dim& a = stack.back();
      a = token.kind() == Token::ADD        ? a + b
          : token.kind() == Token::SUB      ? a - b
          : token.kind() == Token::MUL      ? a * b
          : token.kind() == Token::FLOORDIV ? a / b
          : token.kind() == Token::FLOORMOD ? a % b
          : token.kind() == Token::MIN      ? min(a, b)
                                            : max(a, b);
    }
  }
  return stack.back();
}

namespace {

// Types of codes, where the plan file says them; a file that says nothing of calls takes any.
void name_stored(const v1::PlanFileCall& call, Model& model) {
  for (onnx::ModelValue& input : model.imported.inputs) {
    const auto named = std::ranges::find(call.inputs(), input.name, &v1::PlanFileCall::Input::name);
    const auto given = model.stored.find(input.name);
    if (named != call.inputs().end()) {
      input.stored = named->stored();
    } else if (given != model.stored.end() && input.dtype == DType::kU8) {
      input.stored = given->second;
    }
  }
  for (onnx::ModelValue& result : model.imported.results) {
    const auto named = std::ranges::find(call.results(), result.name, &v1::PlanFileCall::Result::name);
    if (named != call.results().end()) result.stored = named->stored();
  }
}

// Inputs and results as the plan has them, and arrays for the inputs.
absl::StatusOr<Model> model_of(const client::PlanFileContents& contents, const std::string& path,
                               const ModelFlags& flags) {
  const v1::Plan& plan = contents.plan;
  Model model;
  std::set<std::string> fixed;
  for (const v1::PlanFileFixedInput& input : contents.manifest.fixed_inputs()) fixed.insert(input.name());
  for (const v1::PlanBuffer& buffer : plan.buffers()) {
    HEARTH_ASSIGN_OR_RETURN(const client::Shape shape, shape_of(buffer, plan));
    const onnx::ModelValue value{buffer.name(), static_cast<DType>(buffer.dtype()), shape};
    if (buffer.kind() == v1::PlanBuffer::INPUT) model.imported.inputs.push_back(value);
    if (buffer.kind() != v1::PlanBuffer::OUTPUT) continue;
    model.imported.results.push_back(value);
    model.imported.outputs.emplace_back(buffer.name(), client::Tensor());
  }
  HEARTH_RETURN_IF_ERROR(read_arrays(path, flags, model));
  name_stored(contents.manifest.call(), model);
  for (const auto& [name, array] : model.arrays) {
    const auto& inputs = model.imported.inputs;
    const auto same = [&](const onnx::ModelValue& input) { return input.name == name; };
    if (fixed.count(name) == 0 && std::none_of(inputs.begin(), inputs.end(), same)) {
      return absl::InvalidArgumentError(str_cat(path, ": the plan has no input '", name, "'"));
    }
  }
  HEARTH_RETURN_IF_ERROR(match_arrays(path, model));
  return model;
}

// Conditions, shapes and trip counts are small and of whole numbers.
bool may_steer(const client::Array& array) {
  constexpr std::size_t kMaxElements = 64;
  const bool is_whole = array.dtype == DType::kBool || is_integer(array.dtype);
  return is_whole && array.bytes.size() <= kMaxElements * dtype_bytes(array.dtype);
}

// Says which inputs that --input gave turned out to decide what is computed.
void note_fixed(const ModelFlags& flags, const runtime::FixedInputs& inputs) {
  for (const runtime::FixedInput& input : inputs) {
    const auto given = [&](const std::string& text) { return text.starts_with(input.name + "="); };
    if (std::any_of(flags.consts.begin(), flags.consts.end(), given)) continue;
    note("input '", input.name, "' decides what the model computes: it is prepared for the value given, as by --const");
  }
}

// What was decided when the plan was exported cannot be chosen again.
absl::Status refuse_plan_options(const std::string& path, const std::string& device, const ModelFlags& flags) {
  const auto refuse = [&](const std::string& option) {
    return usage_error(option, ": ", path, " was compiled when it was exported; give the option to hearth export");
  };
  const bool is_of_kind = flags.device && flags.device->substr(0, flags.device->find(':')) == device;
  if (flags.device && !is_of_kind) return refuse("--device " + *flags.device);
  if (flags.opt_level) return refuse(str_cat("--opt-level ", *flags.opt_level));
  if (flags.fast_math) return refuse(*flags.fast_math ? "--fast-math" : "--no-fast-math");
  if (flags.direct_convolutions)
    return refuse(*flags.direct_convolutions ? "--direct-convolutions" : "--no-direct-convolutions");
  if (!flags.consts.empty()) return refuse("--const " + flags.consts[0]);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<client::Shape> shape_of(const v1::PlanBuffer& buffer, const v1::Plan& plan) {
  return client::catch_jit_error([&] {
    client::Shape shape;
    for (const v1::Expr& expr : buffer.shape()) shape.push_back(dim_of(expr, plan));
    return shape;
  });
}

absl::Status refuse_plan_file(const std::string& path, const std::string& remedy) {
  return absl::InvalidArgumentError(str_cat(
      path, " is a plan file: it holds compiled kernels for one kind of machine, not the model's graph; ", remedy));
}

// The file's, and its folder's, since many are called model.onnx; UTF-8 of one line.
static std::string name_of(const std::string& path) {
  if (runtime::is_stream(path)) return "";
  std::error_code error;
  const std::filesystem::path file = std::filesystem::absolute(path, error).lexically_normal();
  const std::filesystem::path folder = file.parent_path().filename();
  return printable((folder / file.filename()).string());
}

absl::StatusOr<Model> load_model(const std::string& path, const ModelFlags& flags) {
  if (client::is_plan_file(path)) {
    return refuse_plan_file(path, "give the model that it was exported from");
  }
  const auto start = std::chrono::steady_clock::now();
  Model model;
  model.name = name_of(path);
  HEARTH_ASSIGN_OR_RETURN(onnx::ImportOptions options, flags.import_options());
  HEARTH_RETURN_IF_ERROR(read_arrays(path, flags, model));
  HEARTH_ASSIGN_OR_RETURN(const onnx::ModelFilePtr file, onnx::read_model(path));
  if (!flags.test_data.empty()) {
    HEARTH_RETURN_IF_ERROR(read_test_data(flags.test_data, *file, model));
  }
  for (const auto& [name, array] : model.arrays) {
    options.input_shapes[name] = array.shape;
    if (may_steer(array)) options.known_values[name] = array;
  }
  model.steering = onnx::steering_values(file);
  model.files.reads(path, "the model");
  for (const std::string& data : file->data_files()) model.files.reads(data, "a data file of the model");
  HEARTH_ASSIGN_OR_RETURN(auto imported, onnx::import_model(file, options));
  model.imported = std::move(imported);
  note_fixed(flags, model.imported.fixed_inputs);
  for (const std::string& warning : model.imported.warnings) note(path, ": warning: ", warning);
  HEARTH_RETURN_IF_ERROR(match_arrays(path, model));
  auto traced = client::encode_graph(model.imported.outputs);
  if (!traced.ok())
    return absl::Status(traced.status().code(), str_cat(path, ": ", std::string(traced.status().message())));
  model.traced = *std::move(traced);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  print_detail(path, " was read and traced in ", human_time(time.count()));
  note_weights(flags.weights, model.imported.weights);
  return model;
}

absl::StatusOr<PlanOfFile> load_plan_of(const std::string& path, const ModelFlags& flags,
                                        const std::vector<std::string>& parameters) {
  HEARTH_ASSIGN_OR_RETURN(const client::PlanFileContents contents, client::read_plan_file(path));
  HEARTH_ASSIGN_OR_RETURN(const client::PrepareConfig prepare, flags.prepare_config());
  client::LoadPlanConfig config;
  config.threads = prepare.threads;
  config.subnormals = prepare.subnormals;
  HEARTH_ASSIGN_OR_RETURN(auto given, read_parameters(path, contents, parameters, flags));
  config.parameters = std::move(given);
  if (flags.device && contents.plan.target().device() == flags.device->substr(0, flags.device->find(':')))
    config.device = *flags.device;  // which of them
  HEARTH_ASSIGN_OR_RETURN(client::PreparedPlan plan, client::load_plan(path, config));
  if (!flags.dims.empty() && parameters.empty()) {
    return usage_error("--dim ", flags.dims[0], ": the lengths of ", path,
                       " were chosen when it was exported; see --var");
  }
  if (flags.weights != onnx::Weights::kF32 && parameters.empty()) {
    return usage_error("--weights ", weights_name(flags.weights), ": the weights of ", path,
                       " are stored as they were when it was exported");
  }
  if (absl::Status fixed = refuse_plan_options(path, contents.plan.target().device(), flags); !fixed.ok()) return fixed;
  HEARTH_ASSIGN_OR_RETURN(Model model, model_of(contents, path, flags));
  model.files.reads(path, "the plan file");
  for (const std::string& file : parameters) model.files.reads(file, "a file of --parameters");
  return PlanOfFile{std::move(model), std::move(plan)};
}

}  // namespace hearth::cli
