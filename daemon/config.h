// Config: hearthd's settings. A TOML file (--config, HEARTH_CONFIG), then the environment, then flags; later wins.
// Every setting has one name: `cache_limit` in the file, HEARTH_CACHE_LIMIT, --cache-limit.
// Errors are one line naming the file with its line, the variable or the flag: INVALID_ARGUMENT. Example:
//   absl::StatusOr<Config> config = load_config(argc, argv);
//   if (config.ok() && !config->message.empty()) print(config->message);   // --help, --version
#pragma once
#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "daemon/remote/remote_settings.h"
#include "daemon/setting.h"
#include "daemon/sockets/client_policy.h"
#include "daemon/store/key_namespace.h"
#include "daemon/store/request_limits.h"
#include "daemon/store/user_accounts.h"
#include "daemon/worker_pool/sandbox_status.h"

namespace hearth::cache {
class FileSystem;
}  // namespace hearth::cache

namespace hearth::daemon {

struct Config {
  std::string message;  // not empty: print this text, which ends its last line, and exit 0

  std::string socket;    // resolved
  ClientPolicy clients;  // who may use it
  UserQuotas user_quotas;
  std::string metrics_address;            // of the status server; empty: none
  bool metrics_public = false;            // also beyond this machine's loopback
  bool sealed = false;                    // nothing is compiled for clients
  bool sealed_takes_older_tuning = true;  // of plans, where nothing is compiled
  Sharing sharing = Sharing::kNode;       // between users, where several may use it
  int activated_socket = -1;              // on which a service manager listens for clients; -1: none
  std::string cache_dir;                  // resolved: where it is written
  std::string cache_below;                // resolved: a cache that is only read, mostly none (daemon/cache_place.h)
  std::string cache_reason;               // resolved: why it lies there, for people
  bool cache_is_temporary = false;        // resolved
  std::uint64_t cache_limit_bytes = 10ull << 30;
  bool allow_network_fs = false;
  std::uint64_t memory_store_bytes = 512ull << 20;

  std::string temp_dir;  // of the workers' private folders; resolved: TMPDIR, else /tmp

  std::string worker;    // resolved: beside hearthd unless given
  unsigned workers = 0;  // resolved: the number of processors
  std::uint64_t worker_memory_bytes = 4ull << 30;
  std::uint64_t worker_idle_ms = 60'000;
  std::uint64_t compile_limit_ms = 60'000;
  std::uint64_t hang_limit_ms = 10'000;
  std::uint64_t refuse_ms = 600'000;
  std::uint64_t queue_limit = 256;
  std::uint64_t tune_turn_ms = 10'000;

  SandboxSetting sandbox = SandboxSetting::kBestEffort;
  std::vector<std::string> sandbox_read;  // what blob compilers may read and run beside what they need

  // Kernel blobs: compilers run as programs, minutes long, with a worker class of their own.
  std::string blob_worker;                              // resolved: hearth-blob-worker beside hearthd unless given
  unsigned blob_workers = 0;                            // resolved: as many as blob_memory and processors allow
  std::uint64_t blob_worker_memory_bytes = 3ull << 30;  // of one compile
  std::uint64_t blob_memory_bytes = 0;                  // of all of them; resolved: half of the machine's memory
  std::uint64_t blob_compile_limit_ms = 900'000;
  std::uint64_t blob_queue_limit = 10'000;
  std::uint64_t blob_retry_ms = 30'000;
  std::string ptxas;                        // makes cubins of PTX; empty: PTX is what kernels for CUDA are
  std::vector<std::string> blob_libraries;  // folders with a manifest whose blobs traced ops may become

  // Weights that processes of one user share.
  std::uint64_t weights_memory_bytes = 0;  // of all of them; resolved: half of the machine's memory
  std::uint64_t weights_keep_ms = 60'000;  // after their last user
  std::uint64_t max_weights = 256;         // blocks

  RequestLimits limits;
  std::uint64_t max_connections = 512;
  std::uint64_t max_connections_per_process = 256;
  std::uint64_t rpc_memory_bytes = 256ull << 20;  // of requests and answers under way

  RemoteSettings remote;  // a cache that nodes share

  std::uint64_t idle_exit_ms = 0;  // 0: never
  std::uint64_t drain_ms = 30'000;
  std::string log_file;  // empty: stderr; resolved: default_log unless given
  std::string default_log;
  std::string log_level = "info";
  bool log_json = false;  // an object a line
  int ready_fd = -1;

  std::vector<SettingInForce> settings;  // all, as they were given
  std::string program;  // argv[0]; empty for a daemon inside another program, which no upgrade replaces

  cache::FileSystem* file_system = nullptr;  // tests inject failing writes; null: the real one
  const Clock* clock = &Clock::machine();    // tests turn their own
};

absl::StatusOr<Config> load_config(int argc, const char* const* argv);

// "10GiB", "512M", "1048576"; binary units.
absl::StatusOr<std::uint64_t> parse_bytes(const std::string& text);
// "60", "0.5", "2.5": seconds as milliseconds.
absl::StatusOr<std::uint64_t> parse_seconds(const std::string& text);

}  // namespace hearth::daemon
