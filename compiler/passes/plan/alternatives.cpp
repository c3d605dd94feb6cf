#include "compiler/passes/plan/alternatives.h"

#include <google/protobuf/message.h>

#include <algorithm>

#include "base/status_macros.h"
#include "fmt/format.h"

namespace hearth::passes {
namespace {

using Part = Alternative::Part;

absl::Status refuse(const v1::Variable& variable, std::string_view what) {
  return absl::InvalidArgumentError(
      fmt::format("variable '{}' of {} to {}: {}", variable.name(), variable.min(), variable.max(), what));
}

// The parts of one variable's range; each combination of parts is an alternative.
absl::StatusOr<std::vector<Part>> parts_of(const v1::Variable& variable) {
  std::vector<Part> parts;
  if (variable.ends().empty() && variable.points().empty())
    return std::vector{Part{variable.min(), variable.max(), {}}};
  if (variable.min() < 0 || variable.max() < variable.min()) return refuse(variable, "these are no bounds");
  const auto& values = variable.ends().empty() ? variable.points() : variable.ends();
  if (!variable.ends().empty() && !variable.points().empty())
    return refuse(variable, "it has ends and points; give one of them");
  for (int i = 0; i < values.size(); ++i) {
    if (values[i] < variable.min() || values[i] > variable.max())
      return refuse(variable, fmt::format("{} lies outside of it", values[i]));
    if (i > 0 && values[i] <= values[i - 1])
      return refuse(variable, fmt::format("{} stands behind {}; values ascend, each once", values[i], values[i - 1]));
  }
  if (!variable.ends().empty()) {
    if (values[values.size() - 1] != variable.max()) return refuse(variable, "the last part does not end at its end");
    std::int64_t least = variable.min();
    for (const std::int64_t end : values) {
      parts.push_back({least, end, {}});
      least = end + 1;
    }
    return parts;
  }
  for (const std::int64_t point : values) parts.push_back({point, point, {}});
  const bool leaves_some = values.size() <= variable.max() - variable.min();
  if (leaves_some) parts.push_back({variable.min(), variable.max(), {values.begin(), values.end()}});
  return parts;
}

// In every expression of the graph, those of loops' bodies too.
void narrow(google::protobuf::Message& message, const std::vector<Part>& parts) {
  if (auto* token = dynamic_cast<v1::ExprToken*>(&message)) {
    if (token->kind() != v1::ExprToken::VAR || token->value() < 0 ||
        token->value() >= static_cast<std::int64_t>(parts.size()))
      return;
    const Part& part = parts[static_cast<std::size_t>(token->value())];
    if (part.least != part.greatest) return;
    token->set_kind(v1::ExprToken::CONST);
    token->set_value(part.least);
    return;
  }
  const auto* reflection = message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      narrow(*reflection->MutableMessage(&message, field), parts);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i)
      narrow(*reflection->MutableRepeatedMessage(&message, field, i), parts);
  }
}

}  // namespace

absl::StatusOr<std::vector<Alternative>> alternatives_of(const v1::Graph& graph) {
  std::vector<Alternative> all(1);
  for (const v1::Variable& variable : graph.vars()) {
    HEARTH_ASSIGN_OR_RETURN(const std::vector<Part> parts, parts_of(variable));
    if (all.size() * parts.size() > kMaxAlternatives)
      return refuse(variable, fmt::format("parts of all variables make more than {} plans", kMaxAlternatives));
    std::vector<Alternative> more;
    for (const Alternative& one : all) {
      for (const Part& part : parts) more.emplace_back(one).parts.push_back(part);
    }
    all = std::move(more);
  }
  if (all.size() == 1) {
    all.front().graph = graph;
    return all;
  }
  for (Alternative& one : all) {
    one.graph = graph;
    narrow(one.graph, one.parts);
    for (int i = 0; i < one.graph.vars_size(); ++i) {
      v1::Variable& variable = *one.graph.mutable_vars(i);
      variable.set_min(one.parts[static_cast<std::size_t>(i)].least);
      variable.set_max(one.parts[static_cast<std::size_t>(i)].greatest);
      variable.clear_ends();
      variable.clear_points();
    }
  }
  return all;
}

}  // namespace hearth::passes
