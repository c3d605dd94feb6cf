#include "daemon/weights/weight_server.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/status_macros.h"
#include "proto/socket_path.h"
#include "proto/versions.h"

namespace hearth::daemon {
namespace {

constexpr std::chrono::seconds kMakeLimit{10};  // then another one that waits makes them
constexpr int kMaxRanges = 256;                 // of a packet
constexpr int kLookEvery_ms = 500;              // for blocks nobody uses and makers that are too slow
constexpr std::size_t kKeyBytes = 32;
constexpr std::size_t kDigestBytes = 32;
constexpr const char* kDevicePrefix = "device ";  // of keys of a GPU's memory: none is another's

FileRangeKey key_of(const v1::FileRange& range) {
  return {range.device(),
          range.inode(),
          range.size_bytes(),
          static_cast<std::uint64_t>(range.modified_ns()),
          static_cast<std::uint64_t>(range.changed_ns()),
          range.offset(),
          range.length()};
}

ClientId process_of(const Peer& peer) { return {peer.uid, peer.pid}; }

WeightStore::Time now() { return std::chrono::steady_clock::now(); }

bool send(int socket, const v1::WeightsResponse& response, int file = -1) {
  return send_packet(socket, response.SerializeAsString(), file).ok();
}

bool send_outcome(int socket, v1::WeightsResponse::Outcome outcome, int file = -1) {
  v1::WeightsResponse response;
  response.set_outcome(outcome);
  return send(socket, response, file);
}

}  // namespace

absl::StatusOr<std::unique_ptr<WeightServer>> WeightServer::open(const std::string& path, WeightLimits limits,
                                                                 ConnectionLimits connections, ClientPolicy policy,
                                                                 Sharing sharing) {
  HEARTH_ASSIGN_OR_RETURN(UnixSocket socket, UnixSocket::open(path, SOCK_SEQPACKET, policy.is_shared()));
  if (policy.is_shared()) {
    const absl::Status linked = socket.link_to(mountable_weights_socket_path(path), /*for_all=*/true);
    if (!linked.ok()) spdlog::warn("containers share no weights: {}", std::string(linked.message()));
  }
  return std::unique_ptr<WeightServer>(
      new WeightServer(std::move(socket), limits, connections, std::move(policy), sharing));
}

WeightServer::WeightServer(UnixSocket socket, WeightLimits limits, ConnectionLimits connections, ClientPolicy policy,
                           Sharing sharing)
    : socket_(std::move(socket)),
      limits_(connections),
      policy_(std::move(policy)),
      sharing_(sharing),
      store_(limits),
      stop_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

WeightServer::~WeightServer() {
  stop();
  ::close(stop_event_);
}

void WeightServer::stop() {
  if (!thread_.joinable()) return;
  socket_.remove();
  ::eventfd_write(stop_event_, 1);
  thread_.join();
}

void WeightServer::run() {
  std::vector<pollfd> entries;
  for (;;) {
    entries = {{stop_event_, POLLIN, 0}, {socket_.fd(), POLLIN, 0}};
    for (const auto& [fd, connection] : connections_) entries.push_back({fd, POLLIN, 0});
    const auto waits = [](const auto& entry) { return !entry.second.asked.empty() && !entry.second.makes; };
    const bool has_to_look = store_.has_unused() || std::any_of(connections_.begin(), connections_.end(), waits);
    const bool has_to_compare = next_comparison() != connections_.end();
    const int ready = ::poll(entries.data(), entries.size(), has_to_compare ? 0 : has_to_look ? kLookEvery_ms : -1);
    if (ready < 0 && errno != EINTR) break;
    if (entries[0].revents != 0) break;
    for (std::size_t i = 2; i < entries.size() && ready > 0; ++i) {
      const auto at = connections_.find(entries[i].fd);
      if (entries[i].revents != 0 && at != connections_.end() && !serve(at->second)) close(at);
    }
    if (entries[1].revents != 0) accept_one();
    compare_in_turn();
    pass_on();
    store_.drop_unused(now());
  }
  socket_.close();
  connections_.clear();
  store_.drop_all();
}

void WeightServer::accept_one() {
  UniqueFd fd(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd) {
    // Out of descriptors: who waits to be accepted stays where he is, and this loop does not spin meanwhile.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return;
  }
  Connection connection;
  connection.peer = peer_of(fd.get());
  if (!policy_.admits(fd.get(), connection.peer) || !make_room(process_of(connection.peer))) return;
  connection.socket = std::move(fd);
  const int number = connection.socket.get();
  shares_.add(number, process_of(connection.peer));
  connections_.emplace(number, std::move(connection));
}

bool WeightServer::make_room(const ClientId& newcomer) {
  if (shares_.of_process(newcomer) >= limits_.per_process) return false;
  if (connections_.size() < limits_.total) return true;
  const std::optional<int> fd = shares_.to_close_for(newcomer);
  if (fd) close(connections_.find(*fd));
  return fd.has_value();
}

void WeightServer::close(Connections::iterator connection) {
  hold(connection->second, "");
  shares_.remove(connection->first, process_of(connection->second.peer));
  connections_.erase(connection);
}

bool WeightServer::serve(Connection& connection) {
  absl::StatusOr<Packet> packet = receive_packet(connection.socket.get());
  if (absl::IsUnavailable(packet.status())) return true;
  if (absl::IsOutOfRange(packet.status())) return false;
  if (!packet.ok()) return refuse(connection, std::string(packet.status().message()));
  v1::WeightsRequest request;
  if (!request.ParseFromString(packet->bytes)) return refuse(connection, "a request cannot be read");
  if (request.version() != kWeightsVersion) {
    return refuse(connection, absl::StrCat("version ", request.version(), "; this daemon speaks ", kWeightsVersion));
  }
  const bool is_unanswered = !connection.asked.empty() && (!connection.makes || connection.comparison);
  if (is_unanswered) return refuse(connection, "a request came before an answer");
  return answer(connection, request, std::move(packet->file));
}

bool WeightServer::answer(Connection& connection, const v1::WeightsRequest& request, UniqueFd file) {
  if (file && !request.has_give()) return refuse(connection, "a file came with a request that takes none");
  switch (request.request_case()) {
    case v1::WeightsRequest::kFindDigests:
      return find_digests(connection, request.find_digests());
    case v1::WeightsRequest::kStoreDigests:
      return store_digests(connection, request.store_digests());
    case v1::WeightsRequest::kTake:
      return take(connection, request.take());
    case v1::WeightsRequest::kGive:
      return give(connection, std::move(file));
    case v1::WeightsRequest::kOpenArtifacts:
      return open_artifacts(connection, request.open_artifacts());
    default:
      return refuse(connection, "a request asks for nothing that this daemon knows");
  }
}

bool WeightServer::find_digests(Connection& connection, const v1::FindDigests& request) {
  if (request.ranges_size() > kMaxRanges) return refuse(connection, "too many ranges in a packet");
  v1::WeightsResponse response;
  response.set_outcome(v1::WeightsResponse::DONE);
  for (const v1::FileRange& range : request.ranges()) {
    const Digest* found = store_.find_digest(connection.peer.uid, key_of(range));
    response.add_digests(found != nullptr ? to_bytes(*found) : std::string());
  }
  return send(connection.socket.get(), response);
}

bool WeightServer::store_digests(Connection& connection, const v1::StoreDigests& request) {
  const auto is_digest = [](const std::string& bytes) { return bytes.size() == kDigestBytes; };
  if (request.ranges_size() > kMaxRanges) return refuse(connection, "too many ranges in a packet");
  if (request.ranges_size() != request.digests_size() ||
      !std::all_of(request.digests().begin(), request.digests().end(), is_digest)) {
    return refuse(connection, "digests and ranges do not fit");
  }
  for (int i = 0; i < request.ranges_size(); ++i) {
    Digest digest;
    std::copy(request.digests(i).begin(), request.digests(i).end(), digest.begin());
    store_.store_digest(connection.peer.uid, key_of(request.ranges(i)), digest);
  }
  return send_outcome(connection.socket.get(), v1::WeightsResponse::DONE);
}

bool WeightServer::take(Connection& connection, const v1::TakeWeights& request) {
  if (request.key().size() != kKeyBytes || request.size_bytes() == 0)
    return refuse(connection, "a key has no 32 bytes");
  const WeightSize size = {request.size_bytes(), request.on_device()};
  if (!store_.takes(size)) return refuse(connection, "the weights are more than this daemon keeps");
  hold(connection, "");
  connection.asked = size.on_device ? absl::StrCat(kDevicePrefix, request.key()) : request.key();
  connection.asked_size = size;
  connection.makes = false;
  return offer(connection);
}

// The weights, or that they are to be made, or nothing while somebody makes them.
bool WeightServer::offer(Connection& connection) {
  const int file = store_.find(connection.peer.uid, connection.asked, connection.asked_size.bytes, now());
  if (file >= 0) {
    hold(connection, std::exchange(connection.asked, ""));
    connection.makes = false;
    return send_outcome(connection.socket.get(), v1::WeightsResponse::FOUND, file);
  }
  if (connection.makes || is_being_made(connection)) return true;
  connection.makes = true;
  connection.makes_since = now();
  return send_outcome(connection.socket.get(), v1::WeightsResponse::MAKE);
}

bool WeightServer::is_being_made(const Connection& asker) const {
  const Time latest = now() - kMakeLimit;
  return std::any_of(connections_.begin(), connections_.end(), [&](const auto& other) {
    const Connection& maker = other.second;
    return maker.makes && maker.peer.uid == asker.peer.uid && maker.asked == asker.asked &&
           maker.asked_size.bytes == asker.asked_size.bytes && maker.makes_since > latest;
  });
}

bool WeightServer::give(Connection& connection, UniqueFd file) {
  if (!connection.makes || !file) return refuse(connection, "weights were given that were not asked for, or no file");
  const uid_t user = connection.peer.uid;
  const WeightSize& size = connection.asked_size;
  const absl::Status fits = store_.check(size, file.get()).status();
  if (!fits.ok()) return refuse(connection, std::string(fits.message()));
  if (sharing_ == Sharing::kNode && !size.on_device)
    connection.owners = store_.other_owners(user, connection.asked, size.bytes);
  return compare_next(connection, std::move(file));
}

// With the block of the next owner; where none is left the given one is kept.
bool WeightServer::compare_next(Connection& connection, UniqueFd file) {
  connection.comparison.reset();
  while (!connection.owners.empty()) {
    const uid_t owner = connection.owners.back();
    connection.owners.pop_back();
    const int theirs = store_.peek(owner, connection.asked, connection.asked_size.bytes);
    UniqueFd copy(theirs < 0 ? -1 : ::fcntl(theirs, F_DUPFD_CLOEXEC, 0));
    if (!copy) continue;
    connection.comparison.emplace(std::move(file), std::move(copy), connection.asked_size.bytes);
    return true;
  }
  return keep(connection, std::move(file), /*is_anothers=*/false);
}

bool WeightServer::compare_on(Connection& connection) {
  switch (connection.comparison->advance()) {
    case FileComparison::kEqual:
      return keep(connection, connection.comparison->take_second(), /*is_anothers=*/true);
    case FileComparison::kDifferent:
      return compare_next(connection, connection.comparison->take_first());
    default:
      return true;
  }
}

// The next connection after the last one that is being compared, in a circle.
WeightServer::Connections::iterator WeightServer::next_comparison() {
  const auto is_compared = [](const auto& entry) { return entry.second.comparison.has_value(); };
  const auto after = connections_.upper_bound(compared_last_);
  const auto next = std::find_if(after, connections_.end(), is_compared);
  if (next != connections_.end()) return next;
  const auto first = std::find_if(connections_.begin(), after, is_compared);
  return first == after ? connections_.end() : first;
}

// A piece.
void WeightServer::compare_in_turn() {
  const auto next = next_comparison();
  if (next == connections_.end()) return;
  compared_last_ = next->first;
  if (!compare_on(next->second)) close(next);
}

// The block of who makes it; `is_anothers`: a file of the same bytes that was here before.
bool WeightServer::keep(Connection& connection, UniqueFd file, bool is_anothers) {
  connection.comparison.reset();
  connection.owners.clear();
  const std::string key = std::exchange(connection.asked, "");
  connection.makes = false;
  const ClientId maker{connection.peer.uid, policy_.is_shared() ? 0 : connection.peer.pid};
  const absl::Status put = store_.put(maker, key, connection.asked_size, std::move(file), now());
  if (!put.ok()) return refuse(connection, std::string(put.message()));
  hold(connection, key);
  const int kept = store_.peek(maker.uid, key, connection.asked_size.bytes);
  return send_outcome(connection.socket.get(), v1::WeightsResponse::DONE, is_anothers ? kept : -1);
}

void WeightServer::set_open_artifact(OpenArtifact open) {
  std::lock_guard lock(open_mutex_);
  open_artifact_ = std::move(open);
}

bool WeightServer::open_artifacts(Connection& connection, const v1::OpenArtifacts& request) {
  if (static_cast<std::size_t>(request.digests_size()) > kMaxPacketFiles)
    return refuse(connection, "too many artifacts in a packet");
  OpenArtifact open;
  {
    std::lock_guard lock(open_mutex_);
    open = open_artifact_;
  }
  v1::WeightsResponse response;
  response.set_outcome(v1::WeightsResponse::FOUND);
  std::vector<UniqueFd> files;
  std::vector<int> numbers;
  for (const std::string& bytes : request.digests()) {
    if (bytes.size() != kDigestBytes) return refuse(connection, "a digest has no 32 bytes");
    Digest digest;
    std::copy(bytes.begin(), bytes.end(), digest.begin());
    UniqueFd file = open ? open(connection.peer.uid, digest) : UniqueFd();
    if (!file) continue;
    response.add_digests(bytes);
    numbers.push_back(file.get());
    files.push_back(std::move(file));
  }
  return send_packet_of_files(connection.socket.get(), response.SerializeAsString(), numbers).ok();
}

// Connections that wait may have become owners or makers.
void WeightServer::pass_on() {
  for (auto at = connections_.begin(); at != connections_.end();) {
    const auto next = std::next(at);
    if (!at->second.asked.empty() && !at->second.makes && !offer(at->second)) close(at);
    at = next;
  }
}

bool WeightServer::refuse(Connection& connection, const std::string& why) {
  spdlog::debug("closed a weights connection of process {}: {}", connection.peer.pid, why);
  v1::WeightsResponse response;
  response.set_outcome(v1::WeightsResponse::REFUSED);
  response.set_message(why);
  send(connection.socket.get(), response);
  return false;
}

void WeightServer::hold(Connection& connection, const std::string& key) {
  if (!connection.held.empty()) store_.release(connection.peer.uid, connection.held, now());
  connection.held = key;
  if (!key.empty()) store_.hold(connection.peer.uid, key);
}

}  // namespace hearth::daemon
