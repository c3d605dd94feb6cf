#include "base/cgroup_limits.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <vector>

namespace hearth {
namespace {

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

template <typename T>
void lower(std::optional<T>& limit, T value) {
  limit = limit ? std::min(*limit, value) : value;
}

void take_quota(double quota, double period, CgroupLimits& limits) {
  if (!(quota > 0) || !(period > 0)) return;
  const double processors = std::ceil(quota / period);
  if (processors < 1e6) lower(limits.processors, std::max(1U, static_cast<unsigned>(processors)));
}

void take_memory(const std::string& text, CgroupLimits& limits) {
  std::istringstream in(text);
  std::uint64_t bytes = 0;
  // Version 1 says "no limit" by a number near 2^63.
  if (in >> bytes && bytes > 0 && bytes < std::uint64_t{1} << 60) lower(limits.memory_bytes, bytes);
}

void take_version_2(const std::string& folder, CgroupLimits& limits) {
  std::istringstream in(line_of(folder + "/cpu.max"));  // "200000 100000", "max 100000"
  double quota = 0, period = 0;
  if (in >> quota >> period) take_quota(quota, period, limits);
  take_memory(line_of(folder + "/memory.max"), limits);
}

void take_version_1(const std::string& mount, const std::string& group, CgroupLimits& limits) {
  const auto number = [](const std::string& path) {
    std::istringstream in(line_of(path));
    double value = -1;
    return in >> value ? value : -1;
  };
  const std::string cpu = mount + "/cpu" + group, memory = mount + "/memory" + group;
  take_quota(number(cpu + "/cpu.cfs_quota_us"), number(cpu + "/cpu.cfs_period_us"), limits);
  take_memory(line_of(memory + "/memory.limit_in_bytes"), limits);
}

// A group and those above it: "/a/b", "/a", "". In a container the path may be the host's, which is not there; the
// root of what is mounted is the container's own group then.
std::vector<std::string> with_parents(std::string group) {
  while (!group.empty() && group.back() == '/') group.pop_back();
  std::vector<std::string> groups;
  for (; !group.empty(); group.resize(group.rfind('/'))) {
    groups.push_back(group);
    if (group[0] != '/') break;
  }
  groups.emplace_back();
  return groups;
}

}  // namespace

CgroupLimits cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream own(root + "/proc/self/cgroup");
  for (std::string line; std::getline(own, line);) {  // "0::/a/b" of version 2, "4:cpu,cpuacct:/a" of version 1
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (group.find("/..") != std::string::npos) continue;  // outside of what this process sees
    for (const std::string& each : with_parents(group)) {
      if (controllers.empty()) {
        take_version_2(mount + each, limits);
      } else {
        take_version_1(mount, each, limits);
      }
    }
  }
  return limits;
}

}  // namespace hearth
