// What containers and services may use, from files as the kernel writes them for each way of limiting.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/cgroup_limits.h"

namespace hearth {
namespace {

// A tree of files in front of which nothing of this machine is seen.
class Files {
 public:
  Files() : root_(std::filesystem::temp_directory_path() / ("hearth-cgroups-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(root_);
  }
  ~Files() { std::filesystem::remove_all(root_); }
  Files& write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return *this;
  }
  CgroupLimits limits() const { return cgroup_limits(root_.string()); }

 private:
  std::filesystem::path root_;
};

TEST_CASE("a container of four processors on a large node has four, and the memory of its group") {
  Files files;  // with a namespace of its own, the group's files are those of the root
  files.write("proc/self/cgroup", "0::/\n");
  files.write("sys/fs/cgroup/cpu.max", "400000 100000\n").write("sys/fs/cgroup/memory.max", "17179869184\n");
  CHECK(files.limits().processors == 4U);
  CHECK(files.limits().memory_bytes == std::uint64_t{16} << 30);
}

TEST_CASE("the least of a group and those above it counts, and parts of a processor are rounded up") {
  Files files;
  files.write("proc/self/cgroup", "0::/system.slice/hearthd.service\n");
  files.write("sys/fs/cgroup/system.slice/hearthd.service/cpu.max", "250000 100000\n");
  files.write("sys/fs/cgroup/system.slice/hearthd.service/memory.max", "max\n");
  CHECK(files.limits().processors == 3U);
  CHECK(!files.limits().memory_bytes);
  files.write("sys/fs/cgroup/system.slice/cpu.max", "50000 100000\n");
  files.write("sys/fs/cgroup/system.slice/memory.max", "1073741824\n");
  CHECK(files.limits().processors == 1U);
  CHECK(files.limits().memory_bytes == std::uint64_t{1} << 30);
}

TEST_CASE("a path of the host, which a container does not see, leaves the container's own group") {
  Files files;
  files.write("proc/self/cgroup", "0::/kubepods/pod1/x\n").write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  CHECK(files.limits().processors == 2U);
  files.write("proc/self/cgroup", "0::/../../x\n");
  CHECK(!files.limits().processors);
}

TEST_CASE("version 1: quota and period in files of their own, no limit is -1 or nearly 2^63") {
  Files files;
  files.write("proc/self/cgroup", "9:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n");
  files.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n").write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "50000\n");
  files.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
  CHECK(files.limits().processors == 3U);
  CHECK(files.limits().memory_bytes == std::uint64_t{2} << 30);
  files.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  files.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(!files.limits().processors);
  CHECK(!files.limits().memory_bytes);
}

TEST_CASE("files that hold something else, or are not there, limit nothing") {
  Files files;
  CHECK(!files.limits().processors);
  for (const char* text : {"", "max 100000", "x y", "0 0", "-5 100000", "100000", "1e300 1", "nan 1"}) {
    INFO("'" << text << "'");
    files.write("proc/self/cgroup", "0::/a\n:::\nrubbish\n0::\n").write("sys/fs/cgroup/cpu.max", text);
    files.write("sys/fs/cgroup/memory.max", text);
    CHECK(!files.limits().processors);
  }
}

}  // namespace
}  // namespace hearth
