#include "client/onnx/dim_search.h"

#include <algorithm>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include "client/onnx/cache_lengths.h"
#include "client/onnx/model_check.h"
#include "client/onnx/model_file.h"
#include "client/onnx/model_summary.h"
#include "client/tensor/elements.h"
#include "client/tensor/equal_lengths.h"
#include "hearth/error.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

// Powers of two first: what is divided by strides or patch sizes is mostly divided by these. Then colours, bands of a
// spectrum, a second of audio, and the sides of common pictures.
constexpr std::int64_t kLengths[] = {16,  64,   1,    2, 4,  8,     32,  128, 256, 512,
                                     576, 1024, 4096, 3, 80, 16000, 224, 288, 640};
// What people use: frames, windows of audio with and without context, sides of pictures.
constexpr std::int64_t kUsual[] = {1, 16, 64, 128, 224, 256, 288, 512, 576, 640, 1024};
constexpr std::size_t kMaxValues = 3;          // of an input that decides something
constexpr std::int64_t kOthers[] = {64, 256};  // while one dimension is tried alone

bool is_called_batch(const std::string& name) {
  return absl::StrContains(absl::AsciiStrToLower(name), "batch") || name == "N";
}

// Dimensions that are called so, or are only ever the first axis of an input.
std::set<std::string> batches_of(const ModelSummary& summary) {
  std::set<std::string> first, other;
  for (const SummaryValue& input : summary.inputs) {
    for (std::size_t axis = 0; axis < input.shape.size(); ++axis) {
      const std::string& name = input.shape[axis].name;
      // A model's only axis is rather its length than its batch.
      const bool is_batch = is_called_batch(name) || (axis == 0 && input.shape.size() > 1);
      (is_batch ? first : other).insert(name);
    }
  }
  for (const std::string& name : other) first.erase(name);
  return first;
}

// The elements of constants that nodes give or initializers hold; null for anything else.
class Constants {
 public:
  explicit Constants(const ModelFilePtr& model) : model_(model) {
    for (const ::hearth_onnx::TensorProto& tensor : model->proto().graph().initializer())
      tensors_[tensor.name()] = &tensor;
    for_each_node(model->proto(), [&](const ::hearth_onnx::NodeProto& node, const ::hearth_onnx::FunctionProto*) {
      if (node.op_type() != "Constant" || node.output_size() != 1) return;
      for (const ::hearth_onnx::AttributeProto& attribute : node.attribute())
        if (attribute.has_t()) tensors_[node.output(0)] = &attribute.t();
    });
  }

  std::optional<std::int64_t> integer(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) return std::nullopt;
    const auto value = client::catch_jit_error([&] { return to_host_tensor(*found->second, model_); });
    if (!value.ok() || value->size() != 1 || !is_integer(value->dtype())) return std::nullopt;
    return value->integer(0);
  }

 private:
  const ModelFilePtr& model_;
  std::map<std::string, const ::hearth_onnx::TensorProto*> tensors_;
};

bool compares(const std::string& op) {
  return op == "Equal" || op == "Less" || op == "LessOrEqual" || op == "Greater" || op == "GreaterOrEqual";
}

// One search, with the constants that `options` holds.
class Search {
 public:
  Search(const ModelFilePtr& model, const ImportOptions& given, const ModelSummary& summary)
      : model_(model), options_(given), batches_(batches_of(summary)) {
    std::set<std::string> fixed_inputs;
    for (const SummaryValue& input : summary.inputs) {
      if (given.input_shapes.count(input.name) == 0) continue;
      for (const SummaryDim& dim : input.shape) fixed_inputs.insert(dim.name);
    }
    for (const std::string& name : summary.symbolic_dims) {
      if (given.dims.count(name) == 0 && fixed_inputs.count(name) == 0) result_.open.push_back(name);
    }
    for (const Cache& cache : caches_of(summary)) {
      result_.carried.emplace_back(cache.output, cache.input);
      const std::string added = new_length_of(summary, cache);
      if (added.empty()) continue;
      pasts_.insert(cache.past);
      added_.insert(added);
      sums_.emplace(cache.total, cache.past + " + " + added);
    }
  }

  absl::StatusOr<DimSearch> run() {
    find_expressions();
    if (!find()) return first_;
    result_.lengths = options_.dims;
    result_.expressions = options_.dim_expressions;
    result_.constants = options_.constants;
    for (const FixedInput& input : fixed_) result_.constants[input.name] = {input.dtype, input.shape, input.bytes};
    for (const std::string& name : result_.open) explore(name);
    find_together();
    return std::move(result_);
  }

 private:
  using FixedInput = runtime::FixedInput;

  bool works() {
    auto imported = import_model(model_, options_);
    if (first_.ok()) first_ = imported.status();
    if (imported.ok()) fixed_ = std::move(imported->fixed_inputs);
    return imported.ok();
  }

  void set_all(std::int64_t length, bool one_batch) {
    for (const std::string& name : result_.open) {
      options_.dims.insert_or_assign(name, one_batch && batches_.count(name) > 0 ? 1 : length);
    }
  }

  // Which lengths follow from others, as operators say it of lengths of any size; lengths found one by one may hold
  // only because a 1 is broadcast.
  void find_expressions() {
    const ImportOptions given = options_;
    const std::vector<std::string> open = result_.open;
    for (const auto& [total, sum] : sums_) {  // what a cache holds is what was there and what is new
      if (std::erase(result_.open, total) > 0) options_.dim_expressions.insert_or_assign(total, sum);
    }
    bool is_known = true;
    while (is_known) {
      for (const std::string& name : result_.open) options_.dims.insert_or_assign(name, DimRange(1, 64));
      const absl::Status status = import_model(model_, options_).status();
      const std::string equal = client::equal_lengths_of(status);
      const std::string name = equal.substr(0, equal.find('='));
      is_known = std::erase(result_.open, name) > 0;
      if (is_known) {
        options_.dim_expressions.insert_or_assign(name, equal.substr(name.size() + 1));
        options_.dims.erase(name);
      }
    }
    for (const std::string& name : result_.open) options_.dims.erase(name);
    if (result_.open.empty() || works_with_equal()) return;
    options_ = given;
    result_.open = open;
  }
  bool works_with_equal() {
    const ImportOptions before = options_;
    const absl::Status first = first_;
    const bool works = find();
    options_ = before;
    first_ = first;
    return works;
  }

  // One dimension after the other, the rest being `others`.
  bool find_each(std::int64_t others) {
    for (const std::string& name : result_.open) {
      for (const std::int64_t length : kLengths) {
        set_all(others, /*one_batch=*/true);
        options_.dims.insert_or_assign(name, length);
        if (works()) return true;
      }
    }
    return false;
  }

  bool find_equal(bool one_batch) {
    for (const std::int64_t length : kLengths) {
      set_all(length, one_batch);
      if (works()) return true;
    }
    return false;
  }

  bool find() {
    if (result_.open.empty()) return works();
    if (find_equal(/*one_batch=*/true)) return true;
    const bool several = result_.open.size() > 1;
    if (several && find_each(1)) return true;
    if (find_equal(/*one_batch=*/false)) return true;
    for (const std::int64_t others : kOthers)
      if (several && find_each(others)) return true;
    return false;
  }

  // A range, or else usual lengths, of one dimension.
  void explore(const std::string& name) {
    const DimRange length = options_.dims.at(name);
    const std::int64_t least = pasts_.contains(name) ? 0 : added_.contains(name) ? 1 : length.min;
    const DimRange range(least, 4 * length.max);
    options_.dims.insert_or_assign(name, range);
    if (import_model(model_, options_).ok()) {
      result_.ranged.push_back(name);
      result_.ranges.emplace(name, range);
    } else {
      TriedLengths& tried = result_.tried[name];
      for (const std::int64_t usual : kUsual) {
        options_.dims.insert_or_assign(name, usual);
        (import_model(model_, options_).ok() ? tried.hold : tried.fail).push_back(usual);
      }
      if (!std::binary_search(std::begin(kUsual), std::end(kUsual), length.min))
        tried.hold.insert(std::upper_bound(tried.hold.begin(), tried.hold.end(), length.min), length.min);
    }
    options_.dims.insert_or_assign(name, length);
  }

  // Finds those of the ranges that hold at once, as each does alone: batches are the first to be left out.
  void find_together() {
    std::vector<std::string> names = result_.ranged;
    std::stable_partition(names.begin(), names.end(),
                          [&](const std::string& name) { return !batches_.contains(name); });
    const std::map<std::string, DimRange> lengths = options_.dims;
    while (!names.empty()) {
      for (const std::string& name : names) options_.dims.insert_or_assign(name, result_.ranges.at(name));
      const bool holds = import_model(model_, options_).ok();
      options_.dims = lengths;
      if (holds) break;
      names.pop_back();
    }
    for (const std::string& name : names) result_.together.emplace(name, result_.ranges.at(name));
  }

  const ModelFilePtr& model_;
  ImportOptions options_;
  const std::set<std::string> batches_;
  std::set<std::string> pasts_, added_;      // lengths that are 0 at first, and those that are 1 in most calls
  std::map<std::string, std::string> sums_;  // lengths that are sums of others, as caches have them
  DimSearch result_;
  runtime::FixedInputs fixed_;             // of the last import that worked
  absl::Status first_ = absl::OkStatus();  // why the lengths tried first do not do
};

}  // namespace

std::map<std::string, std::vector<client::Array>> steering_values(const ModelFilePtr& model) {
  std::map<std::string, std::set<std::int64_t>> compared;
  std::map<std::string, DType> types;
  for (const SummaryValue& input : summarize(model).inputs) {
    const std::optional<DType> dtype = dtype_from_name(input.type);
    const bool is_scalar =
        input.has_shape && (input.shape.empty() || (input.shape.size() == 1 && input.shape[0].length == 1));
    if (!dtype || !is_scalar || input.has_default || (*dtype != DType::kBool && !is_integer(*dtype))) continue;
    types.emplace(input.name, *dtype);
    compared[input.name];
  }
  const Constants constants(model);
  for_each_node(model->proto(), [&](const ::hearth_onnx::NodeProto& node, const ::hearth_onnx::FunctionProto*) {
    if (!compares(node.op_type()) || node.input_size() != 2) return;
    for (const int side : {0, 1}) {
      const auto input = compared.find(node.input(side));
      if (input == compared.end()) continue;
      if (const auto value = constants.integer(node.input(1 - side))) input->second.insert(*value);
    }
  });
  std::map<std::string, std::vector<client::Array>> values;
  for (auto& [name, found] : compared) {
    std::vector<std::int64_t> list(found.begin(), found.end());
    if (types.at(name) == DType::kBool) list = {1, 0};
    for (const std::int64_t other : {0, 1, 2}) {
      if (types.at(name) == DType::kBool || found.count(other) > 0) continue;
      list.push_back(other);
      break;
    }
    for (const std::int64_t value : list)
      if (client::fits(value, types.at(name)))
        values[name].push_back(client::array_of(std::vector<std::int64_t>{value}, {}));
  }
  return values;
}

absl::StatusOr<DimSearch> find_dims(const ModelFilePtr& model, const ImportOptions& given) {
  const ModelSummary summary = summarize(model);
  const auto steering = steering_values(model);
  std::size_t most = 1;
  for (const auto& [name, values] : steering) most = std::max(most, std::min(values.size(), kMaxValues));
  absl::Status first = absl::OkStatus();
  // Values are taken only by what cannot be imported without: known, not constant.
  for (std::size_t i = 0; i < most; ++i) {
    ImportOptions options = given;
    for (const auto& [name, values] : steering) {
      if (options.constants.count(name) == 0 && !values.empty())
        options.known_values[name] = values[std::min(i, values.size() - 1)];
    }
    absl::StatusOr<DimSearch> found = Search(model, options, summary).run();
    if (found.ok()) {
      for (const auto& [name, values] : steering) {  // the last is one that it is not compared with
        if (values.size() > 1) found->compared[name].assign(values.begin(), values.end() - 1);
      }
      return found;
    }
    if (first.ok()) first = found.status();
  }
  return first;
}

}  // namespace hearth::onnx
