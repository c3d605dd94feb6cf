// What a replay of a model on the command line is given: values of its variables and contents of its inputs, from
// flags, else seeded random values. Errors: status naming flag, variable or input.
//
//   absl::Status set = set_variables(*instance, model, flags.vars);
//   absl::StatusOr<std::vector<std::string>> random = fill_inputs(*instance, plan, model, flags.seed);
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/load_model.h"

namespace hearth::cli {

// What --var says, then what the arrays of --input are long, else the upper bounds. A dimension of the model that the
// plan does not need is passed over.
absl::Status set_variables(client::Instance& instance, const client::PreparedPlan& plan, const Model& model,
                           const std::vector<std::string>& vars);

// The values that set_variables sets, one a variable of the model's graph; empty where it has none. OUT_OF_RANGE for a
// value beyond its variable's bounds.
absl::StatusOr<std::vector<std::int64_t>> variable_values(const Model& model, const std::vector<std::string>& vars);

// Gives every input the plan reads its bytes: from --input, else seeded uniform values. Returns the names of the
// latter.
absl::StatusOr<std::vector<std::string>> fill_inputs(client::Instance& instance, const client::PreparedPlan& plan,
                                                     Model& model, std::uint64_t seed);

// Says on stderr which inputs hold random values.
void note_random_inputs(const std::vector<std::string>& names, std::uint64_t seed);

// Seeded uniform values: floats in [0, 1), integers in [0, 10), bool. The same for one seed and name everywhere.
std::string uniform_bytes(const std::string& name, DType dtype, std::size_t elements, std::uint64_t seed);

}  // namespace hearth::cli
