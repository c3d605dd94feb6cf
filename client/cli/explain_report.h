// What `hearth explain` prints: a summary, then tables, or JSON, or one text that was asked for.
//
//   print_report({.path = path, .reply = *reply, .rows = kernel_rows(*reply, values)});
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/kernel_profile.h"
#include "client/cli/work_groups.h"

namespace hearth::cli {

struct ExplainReport {
  std::string path;
  v1::ExplainResponse reply;
  std::vector<KernelRow> rows;
  std::optional<KernelProfile> profile;  // with --measure; its rows in place of `rows`
  bool dump = false;                     // print every text there is
  std::vector<std::int64_t> values;      // of the plan's variables, at which work is counted
  GroupBy by = GroupBy::kNothing;        // sums in place of kernels
};

void print_report(const ExplainReport& report);
nlohmann::ordered_json report_json(const ExplainReport& report);

// --why-miss: whether the plan is in the cache, and what of its key differs from the nearest that is.
void print_miss(const std::string& path, const v1::ExplainResponse& reply);
nlohmann::ordered_json miss_json(const std::string& path, const v1::ExplainResponse& reply);

// Prints one kernel, by number or symbol. `what`: "ast", "ir", "asm", "ptx", "amdgpu", "spirv" or "passes"; empty: all
// there is to know.
absl::Status print_kernel(const ExplainReport& report, const std::string& kernel, const std::string& what);

}  // namespace hearth::cli
