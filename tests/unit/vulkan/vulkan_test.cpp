// Plans on a Vulkan device, seen from its entry points: how often a replay calls them, and what comes of it when they
// fail. The plans are hand-made; what kernels compute is the runtime's tests'.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/sha256.h"
#include "runtime/devices/devices.h"
#include "runtime/hal/vulkan/vulkan_device.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/unit/runtime/saxpy_replay.h"
#include "tests/unit/vulkan/entry_points.h"

namespace hearth::runtime {
namespace {

using testing::EntryPoints;

VulkanDeviceInfo info_of_first() {
  const absl::StatusOr<std::vector<VulkanDeviceInfo>> all = vulkan_devices();
  for (const VulkanDeviceInfo& info : *all) {
    if (info.unusable.empty()) return info;
  }
  throw std::runtime_error("there is no device");
}

struct Opened {
  explicit Opened(VulkanOptions options = {}) : Opened(info_of_first(), std::move(options)) {}
  Opened(const VulkanDeviceInfo& info, VulkanOptions options) {
    options.hook = EntryPoints::install;
    device = std::make_unique<VulkanDevice>(info, std::move(options));
  }
  std::unique_ptr<VulkanDevice> device;
};

// Load, run, run timed: the first thing that goes wrong.
absl::Status use(const Device& device, const SaxpyPlan& made) {
  const auto plan = load_saxpy(device, made);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  if (!instance.ok()) return instance.status();
  if (absl::Status ran = instance->execute(); !ran.ok()) return ran;
  for (const BufferInfo& info : (*plan)->buffers()) {
    if (const absl::Status read = instance->buffer(info.id).status(); !read.ok() && !absl::IsFailedPrecondition(read))
      return read;
  }
  return instance->execute_profiled().status();
}

}  // namespace

TEST_CASE("a replay is one submission, and records, allocates and creates nothing") {
  for (const int launches : {36, 450}) {
    INFO(launches << " launches");
    const Opened opened;
    const auto plan = load_saxpy(*opened.device, plan_of(launches));
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
    REQUIRE(instance.ok());
    std::vector<float> other(256, 2);
    int replays = 0;
    EntryPoints::reset();
    for (const std::int64_t n : {256, 256, 100, 7}) {
      REQUIRE(instance->set_var("n", n).ok());
      CHECK(is_right(*instance, n));
      ++replays;
    }
    REQUIRE(instance->bind_input("y", other.data(), 1024).ok());
    REQUIRE(instance->bind_output("out", other.data(), 1024).ok());
    CHECK(instance->execute().ok());
    CHECK(EntryPoints::calls("vkQueueSubmit2") == static_cast<std::uint64_t>(replays + 1));
    CHECK(EntryPoints::calls("vkWaitSemaphores") == static_cast<std::uint64_t>(replays + 1));
    for (const char* kind : {"vkCmd", "vkCreate", "vkAllocate", "vkMap", "vkBegin", "vkReset"})
      CHECK(EntryPoints::calls_of(kind) == 0);
  }
}

TEST_CASE("every entry point may fail once: the error names it, nothing stays behind, and the plan can be used again") {
  for (const bool staging : {false, true}) {
    const Opened opened({.always_stage = staging});
    const SaxpyPlan made = plan_of(4);
    REQUIRE(use(*opened.device, made).ok());  // and what stays with the device is there
    const std::int64_t alive = EntryPoints::alive();
    std::set<std::string> seen;
    for (const std::string& name : EntryPoints::names()) {
      for (std::uint64_t call = 0;; ++call) {
        EntryPoints::reset();
        EntryPoints::fail(name, call, VK_ERROR_OUT_OF_DEVICE_MEMORY);
        const absl::Status status = use(*opened.device, made);
        if (!EntryPoints::has_failed()) break;
        seen.insert(name);
        INFO(name << ", call " << call << (staging ? ", staging" : "") << ": " << status.message());
        CHECK(EntryPoints::alive() == alive);
        if (name == "vkGetPipelineCacheData") continue;  // nothing is saved, then
        CHECK(absl::IsResourceExhausted(status));
        CHECK_THAT(std::string(status.message()), Catch::Contains(name));
      }
      EntryPoints::reset();
      INFO("after " << name);
      CHECK(use(*opened.device, made).ok());
    }
    CHECK(seen.size() >= 15);
  }
}

TEST_CASE("opening a device that fails says so, and the next try may succeed") {
  const Opened opened;
  EntryPoints::reset();
  EntryPoints::fail("vkCreatePipelineLayout", 0, VK_ERROR_OUT_OF_HOST_MEMORY);
  const absl::Status failed = opened.device->allocate(16, "a test", MemoryUse::kShared).status();
  CHECK(absl::IsResourceExhausted(failed));
  CHECK_THAT(std::string(failed.message()), Catch::Contains("vkCreatePipelineLayout"));
  EntryPoints::reset();
  CHECK(opened.device->allocate(16, "a test", MemoryUse::kShared).ok());
}

TEST_CASE("a device that is lost in the middle of a replay is said to be, from then on, and others go on") {
  const Opened lost, other;
  const SaxpyPlan made = plan_of(4);
  const auto plan = load_saxpy(*lost.device, made), others_plan = load_saxpy(*other.device, made);
  REQUIRE((plan.ok() && others_plan.ok()));
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  absl::StatusOr<Instance> others = create_instance(*others_plan, {.threads = 1});
  REQUIRE((instance.ok() && others.ok()));
  for (const char* where : {"vkWaitSemaphores", "vkQueueSubmit2"}) {
    EntryPoints::reset();
    EntryPoints::fail(where, 0, VK_ERROR_DEVICE_LOST);
    const absl::Status status = instance->execute();
    CHECK(absl::IsUnavailable(status));
    CHECK_THAT(std::string(status.message()),
               Catch::Contains("VK_ERROR_DEVICE_LOST") && Catch::Contains("use another device"));
  }
  EntryPoints::reset();
  CHECK(absl::IsUnavailable(instance->execute()));
  CHECK(EntryPoints::calls("vkQueueSubmit2") == 0);  // it is not asked again
  CHECK(absl::IsUnavailable(load_saxpy(*lost.device, made).status()));
  CHECK(absl::IsUnavailable(lost.device->allocate(16, "a test", MemoryUse::kDevice).status()));
  CHECK(is_right(*others, 256));
}

TEST_CASE("a run that does not end is given up at its deadline, and nothing that it uses is freed") {
  REQUIRE(setenv("HEARTH_DEVICE_TIMEOUT_MS", "2500", 1) == 0);
  const Opened stuck;
  REQUIRE(stuck.device->allocate(16, "a test", MemoryUse::kShared).ok());  // opens it
  REQUIRE(unsetenv("HEARTH_DEVICE_TIMEOUT_MS") == 0);
  const SaxpyPlan made = plan_of(4);
  {
    const auto plan = load_saxpy(*stuck.device, made);
    REQUIRE(plan.ok());
    absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
    REQUIRE(instance.ok());
    EntryPoints::reset();
    EntryPoints::fail("vkWaitSemaphores", 0, VK_TIMEOUT);
    const absl::Status status = instance->execute();
    CHECK(absl::IsDeadlineExceeded(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("within 2500 ms (HEARTH_DEVICE_TIMEOUT_MS)"));
    const absl::Status next = instance->execute();
    CHECK(absl::IsUnavailable(next));
    CHECK_THAT(std::string(next.message()), Catch::Contains("an earlier run did not end"));
    CHECK(EntryPoints::calls("vkQueueSubmit2") == 1);
    EntryPoints::reset();
  }
  CHECK(EntryPoints::calls_of("vkDestroy") == 0);
  CHECK(EntryPoints::calls("vkFreeMemory") == 0);
}

TEST_CASE("memory beyond a device's limit is refused before the driver is asked, naming both") {
  VulkanDeviceInfo info = info_of_first();
  info.target.mutable_gpu()->set_max_buffer_bytes(1 << 20);
  const Opened small(info, {});
  REQUIRE(small.device->allocate(1 << 20, "weights", MemoryUse::kDevice).ok());
  EntryPoints::reset();
  const absl::Status status = small.device->allocate((1 << 20) + 1, "weights", MemoryUse::kDevice).status();
  CHECK(absl::IsResourceExhausted(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("cannot allocate 1048577 bytes for weights") &&
                                                Catch::Contains("at most 1048576 bytes at once"));
  CHECK(EntryPoints::calls("vkCreateBuffer") == 0);
  CHECK(absl::IsResourceExhausted(small.device->allocate(SIZE_MAX, "weights", MemoryUse::kDevice).status()));
}

TEST_CASE("a launch of more units than all workgroups have invocations is whole, within the device's limit") {
  const Opened opened;
  constexpr std::int64_t kUnits = 5'000'000;  // 65,535 workgroups of 64 are 4,194,240
  const auto plan = load_saxpy(*opened.device, testing::saxpy_plan(kUnits, false));
  REQUIRE(plan.ok());
  EntryPoints::reset();
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  REQUIRE(instance.ok());
  CHECK(EntryPoints::most_groups() == 65'535);
  CHECK(is_right(*instance, kUnits));
}

TEST_CASE("a device ends the loops of an invocation after as many rounds as its record says, or never") {
  const VulkanDeviceInfo info = info_of_first();
  const Opened opened;
  SaxpyPlan made = testing::saxpy_plan(1, false);
  const ArtifactSource counts = testing::compile_map(
      "add", {"o", "t", "y"}, "float c = 0; for (int k = 0; k < int(y[i]); ++k) c += 1; o[i] = c + 0 * t[i];");
  made.artifacts[1] = counts;
  made.plan.mutable_kernels(1)->set_artifact(counts.digest);
  const auto plan = load_saxpy(*opened.device, made);
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  REQUIRE(instance.ok());
  constexpr float kRounds = 1'000'000;
  *static_cast<float*>(instance->input("x")->data) = 0;
  *static_cast<float*>(instance->input("y")->data) = kRounds;
  REQUIRE(instance->execute().ok());
  const auto made_rounds = *static_cast<const float*>(instance->output("out")->data);
  const auto most = static_cast<float>(info.target.gpu().max_loop_rounds());
  INFO(info.name << " with " << info.driver << " " << info.driver_version << " makes " << made_rounds
                 << " rounds of a million; its record (runtime/hal/vulkan/vulkan_devices.cpp) says " << most
                 << ", 0 being any number");
  CHECK(made_rounds == (most == 0 ? kRounds : most));
}

TEST_CASE("a plan whose loops are longer than the device lets them be is refused, naming both") {
  VulkanDeviceInfo info = info_of_first();
  info.target.mutable_gpu()->set_max_loop_rounds(5000);
  const Opened opened(info, {});
  SaxpyPlan made = testing::saxpy_plan(64, false);
  for (const std::uint64_t rounds : {0, 5001}) {
    made.plan.mutable_target()->mutable_gpu()->set_max_loop_rounds(rounds);
    const absl::Status status = load_saxpy(*opened.device, made).status();
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("loops of any number of rounds") &&
                                                  Catch::Contains("ends those of an invocation after 5000"));
  }
  made.plan.mutable_target()->mutable_gpu()->set_max_loop_rounds(4999);
  CHECK(load_saxpy(*opened.device, made).ok());
}

TEST_CASE("a plan that was compiled for what a device lacks is refused, by what it lacks") {
  const Opened opened;
  SaxpyPlan made = testing::saxpy_plan(64, false);
  made.plan.mutable_target()->add_features("timeTravel");
  const absl::Status lacking = load_saxpy(*opened.device, made).status();
  CHECK(absl::IsFailedPrecondition(lacking));
  CHECK_THAT(std::string(lacking.message()),
             Catch::Contains("timeTravel") && Catch::Contains("prepare it for device 'vulkan:"));
  made = testing::saxpy_plan(64, false);
  made.plan.mutable_target()->mutable_gpu()->set_workgroup_size(1 << 20);
  CHECK_THAT(std::string(load_saxpy(*opened.device, made).status().message()),
             Catch::Contains("workgroups of 1048576"));
  made = testing::saxpy_plan(64, false);
  made.plan.mutable_target()->set_device("cpu");
  CHECK_THAT(std::string(load_saxpy(*opened.device, made).status().message()),
             Catch::Contains("compiled for device 'cpu'"));
  made = testing::saxpy_plan(64, false);
  made.plan.mutable_target()->set_abi_version(99);
  CHECK_THAT(std::string(load_saxpy(*opened.device, made).status().message()), Catch::Contains("ABI version 99"));
}

TEST_CASE("an artifact that is no SPIR-V, or is damaged, is refused by its kernel's name") {
  const Opened opened;
  SaxpyPlan made = testing::saxpy_plan(64, false);
  made.artifacts[1].bytes[40] ^= 1;
  const absl::Status damaged = load_saxpy(*opened.device, made).status();
  CHECK(absl::IsDataLoss(damaged));
  CHECK_THAT(std::string(damaged.message()), Catch::Contains("kernel 'add'") && Catch::Contains("digest"));
  made.artifacts.pop_back();
  made.artifacts[1].bytes[40] ^= 1;
  CHECK_THAT(std::string(load_saxpy(*opened.device, made).status().message()),
             Catch::Contains("kernel 'twice'") && Catch::Contains("was not delivered"));
}

TEST_CASE("a process that was forked after a device was used is refused by name, and its parent goes on") {
  const Opened opened;
  const SaxpyPlan made = plan_of(4);
  const auto plan = load_saxpy(*opened.device, made);
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  REQUIRE((instance.ok() && is_right(*instance, 256)));
  const pid_t child = fork();
  if (child == 0) {
    const auto is_refused = [](const absl::Status& status) {
      return absl::IsFailedPrecondition(status) && status.message().find("forked") != absl::string_view::npos;
    };
    const bool all = is_refused(instance->execute()) && is_refused(load_saxpy(*opened.device, made).status()) &&
                     is_refused(opened.device->allocate(16, "a test", MemoryUse::kShared).status());
    {
      absl::StatusOr<Instance> dropped = std::move(instance);
    }  // frees nothing of the parent's
    _exit(all ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(is_right(*instance, 256));
}

TEST_CASE("a kernel whose compile ends the driver is tried in a child, once, and refused by name from then on") {
  const std::string folder = testing::scratch_folder() + "/trials";
  const auto use_cache = [&](const std::string& name) {
    std::filesystem::create_directories(folder + "/" + name);
    REQUIRE(setenv("XDG_CACHE_HOME", (folder + "/" + name).c_str(), 1) == 0);
  };
  // A program that counts its starts and then does `what`.
  const auto use_program = [&](const std::string& what) {
    std::ofstream(folder + "/program") << "#!/bin/sh\necho start >> " << folder << "/starts\n" << what << "\n";
    std::filesystem::permissions(folder + "/program", std::filesystem::perms::owner_all);
    std::filesystem::remove(folder + "/starts");
    REQUIRE(setenv("HEARTH_VULKAN_TRIAL", (folder + "/program").c_str(), 1) == 0);
  };
  const auto starts = [&] {
    std::ifstream file(folder + "/starts");
    int count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  };
  const SaxpyPlan made = plan_of(4);
  use_cache("crash");
  use_program("printf +\nkill -SEGV $$");
  for (int process = 0; process < 2; ++process) {
    const Opened opened;
    const absl::Status status = load_saxpy(*opened.device, made).status();
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("kernel 'add': ") &&
                                                  Catch::Contains("crashes or hangs") &&
                                                  Catch::Contains(to_hex(made.artifacts[1].digest)) &&
                                                  Catch::Contains("To try again, remove " + folder + "/crash/"));
    CHECK(starts() == 2);  // the third kernel survived, and nothing is tried twice
  }
  use_program("kill -TERM $$");  // says nothing about the driver
  use_cache("killed");
  {
    CHECK(load_saxpy(*Opened().device, made).ok());
  }
  CHECK(starts() == 1);
  use_cache("real");
  use_program("exec " + std::string(std::getenv("HEARTH_BIN_DIR")) + "/hearth-vulkan-trial \"$@\"");
  for (int process = 0; process < 2; ++process) CHECK(load_saxpy(*Opened().device, made).ok());
  CHECK(starts() == 1);
  use_program("kill -SEGV $$");
  REQUIRE(setenv("HEARTH_VULKAN_TRIAL", "0", 1) == 0);
  use_cache("crash");  // whose verdict nobody asks for
  CHECK(load_saxpy(*Opened().device, made).ok());
  REQUIRE(unsetenv("XDG_CACHE_HOME") == 0);
}

TEST_CASE("devices are found by number, UUID and name, and an unknown one is answered with what there is") {
  const VulkanDeviceInfo info = info_of_first();
  const absl::StatusOr<const Device*> first = find_device("vulkan");
  REQUIRE(first.ok());
  std::string uuid;
  for (const char byte : info.uuid) {
    char hex[3];
    std::snprintf(hex, sizeof hex, "%02X", static_cast<unsigned char>(byte));
    uuid += hex;
  }
  const Device* const by_number = *find_device("vulkan:" + std::to_string(info.index));
  CHECK(*find_device("vulkan:" + uuid) == by_number);
  CHECK(*find_device("vulkan:" + uuid.substr(0, 8) + "-" + uuid.substr(8)) == by_number);
  CHECK(*find_device("vulkan:" + info.name) == by_number);
  CHECK(by_number->name() == "vulkan:" + std::to_string(info.index));
  for (const char* unknown : {"vulkan:99", "vulkan:no such", "vulkan:deadbeef"}) {
    const absl::Status status = find_device(unknown).status();
    CHECK(absl::IsNotFound(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains(unknown) && Catch::Contains(info.name));
  }
}

}  // namespace hearth::runtime
