#include "client/onnx/dim_table.h"

#include "absl/strings/str_join.h"
#include "base/text.h"
#include "client/onnx/host_tensor.h"
#include "client/onnx/model_file.h"
#include "client/onnx/reject.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

std::string text_of(const DimRange& range) {
  if (range.min == range.max) return str_cat(range.min);
  return str_cat(range.min, ":", range.max, range.unit == 1 ? "" : str_cat(":", range.unit));
}

// "" for a number.
std::string symbolic_name(const ::hearth_onnx::ValueInfoProto& input, int axis) {
  return name_of_dim(input.name(), axis, input.type().tensor_type().shape().dim(axis));
}

}  // namespace

void DimTable::learn(const std::vector<::hearth_onnx::ValueInfoProto>& inputs) {
  for (const ::hearth_onnx::ValueInfoProto& input : inputs) {
    for (int i = 0; i < input.type().tensor_type().shape().dim_size(); ++i) {
      const std::string name = symbolic_name(input, i);
      if (!name.empty()) all_.add(name);
    }
  }
  name_by_axis(inputs);
  for (const auto& [name, text] : expressions_) define(name, text);
  for (const ::hearth_onnx::ValueInfoProto& input : inputs) learn_shape(input);
  check_all_given(inputs);
  for (const ::hearth_onnx::ValueInfoProto& input : inputs) check_computed(input);
}

// "INPUT.AXIS" is taken for an axis that has a name, too. Names that the model has not are refused before any length is
// missed.
void DimTable::name_by_axis(const std::vector<::hearth_onnx::ValueInfoProto>& inputs) {
  std::map<std::string, std::string> by_axis;
  std::set<std::string> known;
  for (const ::hearth_onnx::ValueInfoProto& input : inputs) {
    for (int i = 0; i < input.type().tensor_type().shape().dim_size(); ++i) {
      const std::string name = symbolic_name(input, i);
      if (name.empty()) continue;
      known.insert(name);
      by_axis.emplace(str_cat(input.name(), ".", i), name);
    }
  }
  for (const auto& [given, range] : options_.dims) {
    const auto alias = by_axis.find(given);
    const std::string& name = known.contains(given) || alias == by_axis.end() ? given : alias->second;
    if (!known.contains(name)) {
      reject(str_cat("--dim ", given, "=", text_of(range), ": the model has no such dimension (it has: ",
                     known.empty() ? "none" : absl::StrJoin(known, ", "), ")"));
    }
    const auto [before, is_new] = ranges_.emplace(name, range);
    if (!is_new && text_of(before->second) != text_of(range))
      reject(str_cat("--dim ", given, "=", text_of(range), ": dimension '", name, "' is ", text_of(before->second)));
  }
  for (const auto& [given, text] : options_.dim_expressions) {
    const auto alias = by_axis.find(given);
    expressions_.emplace(known.contains(given) || alias == by_axis.end() ? given : alias->second, text);
  }
}

void DimTable::define(const std::string& name, const std::string& text) {
  const auto refuse = [&](const auto&... why) { reject(str_cat("--dim ", name, "=", text, ": ", why...)); };
  const std::set<std::string> known = all_.plain();
  if (!known.contains(name))
    refuse("the model has no such dimension (it has: ", known.empty() ? "none" : absl::StrJoin(known, ", "), ")");
  if (ranges_.contains(name)) refuse("it is given as ", text_of(ranges_.at(name)), ", too");
  const DimExpression* expression = all_.define(name, text);
  if (expression == nullptr) refuse("it is neither a length nor an expression of dimensions");
  for (const std::string& part : expression->names()) {
    if (part == name) refuse("it depends on itself");
    if (const auto other = expressions_.find(part); other != expressions_.end())
      refuse("'", part, "' is ", other->second, ": write that out");
    if (!known.contains(part))
      refuse("the model has no dimension '", part, "' (it has: ", absl::StrJoin(known, ", "), ")");
  }
}

void DimTable::learn_shape(const ::hearth_onnx::ValueInfoProto& input) {
  const auto given = options_.input_shapes.find(input.name());
  if (given == options_.input_shapes.end()) return;
  const auto& dims = input.type().tensor_type().shape().dim();
  if (static_cast<std::size_t>(dims.size()) != given->second.size()) {
    reject(
        str_cat("input '", input.name(), "' has ", dims.size(), " axes but is given shape ", to_string(given->second)));
  }
  for (int i = 0; i < dims.size(); ++i) {
    const std::int64_t length = given->second[static_cast<std::size_t>(i)];
    const std::string name = symbolic_name(input, i);
    if (name.empty()) {
      if (dims[i].dim_value() == length) continue;
      reject(str_cat("input '", input.name(), "' has length ", dims[i].dim_value(), " along axis ", i,
                     " but is given shape ", to_string(given->second)));
    }
    if (all_.expression(name) != nullptr) continue;
    const auto [known, fresh] = ranges_.emplace(name, length);
    if (!fresh && (length < known->second.min || length > known->second.max)) {
      reject(str_cat("dimension '", name, "' is ", text_of(known->second), " but input '", input.name(),
                     "' is given shape ", to_string(given->second)));
    }
  }
}

void DimTable::check_all_given(const std::vector<::hearth_onnx::ValueInfoProto>& inputs) const {
  std::set<std::string> seen;
  std::vector<std::string> missing, flags;
  for (const ::hearth_onnx::ValueInfoProto& input : inputs) {
    for (int i = 0; i < input.type().tensor_type().shape().dim_size(); ++i) {
      const std::string name = symbolic_name(input, i);
      if (name.empty() || all_.expression(name) != nullptr) continue;
      if (ranges_.count(name) != 0 || !seen.insert(name).second) continue;
      missing.push_back(str_cat("'", name, "' (input '", input.name(), "', axis ", i, ")"));
      flags.push_back(str_cat("--dim ", name, "=N"));
    }
  }
  if (missing.empty()) return;
  reject(str_cat(missing.size() == 1 ? "the symbolic dimension " : "the symbolic dimensions ",
                 absl::StrJoin(missing, ", "), missing.size() == 1 ? " has" : " have", " no length; give ",
                 absl::StrJoin(flags, " "), ", or bounds: MIN:MAX in place of N"));
}

void DimTable::check_computed(const ::hearth_onnx::ValueInfoProto& input) const {
  const auto shape = options_.input_shapes.find(input.name());
  for (int i = 0; i < input.type().tensor_type().shape().dim_size(); ++i) {
    const std::string name = symbolic_name(input, i);
    const DimExpression* expression = name.empty() ? nullptr : all_.expression(name);
    if (expression == nullptr) continue;
    const client::Dim length = computed(name, *expression);
    const DimRange of_names(length.min(), length.max());
    std::vector<std::string> parts;
    for (const std::string& part : expression->names())
      parts.push_back(str_cat(part, " = ", text_of(ranges_.at(part))));
    const std::string is = str_cat("dimension '", name, "' is ", text_of(of_names), " by ", absl::StrJoin(parts, ", "));
    // What is computed may be bounded more closely than what was given allows; not otherwise.
    if (const auto given = ranges_.find(name); given != ranges_.end()) {
      const bool holds = given->second.min <= of_names.min && of_names.max <= given->second.max;
      if (!holds) reject(str_cat(is, ", but --dim ", name, "=", text_of(given->second), " is given; leave it out"));
    }
    if (shape == options_.input_shapes.end()) continue;
    const std::int64_t actual = shape->second[static_cast<std::size_t>(i)];
    if (actual < of_names.min || actual > of_names.max)
      reject(str_cat(is, ", but input '", input.name(), "' is given shape ", to_string(shape->second)));
  }
}

client::Dim DimTable::variable(const std::string& name) const {
  const DimRange& range = ranges_.at(name);
  if (range.min < 0 || range.min > range.max) {
    reject(str_cat("dimension '", name, "' is given the length ", text_of(range),
                   "; expected 0 <= N, or 0 <= MIN <= MAX"));
  }
  return client::Dim::multiple(name, range.unit, range.min, range.max, range.parts);
}

client::Dim DimTable::computed(const std::string& name, const DimExpression& expression) const {
  const client::Dim length = expression.evaluate([&](const std::string& part) { return variable(part); });
  if (length.min() >= 0) return length;
  std::vector<std::string> parts;
  for (const std::string& part : expression.names()) parts.push_back(str_cat(part, " = ", text_of(ranges_.at(part))));
  reject(str_cat("dimension '", name, "' may be negative (", length.min(), ") for ", absl::StrJoin(parts, ", "),
                 "; raise the lower bounds"));
}

client::Shape DimTable::shape_of(const ::hearth_onnx::ValueInfoProto& input) {
  client::Shape shape;
  const auto& dims = input.type().tensor_type().shape().dim();
  for (int i = 0; i < dims.size(); ++i) {
    const std::string name = symbolic_name(input, i);
    if (name.empty()) {
      shape.push_back(dims[i].dim_value());
      continue;
    }
    const DimExpression* expression = all_.expression(name);
    shape.push_back(expression != nullptr ? computed(name, *expression) : variable(name));
  }
  return shape;
}

}  // namespace hearth::onnx
