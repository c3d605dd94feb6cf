#include "tests/conformance/vulkan/vulkan_runner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "tests/conformance/vulkan/runner_wire.h"

namespace hearth::conformance {
namespace {

std::string runner_program() {
  const char* folder = std::getenv("HEARTH_BIN_DIR");
  if (folder != nullptr) return absl::StrCat(folder, "/hearth-vulkan-runner");
  char self[4096];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof(self));
  const std::string path(self, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  return path.substr(0, path.rfind('/') + 1) + "hearth-vulkan-runner";
}

std::string how_it_ended(int status) {
  return WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                             : absl::StrCat("exit code ", WEXITSTATUS(status));
}

}  // namespace

VulkanRunner::~VulkanRunner() { stop(); }

void VulkanRunner::stop() {
  if (to_ >= 0) ::close(to_);
  if (from_ >= 0) ::close(from_);
  to_ = from_ = -1;
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  child_ = -1;
}

absl::Status VulkanRunner::start() {
  int to[2], from[2];
  if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0)
    return absl::ErrnoToStatus(errno, "vulkan runner: pipe");
  ::signal(SIGPIPE, SIG_IGN);
  const std::string program = runner_program();
  child_ = ::fork();
  if (child_ == 0) {
    ::dup2(to[0], 0);
    ::dup2(from[1], 1);
    ::execl(program.c_str(), program.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(to[0]);
  ::close(from[1]);
  to_ = to[1], from_ = from[0];
  WireReader hello;
  if (!hello.receive(from_)) {
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    stop();
    return absl::InternalError(absl::StrCat(program, " ended with ", how_it_ended(status)));
  }
  const bool has_device = hello.number() == 1;
  device_ = std::string(hello.text());
  if (has_device) {
    matrices_.set_subgroup_size(static_cast<std::uint32_t>(hello.number()));
    const auto size = [&] { return static_cast<std::uint32_t>(hello.number()); };
    for (const bool of_bytes : {false, true}) {
      v1::CooperativeMatrix matrix;
      matrix.set_m(size()), matrix.set_n(size()), matrix.set_k(size());
      if (matrix.m() == 0) continue;
      *(of_bytes ? matrices_.mutable_cooperative_byte_matrix() : matrices_.mutable_cooperative_matrix()) = matrix;
    }
    return absl::OkStatus();
  }
  stop();
  return absl::NotFoundError(device_);
}

absl::StatusOr<VulkanRunner*> VulkanRunner::get() {
  static VulkanRunner& runner = *new VulkanRunner;
  static const absl::Status started = runner.start();
  if (!started.ok()) return started;
  return &runner;
}

absl::Status VulkanRunner::run(std::span<const Block> blocks, std::span<const Launch> launches) {
  if (child_ < 0) {
    if (absl::Status started = start(); !started.ok()) return started;
  }
  WireWriter request;
  request.number(blocks.size());
  for (const Block& block : blocks) request.text({reinterpret_cast<const char*>(block.data), block.size});
  std::map<const std::string*, std::uint64_t> modules;
  for (const Launch& launch : launches) modules.emplace(launch.module, 0);
  request.number(modules.size());
  std::uint64_t next = 0;
  for (auto& [module, number] : modules) {
    request.text(*module);
    number = next++;
  }
  request.number(launches.size());
  for (const Launch& launch : launches) {
    request.number(modules.at(launch.module));
    request.number(static_cast<std::uint64_t>(launch.units));
    request.number(launch.workgroup_size);
    request.number(launch.buffers.size());
    for (const std::uint8_t* buffer : launch.buffers) {
      // One past the end is an empty buffer's place.
      const auto in =
          std::ranges::find_if(blocks, [&](const Block& b) { return buffer >= b.data && buffer <= b.data + b.size; });
      if (in == blocks.end()) return absl::InternalError("vulkan runner: a buffer lies in no block");
      request.number(static_cast<std::uint64_t>(in - blocks.begin()));
      request.number(static_cast<std::uint64_t>(buffer - in->data));
    }
    request.number(launch.vars.size());
    for (const std::int64_t var : launch.vars) request.number(static_cast<std::uint64_t>(var));
  }
  WireReader reply;
  if (!request.send(to_) || !reply.receive(from_)) {
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = -1;
    stop();
    return absl::InternalError(absl::StrCat("the process that runs Vulkan ended with ", how_it_ended(status)));
  }
  if (reply.number() == 0) return absl::InternalError(absl::StrCat("vulkan: ", std::string(reply.text())));
  for (const Block& block : blocks) {
    const std::string_view bytes = reply.text();
    std::ranges::copy(bytes, block.data);
  }
  return absl::OkStatus();
}

}  // namespace hearth::conformance
