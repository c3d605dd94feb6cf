// DaemonWeights: weights shared with other processes through the daemon, and files of its cache, over a connection of
// its own (proto/hearth/v1/weights.proto). Everything that goes wrong, no such daemon included, means that a plan keeps
// its weights to itself; nothing is reported. Waits for the daemon up to two seconds, for another process that makes
// the same weights up to thirty. Files are hashed once a node: the daemon remembers digests by what tells a file from a
// changed one. Used by one thread. What hold() gives may be let go by any.
//
//   DaemonWeights weights(channel->socket_path(), deadline);
//   auto plan = runtime::LoadedPlan::create(request, &weights);
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/connection/daemon_socket.h"
#include "client/connection/process_socket.h"
#include "hearth/v1/weights.pb.h"
#include "proto/packet.h"
#include "runtime/weights/weight_sharing.h"

namespace hearth::client {

class DaemonWeights : public runtime::WeightSharing {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // `known` as for connect_to_daemon(). `kept`: what leave() gave to an earlier one.
  DaemonWeights(std::string socket_path, Time deadline, std::optional<DaemonPeer> known = std::nullopt,
                ProcessSocket kept = {})
      : socket_path_(std::move(socket_path)),
        deadline_(deadline),
        known_(known),
        socket_(std::move(kept)),
        is_untried_(socket_) {}

  // Who answers calls now, as `known`.
  void set_known(std::optional<DaemonPeer> known) { known_ = known; }
  // So that the daemon has accepted by the time that something is asked. Whatever is wrong, that says.
  void connect_early();

  absl::StatusOr<std::vector<Digest>> digests(const std::vector<std::string_view>& bytes) override;
  runtime::WeightOffer take(const Digest& key, std::size_t size_bytes, runtime::WeightMemory memory) override;
  runtime::WeightReceipt give(int file) override;
  std::shared_ptr<const void> hold() override;
  // The connection, for a later one of this process, where it stands for no weights.
  ProcessSocket leave();

  // The bytes of artifacts that a Prepare named, by digest, as far as the daemon hands out their files; nothing is
  // checked yet. Empty where it does not.
  std::map<std::string, std::string> read_artifacts(const std::vector<std::string>& digests);

 private:
  struct Answer {
    v1::WeightsResponse response;
    std::vector<UniqueFd> files;
  };
  // After a failure there is no connection any more.
  absl::StatusOr<Answer> ask(const v1::WeightsRequest& request, std::chrono::milliseconds patience, int file = -1);
  absl::StatusOr<Answer> exchange(const v1::WeightsRequest& request, std::chrono::milliseconds patience, int file);
  absl::Status connect();

  const std::string socket_path_;
  const Time deadline_;
  std::optional<DaemonPeer> known_;
  ProcessSocket socket_;
  bool is_untried_;        // opened some time ago: the daemon may be gone
  bool is_bound_ = false;  // the daemon takes it for a plan that uses weights
};

}  // namespace hearth::client
