#include "compiler/passes/import/var_values.h"

#include "fmt/format.h"

namespace hearth::passes {

absl::Status check_var_values(const v1::Graph& graph, const v1::CompileOptions& options) {
  if (options.var_values().empty()) return absl::OkStatus();
  if (options.var_values_size() != graph.vars_size())
    return absl::InvalidArgumentError(fmt::format("options.var_values has {} values; the graph has {} variables",
                                                  options.var_values_size(), graph.vars_size()));
  for (int i = 0; i < graph.vars_size(); ++i) {
    const v1::Variable& variable = graph.vars(i);
    const std::int64_t value = options.var_values(i);
    if (value < variable.min() || value > variable.max())
      return absl::InvalidArgumentError(fmt::format("options.var_values[{}] is {}; variable '{}' goes from {} to {}", i,
                                                    value, variable.name(), variable.min(), variable.max()));
  }
  return absl::OkStatus();
}

}  // namespace hearth::passes
