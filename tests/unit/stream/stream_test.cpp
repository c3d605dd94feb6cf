// Plans on a device of CUDA or HIP, seen from its driver's entry points: how often a replay calls them, and what comes of
// it when they fail. The driver is a stand-in, whose calls are checked as they come.
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "base/sha256.h"
#include "runtime/replay/loaded_plan.h"
#include "tests/support/eventually.h"
#include "tests/unit/runtime/kernel_factory.h"
#include "tests/unit/runtime/saxpy_replay.h"
#include "tests/unit/stream/stand_in.h"

namespace hearth::runtime {
namespace {

using testing::SaxpyPlan;
using testing::StandIn;

// Errors of both drivers' lists; after those of the second line a context cannot be used.
constexpr int kErrors[] = {1, 2, 3, 46, 100, 101, 200, 201, 209, 218, 300, 304, 400, 500, 701, 800, 801, 999};
constexpr const char* kFreeing[] = {"Free", "Destroy", "Unload", "Unmap", "Release"};
constexpr std::size_t kSharedBytes = 5 << 20;
constexpr int kLost[] = {4, 214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719};

// Load, run, read, run timed: the first thing that goes wrong.
absl::Status use_stream(const Device& device, const SaxpyPlan& made) {
  const auto plan = load_saxpy(device, made);
  if (!plan.ok()) return plan.status();
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  if (!instance.ok()) return instance.status();
  if (absl::Status ran = instance->execute(); !ran.ok()) return ran;
  for (const BufferInfo& info : (*plan)->buffers()) {
    const absl::Status read = instance->buffer(info.id).status();
    const bool is_drivers = read.message().find("stand-in") != absl::string_view::npos;
    if (!read.ok() && (is_drivers || !absl::IsFailedPrecondition(read))) return read;
  }
  if (absl::Status ran = instance->execute_profiled().status(); !ran.ok()) return ran;
  const absl::StatusOr<ShareableBuffer> shareable = device.allocate_shareable(kSharedBytes, "a test");
  if (!shareable.ok()) return shareable.status();
  return device.import_memory(shareable->file.get(), kSharedBytes, "a test").status();
}

std::vector<Entry> entries() {
  std::vector<Entry> all;
  for (int i = 0; i <= static_cast<int>(Entry::graph_add_kernel); ++i) all.push_back(static_cast<Entry>(i));
  return all;
}

}  // namespace

TEST_CASE("a replay is one launch of a graph, and makes, allocates and changes nothing") {
  for (const int launches : {36, 450}) {
    INFO(launches << " launches");
    const auto device = StandIn::device();
    const auto plan = load_saxpy(*device, plan_of(launches));
    INFO(plan.status().message());
    REQUIRE(plan.ok());
    absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
    REQUIRE(instance.ok());
    std::vector<float> other(256, 2);
    StandIn::reset();
    std::uint64_t replays = 0;
    for (const std::int64_t n : {256, 256, 100, 7}) {
      REQUIRE(instance->set_var("n", n).ok());
      CHECK(is_right(*instance, n));
      ++replays;
    }
    REQUIRE(instance->bind_input("y", other.data(), 1024).ok());
    REQUIRE(instance->bind_output("out", other.data(), 1024).ok());
    CHECK(instance->execute().ok());
    CHECK(StandIn::calls(Entry::graph_launch) == replays + 1);
    CHECK(StandIn::kernels() == (replays + 1) * static_cast<std::uint64_t>(launches));
    for (const Entry entry : entries()) {
      const std::set<Entry> may = {Entry::graph_launch, Entry::stream_query, Entry::enter, Entry::copy_in};
      const bool asks_for_device = StandIn::api().entry_name(entry).find("Device") != std::string_view::npos;
      INFO(StandIn::api().entry_name(entry));
      if (!may.contains(entry) && !asks_for_device) CHECK(StandIn::calls(entry) == 0);
    }
    StandIn::reset();
    for (int i = 0; i < 3; ++i) REQUIRE(instance->execute().ok());
    CHECK(StandIn::calls(Entry::copy_in) == 0);  // of rows that did not change
  }
}

TEST_CASE("every entry point may fail once, with every error: it is named, nothing stays behind, the plan goes on") {
  const SaxpyPlan made = plan_of(4);
  std::set<std::string> seen;
  const auto device = StandIn::device();
  REQUIRE(use_stream(*device, made).ok());  // and what stays with the device is there
  for (const Entry entry : entries()) {
    const std::string name(StandIn::api().entry_name(entry));
    // Where it cannot be freed, it stays; and nobody can be told.
    const bool frees = entry == Entry::enter || std::ranges::any_of(kFreeing, [&](const char* word) {
                         return name.find(word) != std::string::npos;
                       });
    const std::uint64_t live = StandIn::live();
    for (const int error : kErrors) {
      for (int nth = 1;; ++nth) {
        StandIn::reset();
        StandIn::fail(entry, nth, error);
        const absl::Status status = use_stream(*device, made);
        if (!StandIn::has_failed()) break;
        seen.insert(name);
        INFO(name << ", call " << nth << ", error " << error << ": " << status.message());
        if (!frees) CHECK(StandIn::live() <= live);
        if (status.ok()) {
          // What is imported may be written to where it cannot be read alone.
          CHECK((frees || (entry == Entry::memory_access && nth == 2)));
          break;
        }
        CHECK_THAT(std::string(status.message()), Catch::Contains(name == "cuCtxPushCurrent_v2" ? "cuCtx" : name));
        CHECK(status.code() != absl::StatusCode::kUnknown);
        if (error != kErrors[0] && error != kErrors[1]) break;  // others where a call is made first
      }
      StandIn::reset();
    }
    INFO("after " << name);
    CHECK(use_stream(*device, made).ok());
  }
  CHECK(seen.size() >= 20);
}

TEST_CASE("a context that is gone is said to be, from then on, and nothing is asked of it") {
  const SaxpyPlan made = plan_of(4);
  for (const int error : kLost) {
    StandIn::reset();
    const auto device = StandIn::device();
    const auto plan = load_saxpy(*device, made);
    REQUIRE(plan.ok());
    absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
    REQUIRE(instance.ok());
    StandIn::fail_kernel(2, error);
    const absl::Status status = instance->execute();
    INFO(status.message());
    CHECK(absl::IsUnavailable(status));
    CHECK_THAT(std::string(status.message()),
               Catch::Contains(std::to_string(error)) && Catch::Contains("start the process anew"));
    const std::uint64_t launches = StandIn::calls(Entry::graph_launch);
    CHECK(absl::IsUnavailable(instance->execute()));
    CHECK(StandIn::calls(Entry::graph_launch) == launches);
    CHECK(absl::IsUnavailable(load_saxpy(*device, made).status()));
    CHECK(absl::IsUnavailable(device->allocate(16, "a test", MemoryUse::kDevice).status()));
  }
  StandIn::reset();
}

TEST_CASE("rows of a run that failed, which may not have arrived, are copied again by the next") {
  StandIn::reset();
  const auto device = StandIn::device();
  const auto plan = load_saxpy(*device, plan_of(4));
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  REQUIRE((instance.ok() && is_right(*instance, 256)));
  REQUIRE(instance->set_var("n", 100).ok());
  StandIn::fail(Entry::stream_query, 1, 999);
  CHECK_FALSE(instance->execute().ok());
  StandIn::reset();
  CHECK(is_right(*instance, 100));
  CHECK(StandIn::calls(Entry::copy_in) == 1);
}

TEST_CASE("with checks a launch that ends a context is named, with its kernel") {
  REQUIRE(setenv("HEARTH_DEVICE_CHECKS", "1", 1) == 0);
  StandIn::reset();
  const auto device = StandIn::device();
  const auto plan = load_saxpy(*device, plan_of(4));
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  REQUIRE(unsetenv("HEARTH_DEVICE_CHECKS") == 0);
  REQUIRE((instance.ok() && is_right(*instance, 256)));
  CHECK(StandIn::calls(Entry::graph_launch) == 0);
  StandIn::fail_kernel(2, 700);
  CHECK_THAT(std::string(instance->execute().message()), Catch::Contains("launch 1, kernel 'add'"));
  StandIn::reset();
}

TEST_CASE("a stream that does not get on is given up at its deadline, and nothing that it uses is freed") {
  REQUIRE(setenv("HEARTH_DEVICE_TIMEOUT_MS", "100", 1) == 0);
  const auto device = StandIn::device();
  REQUIRE(device->allocate(16, "a test", MemoryUse::kShared).ok());  // opens it
  REQUIRE(unsetenv("HEARTH_DEVICE_TIMEOUT_MS") == 0);
  {
    const auto plan = load_saxpy(*device, plan_of(4));
    REQUIRE(plan.ok());
    absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
    REQUIRE(instance.ok());
    StandIn::reset();
    StandIn::hang(true);
    const absl::Status status = instance->execute();
    CHECK(absl::IsDeadlineExceeded(status));
    CHECK_THAT(std::string(status.message()), Catch::Contains("within 100 ms (HEARTH_DEVICE_TIMEOUT_MS)"));
    const absl::Status next = instance->execute();
    CHECK(absl::IsUnavailable(next));
    CHECK_THAT(std::string(next.message()), Catch::Contains("an earlier run did not end"));
    CHECK(StandIn::calls(Entry::graph_launch) == 1);
  }
  for (const Entry entry : {Entry::free, Entry::free_host, Entry::stream_destroy, Entry::module_unload})
    CHECK(StandIn::calls(entry) == 0);
  StandIn::reset();
}

TEST_CASE("a launch that fails behind what does not get on is given up at the deadline, too") {
  REQUIRE(setenv("HEARTH_DEVICE_TIMEOUT_MS", "100", 1) == 0);
  const auto device = StandIn::device();
  REQUIRE(device->allocate(16, "a test", MemoryUse::kShared).ok());  // opens it
  REQUIRE(unsetenv("HEARTH_DEVICE_TIMEOUT_MS") == 0);
  {
    const auto plan = load_saxpy(*device, plan_of(4));
    REQUIRE(plan.ok());
    absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
    REQUIRE(instance.ok());
    StandIn::reset();
    StandIn::hang(true);
    constexpr int kOutOfMemory = 2;
    StandIn::fail(Entry::graph_launch, 1, kOutOfMemory);  // behind the copies of the launches' rows
    const absl::Status status = instance->execute();
    CHECK(StandIn::has_failed());
    CHECK(absl::IsResourceExhausted(status));
    const absl::Status next = instance->execute();
    CHECK(absl::IsUnavailable(next));
    CHECK_THAT(std::string(next.message()), Catch::Contains("an earlier run did not end"));
  }
  StandIn::reset();
}

TEST_CASE("threads copy side by side, nobody behind another's copy or allocation") {
  StandIn::reset();
  const auto device = StandIn::device();
  constexpr std::size_t kBytes = 1 << 20;
  std::vector<Buffer> buffers;
  for (int i = 0; i < 2; ++i) {
    absl::StatusOr<Buffer> buffer = device->allocate(kBytes, "a test", MemoryUse::kDevice);
    REQUIRE(buffer.ok());
    buffers.push_back(*std::move(buffer));
  }
  StandIn::reset();
  StandIn::hang(true);
  std::vector<std::vector<char>> read(2, std::vector<char>(kBytes, 1));
  std::vector<absl::Status> done(3, absl::UnknownError("still running"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] { done[i] = device->read(buffers[i], 0, read[i].data(), kBytes); });
  threads.emplace_back([&] { done[2] = device->allocate(kBytes, "a test", MemoryUse::kDevice).status(); });
  const bool side_by_side =
      test::eventually([] { return StandIn::calls(Entry::copy_out) == 2 && StandIn::calls(Entry::fill) == 1; });
  StandIn::hang(false);
  for (std::thread& thread : threads) thread.join();
  CHECK(side_by_side);
  for (const absl::Status& status : done) CHECK(status.ok());
  for (const std::vector<char>& bytes : read) CHECK(bytes == std::vector<char>(kBytes, 0));
  StandIn::reset();
}

TEST_CASE("memory that is given back is used again, and given to the driver where it has no more") {
  StandIn::reset();
  const auto device = StandIn::device();
  constexpr std::size_t kBytes = 5 << 20;
  REQUIRE(device->allocate(kBytes, "a test", MemoryUse::kDevice).ok());  // and gone
  const std::uint64_t allocated = StandIn::calls(Entry::allocate);
  {
    const absl::StatusOr<Buffer> again = device->allocate(kBytes, "a test", MemoryUse::kDevice);
    REQUIRE(again.ok());
    std::vector<char> bytes(kBytes, 1);
    REQUIRE(device->write(*again, 0, bytes.data(), kBytes).ok());
  }
  const absl::StatusOr<Buffer> zeroed = device->allocate(kBytes, "a test", MemoryUse::kDevice);
  REQUIRE(zeroed.ok());
  CHECK(StandIn::calls(Entry::allocate) == allocated);
  std::vector<char> bytes(kBytes, 1);
  REQUIRE(device->read(*zeroed, 0, bytes.data(), kBytes).ok());
  CHECK(bytes == std::vector<char>(kBytes, 0));
  REQUIRE(device->allocate(2 * kBytes, "a test", MemoryUse::kDevice).ok());  // and gone
  CHECK(StandIn::calls(Entry::free) == 0);
  StandIn::fail(Entry::allocate, 1, 2);
  const absl::StatusOr<Buffer> held = device->allocate(3 * kBytes, "a test", MemoryUse::kDevice);
  CHECK(held.ok());
  CHECK(StandIn::calls(Entry::free) == 1);
  StandIn::reset();
  const absl::Status most = device->allocate(std::size_t{1} << 40, "weights", MemoryUse::kDevice).status();
  CHECK(absl::IsResourceExhausted(most));
  CHECK_THAT(std::string(most.message()), Catch::Contains("cannot allocate 1099511627776 bytes for weights") &&
                                              Catch::Contains("has 17179869184 bytes"));
  StandIn::fail(Entry::allocate, 1, 2);
  const absl::Status none = device->allocate(4 * kBytes, "weights", MemoryUse::kDevice).status();
  CHECK(absl::IsResourceExhausted(none));
  CHECK_THAT(std::string(none.message()),
             Catch::Contains("20971520 bytes for weights") && Catch::Contains("HEARTH_DEVICE_CACHE_BYTES"));
  StandIn::reset();
}

TEST_CASE("managed memory may be more than the device has, and computes the same") {
  REQUIRE(setenv("HEARTH_DEVICE_MEMORY", "managed", 1) == 0);
  StandIn::reset();
  const auto device = StandIn::device();
  constexpr std::size_t kMore = std::size_t{20} << 30;  // the stand-in's GPU has 16 GiB
  const absl::StatusOr<Buffer> more = device->allocate(kMore, "weights", MemoryUse::kDevice);
  REQUIRE(unsetenv("HEARTH_DEVICE_MEMORY") == 0);
  INFO(more.status().message());
  CHECK(more.ok());
  CHECK(StandIn::calls(Entry::allocate) == 0);
  CHECK(absl::IsResourceExhausted(device->allocate(SIZE_MAX, "weights", MemoryUse::kDevice).status()));
  const auto plan = load_saxpy(*device, plan_of(4));
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  REQUIRE(instance.ok());
  CHECK(is_right(*instance, 256));
}

TEST_CASE("a plan that was compiled for another GPU is refused, by both names; of an older one of its kind it runs") {
  StandIn::reset();
  const StreamDeviceInfo info = StandIn::info();
  const auto device = StandIn::device();
  SaxpyPlan made = plan_of(4);
  const bool is_cuda = StandIn::api().name() == "cuda";
  made.plan.mutable_target()->set_arch(is_cuda ? "sm_70" : "gfx1100");
  const absl::Status other = load_saxpy(*device, made).status();
  CHECK(other.ok() == is_cuda);
  made.plan.mutable_target()->set_arch(info.target.arch());
  made.plan.mutable_target()->set_triple("nvptx64-nvidia-cuda");
  const absl::Status triple = load_saxpy(*device, made).status();
  CHECK(absl::IsFailedPrecondition(triple));
  CHECK_THAT(std::string(triple.message()),
             Catch::Contains("nvptx64-nvidia-cuda") && Catch::Contains("prepare it for device '" + info.device));
  for (const auto& [arch, own, runs] :
       std::vector<std::tuple<const char*, const char*, bool>>{{"sm_80", "sm_86", true},
                                                               {"sm_86", "sm_80", false},
                                                               {"sm_90a", "sm_90a", true},
                                                               {"sm_90", "sm_90a", true},
                                                               {"sm_90a", "sm_90", false},
                                                               {"sm_1", "sm_90", false}}) {
    if (is_cuda) CHECK(StandIn::api().runs(arch, own) == runs);
  }
  for (const auto& [arch, own, runs] :
       std::vector<std::tuple<const char*, const char*, bool>>{{"gfx11-generic", "gfx1102", true},
                                                               {"gfx11-generic", "gfx1201", false},
                                                               {"gfx942", "gfx90a", false},
                                                               {"gfx12-generic", "gfx1200", true},
                                                               {"gfx1100", "gfx1101", false}}) {
    if (!is_cuda) CHECK(StandIn::api().runs(arch, own) == runs);
  }
}

TEST_CASE("code that the driver does not take is refused by its kernel's name, with the driver's words made safe") {
  StandIn::reset();
  const auto device = StandIn::device();
  SaxpyPlan made = plan_of(4);
  made.artifacts[1].bytes = ".version 7.0\n.target sm_80";
  made.artifacts[1].path.clear();
  made.artifacts[1].digest = to_bytes(sha256(made.artifacts[1].bytes));
  made.plan.mutable_kernels(1)->set_artifact(made.artifacts[1].digest);
  const absl::Status status = load_saxpy(*device, made).status();
  CHECK(absl::IsFailedPrecondition(status));
  CHECK_THAT(std::string(status.message()), Catch::Contains("kernel 'add'") && Catch::Contains("200"));
  CHECK(status.message().find('\033') == absl::string_view::npos);
  if (StandIn::api().name() == "cuda") CHECK_THAT(std::string(status.message()), Catch::Contains("ptxas: \\x1b"));
}

TEST_CASE("a process that was forked after a device was used is refused by name, and its parent goes on") {
  StandIn::reset();
  const auto device = StandIn::device();
  const SaxpyPlan made = plan_of(4);
  const auto plan = load_saxpy(*device, made);
  REQUIRE(plan.ok());
  absl::StatusOr<Instance> instance = create_instance(*plan, {.threads = 1});
  REQUIRE((instance.ok() && is_right(*instance, 256)));
  const pid_t child = fork();
  if (child == 0) {
    const auto is_refused = [](const absl::Status& status) {
      return absl::IsFailedPrecondition(status) && status.message().find("forked") != absl::string_view::npos;
    };
    const bool all = is_refused(instance->execute()) && is_refused(load_saxpy(*device, made).status()) &&
                     is_refused(device->allocate(16, "a test", MemoryUse::kShared).status());
    {
      absl::StatusOr<Instance> dropped = std::move(instance);
    }  // frees nothing of the parent's
    _exit(all && StandIn::calls(Entry::free) == 0 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(is_right(*instance, 256));
}

}  // namespace hearth::runtime
