// Kernels summed by what of the model they are for: the operator or the node that does most of a kernel's work. Pure
// functions.
//
//   print_table(group_table(work_groups(rows, GroupBy::kOperator)));
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "client/cli/kernel_rows.h"
#include "client/cli/table.h"

namespace hearth::cli {

enum class GroupBy { kNothing, kOperator, kNode };

struct WorkGroup {
  std::string name;
  std::uint64_t kernels = 0, launches = 0;
  double time_us = -1, ops = 0, bytes = 0;  // of a replay; a negative time: not measured
};

// Groups of the kernels that replays run: most time first, where it was measured, else most operations, then bytes.
std::vector<WorkGroup> work_groups(const std::vector<KernelRow>& rows, GroupBy by);
Rows group_table(const std::vector<WorkGroup>& groups, GroupBy by);
nlohmann::ordered_json group_json(const std::vector<WorkGroup>& groups);

}  // namespace hearth::cli
