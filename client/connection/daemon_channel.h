// DaemonChannel: the way to one hearthd over its unix socket. It starts a daemon when none listens (exactly one,
// however many processes race), connects anew when the daemon went away, and gives every call a deadline. Thread-safe;
// shared by the whole process through DaemonChannel::get. A forked child may use its parent's channels: it has
// connections and a session of its own, and nothing that it does ends the parent's.
// Errors: the daemon's status; UNAVAILABLE with the reason when there is no daemon and none can be started.
//
//   absl::StatusOr<std::shared_ptr<DaemonChannel>> channel = DaemonChannel::get({.socket = "", .auto_start = false});
//   absl::StatusOr<v1::StatsResponse> stats = (*channel)->stats(std::chrono::seconds(2));
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/connection/daemon_socket.h"
#include "client/connection/process_socket.h"
#include "hearth/v1/admin_service.pb.h"
#include "hearth/v1/compiler_service.pb.h"

namespace hearth::client {

struct ChannelConfig {
  std::string socket = {};  // empty: HEARTH_SOCKET, else the user's default
  bool auto_start = true;   // HEARTH_NO_AUTOSTART=1 also turns it off
};

class DaemonChannel {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  using Millis = std::chrono::milliseconds;

  // One channel a socket and process, made at first use; connects lazily.
  static absl::StatusOr<std::shared_ptr<DaemonChannel>> get(const ChannelConfig& config);
  ~DaemonChannel();

  const std::string& socket_path() const;
  // Who answered the last call, whom that connection's maker found trustworthy; nothing when it is not open any more.
  std::optional<DaemonPeer> last_peer() const;
  // Whether a daemon accepts connections on the socket now. Starts nothing. FAILED_PRECONDITION when what listens there
  // is another user's.
  absl::StatusOr<bool> daemon_is_running() const;
  // Begins to connect when a daemon listens, and returns at once: a later prepare() finds its session made. Starts no
  // daemon; whatever is wrong, the later call says.
  void connect_early();
  // Starts a daemon when none runs and waits until it accepts connections.
  absl::Status start_daemon(Deadline deadline);
  // Starts one when none runs and Config::auto_start and the environment allow it; else NotFound.
  absl::Status have_daemon(Deadline deadline);

  // Fills in protocol version and session id. `progress` runs on the calling thread. `call_ms`, when given, gets the
  // time of the call alone: no daemon start, connecting or session.
  absl::StatusOr<v1::PrepareResult> prepare(v1::PrepareRequest request, Deadline deadline,
                                            const std::function<void(const v1::PrepareProgress&)>& progress = {},
                                            double* call_ms = nullptr);
  absl::StatusOr<std::string> fetch_artifact(std::string_view digest, Deadline deadline);
  absl::StatusOr<v1::ExplainResponse> explain(v1::ExplainRequest request, Deadline deadline);
  // Lets the daemon search for better opts; `progress` runs on the calling thread, as does `time`, which times candidates
  // where the daemon's workers cannot (TuneRequest.caller_times).
  absl::StatusOr<v1::TuneResult> tune(v1::TuneRequest request, Deadline deadline,
                                      const std::function<void(const v1::TuneProgress&)>& progress = {},
                                      const std::function<v1::TimingAnswer(const v1::TimingTask&)>& time = {});
  // Fills in the protocol version. Compiles take minutes: a deadline, not a default, says how long is too long.
  absl::StatusOr<v1::BlobResult> compile_blob(v1::CompileBlobRequest request, Deadline deadline,
                                              const std::function<void(const v1::BlobProgress&)>& progress = {});
  // The connection that DaemonWeights::leave() left, for one call at a time; none at first.
  ProcessSocket take_files_connection();
  void keep_files_connection(ProcessSocket socket);
  // Gives a lease back; lazy and without waiting. Every lease ends with the process anyway.
  void release_lease(std::uint64_t lease_id);

  // Admin calls never start a daemon.
  absl::StatusOr<v1::StatsResponse> stats(Millis timeout);
  absl::StatusOr<v1::CacheListResponse> cache_list(const v1::CacheListRequest& request, Millis timeout);
  absl::StatusOr<v1::CacheVerifyResponse> cache_verify(Millis timeout);
  absl::StatusOr<v1::CacheClearResponse> cache_clear(const v1::CacheClearRequest& request, Millis timeout);
  absl::StatusOr<v1::RemoveBlobsResponse> remove_blobs(const v1::RemoveBlobsRequest& request, Millis timeout);
  // Tries the daemon's cache beyond its node.
  absl::StatusOr<v1::RemoteCheckResponse> remote_check(Millis timeout);
  absl::StatusOr<v1::RemoveModelResponse> remove_model(const v1::RemoveModelRequest& request, Millis timeout);
  // Packs: client/files/pack_file.h is the file.
  absl::StatusOr<v1::ExportPackResponse> export_pack(const v1::ExportPackRequest& request, Millis timeout);
  absl::StatusOr<v1::ImportEntryResponse> import_entry(const v1::ImportEntryRequest& request, Millis timeout);
  absl::StatusOr<v1::ListPacksResponse> list_packs(Millis timeout);
  absl::Status shutdown(Millis timeout);

 private:
  struct State;
  explicit DaemonChannel(std::unique_ptr<State> state);
  State& state() const;
  mutable std::atomic<State*> newest_;  // of this process, or still of the one that it was forked from
};

}  // namespace hearth::client
