// WeightServer: the daemon's socket on which processes share weights (proto/hearth/v1/weights.proto), and its thread.
// Single flight: who asks for weights that somebody is making waits until they are there, or until the maker is gone or
// too slow, and then makes them. No peer is waited for: one that breaks the protocol, or does not read, is closed.
//
// Blocks are each user's own: no user is believed to know another's, nor to have made what it says. With `sharing` by
// node, a user that gives a block of which another one has the very bytes gets that one's file instead of its own, so
// that they are in memory once; the comparing is done here, in pieces between requests.
// Connections of users who may not use the daemon are refused, those beyond the limits too. Thread-safe. Errors: those
// of UnixSocket::open.
//   auto server = WeightServer::open(weights_socket_path(path), limits, connection_limits);
//   WeightStats stats = (*server)->stats();
#pragma once
#include <absl/status/statusor.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/sockets/client_policy.h"
#include "daemon/sockets/connection_table.h"
#include "daemon/sockets/unix_socket.h"
#include "daemon/store/key_namespace.h"
#include "daemon/weights/file_comparison.h"
#include "daemon/weights/weight_store.h"
#include "hearth/v1/weights.pb.h"
#include "proto/packet.h"

namespace hearth::daemon {

class WeightServer {
 public:
  static absl::StatusOr<std::unique_ptr<WeightServer>> open(const std::string& path, WeightLimits limits,
                                                            ConnectionLimits connections, ClientPolicy policy = {},
                                                            Sharing sharing = Sharing::kOwner);
  ~WeightServer();
  WeightServer(const WeightServer&) = delete;
  WeightServer& operator=(const WeightServer&) = delete;

  // How clients of a user get artifacts' files: the descriptor of one, or none. To be set once.
  using OpenArtifact = std::function<UniqueFd(uid_t, const Digest&)>;
  void set_open_artifact(OpenArtifact open);

  // Removes the socket, closes every connection and lets the blocks go. Once.
  void stop();
  WeightStats stats() const { return store_.stats(); }

 private:
  using Time = WeightStore::Time;
  struct Connection {
    UniqueFd socket;
    Peer peer;
    std::string asked;  // the key that it makes or waits for
    WeightSize asked_size;
    bool makes = false;
    Time makes_since = {};
    std::string held;
    std::vector<uid_t> owners;                 // with a block that is to be compared with the given one
    std::optional<FileComparison> comparison;  // of the given block with that of the owner who was the last here
  };
  using Connections = std::map<int, Connection>;  // by descriptor

  WeightServer(UnixSocket socket, WeightLimits limits, ConnectionLimits connections, ClientPolicy policy,
               Sharing sharing);
  void run();
  void accept_one();
  // Whether a connection of this process may be opened; closes another one where that takes it.
  bool make_room(const ClientId& newcomer);
  void close(Connections::iterator connection);
  // False when the connection is to be closed.
  bool serve(Connection& connection);
  bool answer(Connection& connection, const v1::WeightsRequest& request, UniqueFd file);
  bool find_digests(Connection& connection, const v1::FindDigests& request);
  bool store_digests(Connection& connection, const v1::StoreDigests& request);
  bool take(Connection& connection, const v1::TakeWeights& request);
  bool give(Connection& connection, UniqueFd file);
  bool keep(Connection& connection, UniqueFd file, bool is_anothers);
  bool compare_next(Connection& connection, UniqueFd file);
  bool compare_on(Connection& connection);
  void compare_in_turn();
  Connections::iterator next_comparison();
  bool open_artifacts(Connection& connection, const v1::OpenArtifacts& request);
  bool refuse(Connection& connection, const std::string& why);
  bool offer(Connection& connection);
  void hold(Connection& connection, const std::string& key);
  void pass_on();
  bool is_being_made(const Connection& asker) const;

  UnixSocket socket_;
  const ConnectionLimits limits_;
  const ClientPolicy policy_;
  const Sharing sharing_;
  WeightStore store_;
  Connections connections_;
  ConnectionShares shares_;
  int compared_last_ = -1;  // a descriptor
  std::mutex open_mutex_;
  OpenArtifact open_artifact_;  // guarded by open_mutex_
  const int stop_event_;
  std::thread thread_;
};

}  // namespace hearth::daemon
