#include "client/cli/work_groups.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "client/cli/format.h"

namespace hearth::cli {

std::vector<WorkGroup> work_groups(const std::vector<KernelRow>& rows, GroupBy by) {
  std::map<std::string, WorkGroup> found;
  for (const KernelRow& row : rows) {
    if (row.once || row.launches == 0) continue;
    const std::string name = by == GroupBy::kOperator ? row.operator_name() : row.node();
    WorkGroup& group = found[name];
    group.name = name.empty() ? "-" : name;
    ++group.kernels;
    group.launches += row.launches;
    group.ops += row.ops * static_cast<double>(row.launches);
    group.bytes += std::max(row.bytes, 0.0) * static_cast<double>(row.launches);
    if (row.time_us >= 0) group.time_us = std::max(group.time_us, 0.0) + row.time_us;
  }
  std::vector<WorkGroup> groups;
  for (auto& [name, group] : found) groups.push_back(std::move(group));
  std::stable_sort(groups.begin(), groups.end(), [](const WorkGroup& a, const WorkGroup& b) {
    return std::tie(a.time_us, a.ops, a.bytes) > std::tie(b.time_us, b.ops, b.bytes);
  });
  return groups;
}

Rows group_table(const std::vector<WorkGroup>& groups, GroupBy by) {
  double time_us = 0, ops = 0;
  for (const WorkGroup& group : groups) {
    time_us += std::max(group.time_us, 0.0);
    ops += group.ops;
  }
  const bool is_measured = time_us > 0;
  Rows table = {{by == GroupBy::kOperator ? "operator" : "node", "kernels", "runs"}};
  if (is_measured) table[0].insert(table[0].end(), {"time", "share"});
  table[0].insert(table[0].end(), {"FLOP", "of all", "bytes"});
  if (is_measured) table[0].insert(table[0].end(), {"GFLOP/s", "GB/s"});
  const auto share = [](double part, double whole) { return fixed(whole > 0 ? 100 * part / whole : 0, 1) + " %"; };
  for (const WorkGroup& group : groups) {
    std::vector<std::string>& row =
        table.emplace_back(std::vector{group.name, std::to_string(group.kernels), std::to_string(group.launches)});
    if (is_measured) row.insert(row.end(), {human_time(group.time_us), share(group.time_us, time_us)});
    row.insert(row.end(), {group.ops > 0 ? human_count(group.ops) : "-", share(group.ops, ops),
                           group.bytes > 0 ? human_bytes(group.bytes) : "-"});
    if (is_measured) {
      row.push_back(group.ops > 0 && group.time_us > 0 ? rate_text(group.ops / group.time_us / 1e3) : "-");
      row.push_back(group.bytes > 0 && group.time_us > 0 ? rate_text(group.bytes / group.time_us / 1e3) : "-");
    }
  }
  return table;
}

nlohmann::ordered_json group_json(const std::vector<WorkGroup>& groups) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const WorkGroup& group : groups) {
    nlohmann::ordered_json item = {{"name", group.name},
                                   {"kernels", group.kernels},
                                   {"launches", group.launches},
                                   {"ops", group.ops},
                                   {"bytes", group.bytes}};
    if (group.time_us >= 0) item["time_us"] = group.time_us;
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace hearth::cli
