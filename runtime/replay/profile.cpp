#include "hearth/profile.h"

#include <algorithm>
#include <map>

namespace hearth::runtime {

std::vector<Profile::Row> Profile::by_kernel() const {
  std::map<std::string, Row> rows;
  for (const LaunchTime& launch : launches) {
    if (launch.grid == 0) continue;  // a plan in parts has launches for other lengths, too
    Row& row = rows[launch.kernel];
    row.kernel = launch.kernel;
    row.launches += launch.runs;
    row.time_ns += launch.time_ns;
    row.num_ops += launch.num_ops;
  }
  std::vector<Row> sorted;
  for (auto& [name, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) { return a.time_ns > b.time_ns; });
  return sorted;
}

}  // namespace hearth::runtime
