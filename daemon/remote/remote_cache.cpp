#include "daemon/remote/remote_cache.h"

#include <spdlog/spdlog.h>
#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "daemon/remote/remote_lookup.h"
#include "daemon/remote/writer_key.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxAlerts = 64;  // that are told apart; later ones are counted alone

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  (void)!::getrandom(&seed, sizeof seed, 0);
  return seed;
}

}  // namespace

RemoteCache::RemoteCache(const RemoteSettings& settings, const Clock& clock)
    : settings_(settings),
      trusted_(std::make_shared<const TrustedKeys>(settings.trusted)),
      leases_([this] { return has_ended_ ? nullptr : server_to_ask(nullptr); }, [this] { return times_.usual(); },
              clock) {
  for (const RemoteAddress& address : settings.addresses)
    servers_.push_back(std::make_unique<RemoteServer>(address, settings, clock, random_seed()));
  lookup_ = std::make_unique<Lookups>(LookupServices{
      .clock = clock,
      .trusted = trusted_,
      .server = [this](const RemoteServer* except) { return server_to_ask(except); },
      .takes_hedge = [this] { return hedges_.takes_hedge(); },
      .hedge_after = [this] { return times_.head_start(); },
      .ended = [this](const RemoteAnswer& answer, Clock::duration took) { ended(answer, took); },
  });
  if (settings.writer_key_file.empty()) return;
  absl::StatusOr<Ed25519Secret> secret = read_writer_key(settings.writer_key_file);
  if (secret.ok()) {
    writer_ = std::make_unique<const Ed25519Secret>(*std::move(secret));
  } else {
    writer_problem_ = secret.status();
    spdlog::warn("results are not sent to the remote cache: {}", std::string(writer_problem_.message()));
  }
}

RemoteCache::~RemoteCache() {
  end();
  servers_.clear();  // ends what is being sent
}

void RemoteCache::end() {
  has_ended_ = true;
  uploads_.end();
  lookup_->end();
  leases_.end();
}

void RemoteCache::begin() {
  for (const auto& server : servers_) server->begin();
}

void RemoteCache::maintain() {
  for (const auto& server : servers_) server->probe_if_due();
}

RemoteServer* RemoteCache::server_to_ask(const RemoteServer* except) const {
  const auto place =
      std::ranges::find_if(servers_, [&](const auto& server) { return server.get() != except && server->is_asked(); });
  return place == servers_.end() ? nullptr : place->get();
}

bool RemoteCache::is_asked() const { return !has_ended_ && server_to_ask(nullptr) != nullptr; }

std::shared_ptr<ResultFetch> RemoteCache::fetch(const EntryKey& entry, std::uint64_t most_bytes,
                                                std::function<void(RemoteAnswer)> done) {
  RemoteServer* server = has_ended_ ? nullptr : server_to_ask(nullptr);
  if (server == nullptr) {
    done({RemoteOutcome::kError, health(), {}});
    return nullptr;
  }
  hedges_.count_call();
  return lookup_->begin(server, entry, most_bytes, std::move(done));
}

void RemoteCache::ended(const RemoteAnswer& answer, Clock::duration took) {
  const bool is_answer = answer.outcome == RemoteOutcome::kHit || answer.outcome == RemoteOutcome::kMiss;
  if (is_answer) times_.add(took);
  bool tells = false;
  {
    const std::lock_guard lock(mutex_);
    ++lookups_[static_cast<std::size_t>(answer.outcome)];
    const bool is_alarming = answer.outcome == RemoteOutcome::kUnsigned || absl::IsDataLoss(answer.status);
    if (is_alarming && alerts_.size() < kMaxAlerts) tells = alerts_.emplace(answer.status.message()).second;
  }
  // Somebody has put it there, or changed it: an attack, a damaged server, or a key that this node was not told of.
  if (tells) spdlog::error("remote cache: {}", std::string(answer.status.message()));
}

void RemoteCache::publish(const EntryKey& entry, std::vector<RemoteFile> files) {
  if (!writer_) return;
  ResultStatement statement{entry.domain, entry.key, entry.kind, entry.salt, entry.flavour, entry.build_id, {}, 0};
  for (const RemoteFile& file : files) statement.files.push_back({file.path, sha256(file.bytes), file.bytes.size()});
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  statement.signed_at = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  files.push_back({kStatementPath, signed_statement(statement, *writer_)});
  uploads_.add(server_to_ask(nullptr), {address_of(entry), std::move(files)});
}

void RemoteCache::drain(std::chrono::milliseconds limit) {
  if (!uploads_.wait_until_empty(limit)) spdlog::warn("leaving before all results were sent to the remote cache");
  uploads_.end();
}

RemoteCounters RemoteCache::counters() const {
  RemoteCounters counters;
  {
    const std::lock_guard lock(mutex_);
    counters.lookups = lookups_;
  }
  counters.hedges = hedges_.hedges();
  for (const auto& server : servers_) counters.breaker_openings += server->breaker().times_opened();
  counters.uploads = uploads_.counters();
  return counters;
}

absl::Status RemoteCache::health() const {
  for (const auto& server : servers_) {
    if (absl::Status problem = server->problem(); !problem.ok()) return problem;
  }
  return writer_problem_.ok() ? uploads_.problem() : writer_problem_;
}

}  // namespace hearth::daemon
