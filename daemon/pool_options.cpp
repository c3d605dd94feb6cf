#include "daemon/pool_options.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>

#include "daemon/worker_pool/readable_paths.h"
#include "daemon/worker_pool/sandbox_layers.h"
#include "daemon/worker_pool/worker_process.h"
#include "runtime/build_id.h"

namespace hearth::daemon {
namespace {

WorkerPoolOptions pool_options(const Config& config, const char* workers) {
  WorkerPoolOptions options;
  options.command.path = config.worker;
  options.command.temp_folder = config.temp_dir;
  options.command.build_id = std::string(build_id());
  options.command.limits.memory_bytes = config.worker_memory_bytes;
  options.command.limits.hang_limit = std::chrono::milliseconds(config.hang_limit_ms);
  options.command.wall_limit = std::chrono::milliseconds(config.compile_limit_ms);
  const char* home = std::getenv("HOME");
  options.command.secrets = secret_folders(config.cache_dir, home != nullptr ? home : "");
  options.command.sandbox = std::make_shared<SandboxStatus>(config.sandbox, workers);
  options.command.cgroups = WorkerCgroups::of_this_process();
  if (config.sandbox == SandboxSetting::kOff) {
    options.command.without = {std::begin(kWorkerLayers), std::end(kWorkerLayers)};
    options.command.without.erase(layer::kLimits);
  }
  options.clock = options.command.clock = config.clock;
  options.num_workers = config.workers;
  options.max_queued_lowerings = config.queue_limit;
  options.idle_limit = std::chrono::milliseconds(config.worker_idle_ms);
  return options;
}

}  // namespace

WorkerPoolOptions compiler_pool_options(const Config& config) {
  WorkerPoolOptions options = pool_options(config, "compiler workers");
  options.num_spare = 1;
  for (const std::string& folder : config.blob_libraries) {
    const Paths paths = library_paths(folder, options.command.secrets);
    options.command.reads.insert(options.command.reads.end(), paths.begin(), paths.end());
  }
  return options;
}

WorkerPoolOptions blob_pool_options(const Config& config) {
  // The worker itself tells of a compiler that takes too long; this is for when it does not.
  constexpr std::chrono::milliseconds kMargin{5'000};
  constexpr std::uint64_t kTasks = 1'024;  // drivers, their passes and what those start
  WorkerPoolOptions options = pool_options(config, "blob workers");
  options.one_job_a_worker = true;  // its compilers run programs, which may leave some behind
  options.command.path = config.blob_worker;
  options.command.setting = "--blob-worker";
  options.command.limits.memory_bytes = config.blob_worker_memory_bytes;
  options.time_setting = "blob_compile_limit_s";
  options.memory_setting = "blob_worker_memory";
  options.command.limits.tasks = kTasks;
  options.command.runs = compiler_paths(options.command.secrets);
  options.command.runs.insert(options.command.runs.end(), config.sandbox_read.begin(), config.sandbox_read.end());
  if (!config.ptxas.empty()) {
    const std::filesystem::path folder = std::filesystem::path(config.ptxas).parent_path();
    options.command.runs.push_back(folder.string());
  }
  options.command.program_limit = std::chrono::milliseconds(config.blob_compile_limit_ms);
  options.command.wall_limit = options.command.program_limit + kMargin;
  // All processors for as long as a compile may take, from the time on at which a worker would be replaced: at half.
  const auto wall_s =
      static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(options.command.wall_limit).count());
  options.command.limits.processor_s = 2 * (wall_s + 1) * std::max(1u, std::thread::hardware_concurrency());
  options.num_workers = config.blob_workers;
  options.max_queued_lowerings = config.blob_queue_limit;
  return options;
}

absl::Status check_sandbox(const Config& config) {
  if (config.sandbox != SandboxSetting::kRequired) return absl::OkStatus();
  for (const WorkerPoolOptions& options : {compiler_pool_options(config), blob_pool_options(config)}) {
    if (absl::Status status = WorkerProcess::spawn(options.command, -1).status();
        !status.ok() && !absl::IsNotFound(status))  // installed without it
      return status;
  }
  return absl::OkStatus();
}

}  // namespace hearth::daemon
