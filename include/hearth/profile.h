// Profile of one execute_profiled(): time of each launch of the plan, in their order. Value type.
//
//   for (const LaunchTime& launch : profile.launches) print(launch.kernel, launch.time_ns);
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hearth/config.h"

#pragma GCC visibility push(default)
namespace hearth::runtime {

struct LaunchTime {
  std::string kernel;  // symbol
  std::uint64_t time_ns = 0;
  std::uint64_t num_ops = 0;  // at the variables' values, as the plan counts them
  std::int64_t grid = 0;
  std::uint64_t runs = 1;  // more than one in a loop; time and operations are those of all
};

struct Profile {
  std::vector<LaunchTime> launches;
  std::uint64_t total_ns = 0;

  struct Row {
    std::string kernel;
    std::uint64_t launches = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t num_ops = 0;
  };
  // One row a kernel, slowest first (ties by name), of launches that had something to do.
  std::vector<Row> by_kernel() const;
};

}  // namespace hearth::runtime
#pragma GCC visibility pop
