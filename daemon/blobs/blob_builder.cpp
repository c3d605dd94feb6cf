#include "daemon/blobs/blob_builder.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "daemon/blobs/blob_check.h"
#include "daemon/remote/remote_entries.h"
#include "daemon/worker_pool/readable_paths.h"

namespace hearth::daemon {
namespace {

constexpr std::uint64_t kMaxSourceBytes = 32u << 20;  // of a source or header; what has more is no text of anybody's
constexpr char kAbsence[] = "' is not in the cache";

// Two installations may differ in their headers, so they do not share a compile; their blobs, once made, they do.
Digest flight_key(const cache::KeyMaterial& request, const std::string& root) {
  return sha256(to_bytes(cache::key(request)) + root);
}

absl::Status source_problem(const v1::BlobSpec& spec, const absl::Status& status) {
  const std::string message = absl::StrCat("the source of blob '", spec.stem(), "' cannot be read: ", status.message(),
                                           "; is CK_JIT_ROOT (", spec.root(), ") the folder of the manifest?");
  return absl::IsNotFound(status) ? absl::InvalidArgumentError(message) : absl::Status(status.code(), message);
}

}  // namespace

bool is_absence(const absl::Status& status) {
  return absl::IsNotFound(status) && absl::EndsWith(status.message(), kAbsence);
}

BlobBuilder::BlobBuilder(const BlobServices& services, std::chrono::milliseconds retry_after)
    : services_(services),
      files_(kMaxSourceBytes),
      records_(services.store, &files_),
      failures_(retry_after),
      toolchains_(services.pool) {}
BlobBuilder::~BlobBuilder() = default;

std::shared_ptr<BlobBuilder::Job> BlobBuilder::compile(const v1::CompileBlobRequest& request, Caller caller) {
  absl::Status status = closed_ ? absl::UnavailableError("the daemon is shutting down") : check_blob_request(request);
  auto job = std::make_shared<Job>(this, request, std::move(caller));
  if (status.ok()) {
    services_.executor->post_for(job->caller_.client, [job] { job->read_source(); });
  } else {
    job->answer(std::move(status));
  }
  return job;
}

void BlobBuilder::Job::read_source() {
  if (ended()) return;
  if (absl::Status secret = check_blob_root(spec_, builder_.services_.pool->command().secrets); !secret.ok())
    return answer(std::move(secret));
  const absl::StatusOr<Digest> source = builder_.files_.digest(spec_.root() + "/" + spec_.source());
  if (!source.ok()) return answer(source_problem(spec_, source.status()));
  const std::shared_ptr<Job> self = shared_from_this();
  keep(builder_.toolchains_.find(spec_.toolchain(), caller_.client,
                                 [self, source = *source](const BlobToolchains::Outcome& toolchain) {
                                   self->builder_.services_.executor->post_for(
                                       self->caller_.client,
                                       [self, source, toolchain] { self->look_up(source, toolchain); });
                                 }),
       &toolchain_ticket_);
}

void BlobBuilder::Job::look_up(const Digest& source, const BlobToolchains::Outcome& toolchain) {
  if (ended()) return;
  if (!toolchain.ok()) return answer(toolchain.status());
  toolchain_digest_ = (*toolchain)->digest();
  request_ = cache::blob_request_material(spec_, toolchain_digest_, source);
  flight_key_ = flight_key(request_, spec_.root());
  if (std::optional<FoundBlob> found = builder_.records_.find(spec_, request_)) {
    auto built = std::make_shared<BuiltBlob>();
    built->blob = std::move(*found);
    built->found = true;
    return answer(BlobAnswer{std::move(built), BlobOutcome::kHit});
  }
  if (only_if_cached_) return answer(absl::NotFoundError(absl::StrCat("blob '", spec_.stem(), kAbsence)));
  if (absl::Status failed = builder_.failures_.recent(flight_key_, builder_.services_.clock->now()); !failed.ok())
    return answer(std::move(failed));
  join();
}

void BlobBuilder::Job::join() {
  const std::shared_ptr<Job> self = shared_from_this();
  BlobFlights::Waiter waiter;
  waiter.progress = [self](BlobStage stage) {
    if (self->caller_.progress && !self->ended()) self->caller_.progress(stage);
  };
  waiter.done = [self](const BlobFlights::Outcome& outcome, bool first) {
    if (!outcome.ok()) return self->answer(outcome.status());
    const BlobOutcome how = (*outcome)->found ? BlobOutcome::kHit : first ? BlobOutcome::kMiss : BlobOutcome::kJoined;
    self->answer(BlobAnswer{*outcome, how});
  };
  waiter.client = caller_.client;
  waiter.again = [self](const std::shared_ptr<BlobFlights::Flight>& flight) { self->build(flight); };
  BlobFlights::Ticket ticket = builder_.flights_.join(
      flight_key_, std::move(waiter), [&](const std::shared_ptr<BlobFlights::Flight>& flight) { build(flight); });
  const std::shared_ptr<BlobFlights::Flight> flight = ticket.flight();
  keep(std::move(ticket), &ticket_);
  std::vector<ClientId> others;
  {
    std::lock_guard lock(mutex_);
    others = others_;
  }
  for (const ClientId& client : others) flight->share(client);
}

void BlobBuilder::Job::share(const ClientId& client) {
  std::shared_ptr<BlobFlights::Flight> flight;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    others_.push_back(client);
    flight = ticket_.flight();
  }
  if (flight) flight->share(client);
}

void BlobBuilder::Job::build(const std::shared_ptr<BlobFlights::Flight>& flight) {
  // Another flight may have stored it, or failed, between the look-up and this flight's start.
  if (std::optional<FoundBlob> found = builder_.records_.find(spec_, request_)) {
    auto built = std::make_shared<BuiltBlob>();
    built->blob = std::move(*found);
    built->found = true;
    return flight->complete(std::shared_ptr<const BuiltBlob>(std::move(built)));
  }
  if (absl::Status failed = builder_.failures_.recent(flight_key_, builder_.services_.clock->now()); !failed.ok())
    return flight->complete(failed);
  if (builder_.services_.remote != nullptr && builder_.services_.remote->cache().is_asked() &&
      !builder_.services_.key_namespace.is_private(caller_.client.uid))
    return race_remote(flight);
  (void)compile(flight, /*sends=*/false);
}

std::uint64_t BlobBuilder::Job::compile(const std::shared_ptr<BlobFlights::Flight>& flight, bool sends,
                                        std::function<void()> compiled) {
  const auto fail = [&](const absl::Status& status) {
    flight->complete(status);
    return std::uint64_t{0};
  };
  // The job stays for the flight, also when its own caller leaves.
  const std::shared_ptr<Job> self = shared_from_this();
  CompileJob job;
  absl::StatusOr<std::vector<ReadableTree>> trees = blob_paths(spec_, builder_.services_.pool->command().secrets);
  if (!trees.ok()) return fail(trees.status());
  job.client = caller_.client;
  job.trees = *std::move(trees);
  *job.request.mutable_blob() = spec_;
  job.key = flight_key_;
  job.what = absl::StrCat("blob '", spec_.stem(), "'");
  job.started = [self, flight] {
    self->began_ = std::chrono::system_clock::now();
    flight->report(BlobStage::kCompiling);
  };
  job.done = [self, flight, sends, compiled = std::move(compiled)](absl::StatusOr<v1::WorkerReply> reply) {
    if (compiled) compiled();
    if (!reply.ok()) {
      self->builder_.failures_.add(self->flight_key_, reply.status(), self->builder_.services_.clock->now());
      return flight->complete(reply.status());
    }
    auto blob = std::make_shared<v1::CompiledBlob>(std::move(*reply->mutable_blob()));
    self->builder_.services_.executor->post_for(self->caller_.client,
                                                [self, flight, sends, blob] { self->store(*blob, sends, flight); });
  };
  absl::StatusOr<std::uint64_t> id = builder_.services_.pool->submit(std::move(job));
  if (!id.ok()) return fail(id.status());
  flight->on_cancel([pool = builder_.services_.pool, id = *id] { pool->cancel(id); });
  flight->on_join([pool = builder_.services_.pool, id = *id](const ClientId& client) { pool->share(id, client); });
  return *id;
}

void BlobBuilder::Job::store(v1::CompiledBlob& compiled, bool sends,
                             const std::shared_ptr<BlobFlights::Flight>& flight) {
  if (compiled.artifact().data().empty()) {
    return flight->complete(absl::InternalError(absl::StrCat("blob '", spec_.stem(), "' compiled to nothing")));
  }
  builder_.services_.metrics->blob_compiled();
  const bool same_compiler = compiled.toolchain_digest() == toolchain_digest_;
  if (!same_compiler) builder_.toolchains_.forget(spec_.toolchain());
  if (!same_compiler || compiled.changed_meanwhile()) {
    spdlog::warn("blob '{}' is not kept: {} changed while it was compiled", spec_.stem(),
                 same_compiler ? "a file it is made of" : "the compiler");
  }
  auto built = std::make_shared<BuiltBlob>();
  built->blob =
      builder_.records_.put(spec_, request_, compiled, same_compiler && !compiled.changed_meanwhile(), began_);
  if (sends) send(built->blob);
  built->seconds = compiled.seconds();
  built->log = std::move(*compiled.mutable_log());
  flight->complete(std::shared_ptr<const BuiltBlob>(std::move(built)));
}

void BlobBuilder::Job::answer(absl::StatusOr<BlobAnswer> answer) {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
  }
  caller_.done(std::move(answer));
}

void BlobBuilder::Job::cancel() {
  BlobToolchains::Flights::Ticket toolchain_ticket;  // left unlocked
  BlobFlights::Ticket ticket;
  std::lock_guard lock(mutex_);
  ended_ = true;
  toolchain_ticket = std::move(toolchain_ticket_);
  ticket = std::move(ticket_);
}

}  // namespace hearth::daemon
