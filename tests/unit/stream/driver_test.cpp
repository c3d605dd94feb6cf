// What the drivers of CUDA and HIP say of a machine: which GPUs, which of them can be used, and why not. Each question is
// asked in a process of its own, since a driver is opened once.
#include "runtime/hal/driver.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>

#include "base/text.h"
#include "runtime/devices/devices.h"

namespace hearth::runtime {
namespace {

// What `ask` says in a child with these variables.
std::string in_child(const std::vector<std::pair<const char*, const char*>>& environment,
                     const std::function<std::string()>& ask) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name, value, 1);
    const std::string said = ask();
    _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said;
  char bytes[4096];
  for (ssize_t count; (count = read(ends[0], bytes, sizeof bytes)) > 0;)
    said.append(bytes, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  return said;
}

const char* kind() { return std::getenv("HEARTH_TEST_DEVICE"); }
bool is_cuda() { return std::string_view(kind()) == "cuda"; }

// "cuda:0 sm_90a", or why not, a line a device.
std::string list() {
  const auto devices = find_driver(kind())->devices();
  if (!devices.ok()) return devices.status().ToString();
  std::string lines;
  for (const DeviceInfo& info : *devices)
    str_append(&lines, info.device, " ", info.unusable.empty() ? info.target.arch() : info.unusable, "\n");
  return lines;
}

// Whether processes can have memory of the first together: "shared" once it was imported again.
std::string shared_memory() {
  const Device& device = **find_device(kind());
  if (!device.shares_weights()) return "none";
  const auto made = device.allocate_shareable(4096, "a test");
  if (!made.ok()) return made.status().ToString();
  const auto same = device.import_memory(made->file.get(), 4096, "a test");
  return same.ok() ? "shared" : same.status().ToString();
}

std::string find(const std::string& which) {
  const auto device = find_device(which);
  return device.ok() ? std::string((*device)->name()) : device.status().ToString();
}

}  // namespace

TEST_CASE("the GPU that a driver has is named, with what kernels are compiled for") {
  if (is_cuda()) {
    for (const auto& [arch, lists] : std::vector<std::pair<const char*, const char*>>{{"sm_80", "cuda:0 sm_80\n"},
                                                                                      {"sm_86", "cuda:0 sm_86\n"},
                                                                                      {"sm_87", "cuda:0 sm_86\n"},
                                                                                      {"sm_90", "cuda:0 sm_90a\n"},
                                                                                      {"sm_120", "cuda:0 sm_90\n"}}) {
      CHECK(in_child({{"HEARTH_STAND_IN_ARCH", arch}}, list) == lists);
    }
  } else {
    CHECK(in_child({{"HEARTH_STAND_IN_ARCH", "gfx942"}}, list) == "hip:0 gfx942\n");
    CHECK(in_child({{"HEARTH_STAND_IN_ARCH", "gfx950"}}, list) == "hip:0 kernels are not compiled for gfx950\n");
  }
}

TEST_CASE("a driver is asked for no more than it can: older PTX for an older driver, and a reason below that") {
  if (!is_cuda()) {  // whose code is of one GPU, whatever the driver
    CHECK(in_child({{"HEARTH_STAND_IN_DRIVER", "50200000"}}, list) == "hip:0 gfx90a\n");
    return;
  }
  CHECK(in_child({{"HEARTH_STAND_IN_DRIVER", "11080"}}, list) == "cuda:0 sm_90\n");
  CHECK(in_child({{"HEARTH_STAND_IN_DRIVER", "11010"}}, list) == "cuda:0 sm_86\n");
  CHECK_THAT(in_child({{"HEARTH_STAND_IN_ARCH", "sm_61"}}, list),
             Catch::Contains("compute capability 6.1") && Catch::Contains("7.0 and CUDA 11.4 are needed"));
}

TEST_CASE("memory is shared with other processes where the driver can, in the way that its version has") {
  CHECK(in_child({}, shared_memory) == "shared");
  if (is_cuda()) {
    CHECK(in_child({{"HEARTH_STAND_IN_SHARES_NOTHING", "1"}}, shared_memory) == "none");
    return;
  }
  CHECK(in_child({{"HEARTH_STAND_IN_DRIVER", "50200000"}}, shared_memory) == "none");
  CHECK(in_child({{"HEARTH_STAND_IN_DRIVER", "60000000"}}, shared_memory) == "shared");
  CHECK(in_child({{"HEARTH_STAND_IN_DRIVER", "70100000"}}, shared_memory) == "shared");
}

TEST_CASE("a machine without a GPU, or with one that nobody may use, says so") {
  CHECK_THAT(in_child({{"HEARTH_STAND_IN_DEVICES", "0"}}, list), Catch::Contains("NOT_FOUND"));
  CHECK_THAT(in_child({{"HEARTH_STAND_IN_DEVICES", "0"}}, [] { return find(kind()); }), Catch::Contains("NOT_FOUND"));
  if (!is_cuda()) return;
  const auto prohibited = in_child({{"HEARTH_STAND_IN_COMPUTE_MODE", "2"}}, [] { return find("cuda"); });
  CHECK_THAT(prohibited, Catch::Contains("its compute mode prohibits any use (nvidia-smi -c 0)"));
}

TEST_CASE("one of several GPUs is found by number or UUID, and several are used in one process") {
  const std::string name = kind();
  const std::vector<std::pair<const char*, const char*>> two = {{"HEARTH_STAND_IN_DEVICES", "2"}};
  CHECK(in_child(two, [&] { return find(name + ":1"); }) == name + ":1");
  CHECK(in_child(two, [&] { return find(name); }) == name + ":0");
  CHECK(in_child(two, [&] {
          std::string second;
          for (int i = 0; i < 16; ++i) second += "41";
          return find(name + ":" + second);
        }) == name + ":1");
  CHECK_THAT(in_child(two, [&] { return find(name + ":2"); }),
             Catch::Contains("there is no device '" + name + ":2'") && Catch::Contains(name + ":1 is"));
  CHECK(in_child(two, [&] {  // one after the other in one process, each with memory of its own
          const auto first = find_device(name + ":0"), second = find_device(name + ":1");
          if (!first.ok() || !second.ok()) return std::string("not found");
          const auto a = (*first)->allocate(64, "a test", MemoryUse::kDevice);
          const auto b = (*second)->allocate(64, "a test", MemoryUse::kDevice);
          if (!a.ok() || !b.ok()) return std::string("no memory");
          const char text[] = "both";
          if (!(*first)->write(*a, 0, text, 5).ok() || !(*second)->write(*b, 0, text, 5).ok())
            return std::string("write");
          char back[5] = {};
          if (!absl::IsInvalidArgument((*first)->check_memory(b->address(), 64))) return std::string("the other's");
          if (!(*first)->check_memory(a->address(), 64).ok()) return std::string("its own");
          return (*second)->read(*b, 0, back, 5).ok() ? std::string(back) : std::string("read");
        }) == "both");
}

TEST_CASE("a driver that was opened before a fork is not asked by the child") {
  const std::string said = in_child({}, [] {
    if (!find_driver(kind())->devices().ok()) return std::string("not opened");
    return in_child({}, list);
  });
  CHECK_THAT(said, Catch::Contains("FAILED_PRECONDITION") && Catch::Contains("forked"));
}

}  // namespace hearth::runtime
