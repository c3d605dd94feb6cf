#include "client/cli/explain_plan.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/status_macros.h"
#include "client/cli/format.h"
#include "client/cli/kernel_rows.h"
#include "client/cli/plan_facts.h"
#include "client/cli/print.h"
#include "client/files/plan_file_contents.h"
#include "hearth/plan_file.h"

namespace hearth::cli {
namespace {

using Json = nlohmann::ordered_json;

// Each artifact's size, by its digest.
std::map<std::string, std::uint64_t> artifact_sizes(const client::PlanFileContents& contents) {
  std::map<std::string, std::uint64_t> sizes;
  for (const v1::PlanFileSection& section : contents.manifest.sections()) {
    if (section.kind() == v1::PlanFileSection::ARTIFACT) sizes[section.sha256()] = section.size();
  }
  return sizes;
}

}  // namespace

absl::StatusOr<int> explain_plan_file(const std::string& path, bool json) {
  HEARTH_ASSIGN_OR_RETURN(const client::PlanFileContents contents, client::read_plan_file(path));
  const v1::Plan& plan = contents.plan;
  std::map<std::string, std::uint64_t> sizes = artifact_sizes(contents);
  const std::vector<KernelRow> rows = kernel_rows(plan);
  Rows table = {{"#", "kernel", "runs", "operations", "code"}};
  Json kernels = Json::array();
  double ops = 0;
  std::uint64_t launches = 0;
  for (const KernelRow& row : rows) {
    const std::uint64_t bytes = sizes[plan.kernels(static_cast<int>(row.place)).artifact()];
    table.push_back({std::to_string(row.place), short_symbol(row.symbol), row.runs(),
                     row.ops > 0 ? human_count(row.ops) : "-", human_bytes(static_cast<double>(bytes))});
    kernels.push_back({{"symbol", row.symbol},
                       {"artifact_bytes", bytes},
                       {"once", row.once},
                       {"launches", row.launches},
                       {"conditional_launches", row.conditional},
                       {"ops", row.ops}});
    if (row.once) continue;
    ops += row.ops * row.launches;
    launches += row.launches;
  }
  if (json) {
    print_json({{"plan_file", path},
                {"bytes", contents.file_bytes},
                {"memory", memory_json(memory_of(plan))},
                {"launches", launches},
                {"parallel_regions", regions_json(plan)},
                {"ops", ops},
                {"kernels", std::move(kernels)}});
    return 0;
  }
  print_facts({{"plan file", str_cat(path, ", ", human_bytes(static_cast<double>(contents.file_bytes)))},
               {"target", target_text(plan.target())},
               {"kernels", str_cat(rows.size(), ", ", launches_text(plan, launches))},
               {"work", str_cat(human_count(ops), " operations a replay, conversions and selections counted",
                                plan.vars_size() > 0 ? "; at the variables' upper bounds" : "")},
               {"memory", memory_text(memory_of(plan))},
               {"note", "a plan file has no passes, IR or node names: explain the model it was exported from"}});
  print_line();
  print_table(table);
  return 0;
}

}  // namespace hearth::cli
