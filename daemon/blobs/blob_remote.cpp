// A blob's compile beside a cache beyond this node. Its entry lies under what a caller can know of it (the request's key)
// and has a record of which other files it depends on: a node whose headers differ compiles its own.
#include <atomic>
#include <utility>

#include "daemon/blobs/blob_builder.h"
#include "daemon/remote/remote_entries.h"
#include "daemon/remote/remote_race.h"

namespace hearth::daemon {
namespace {

constexpr std::uint64_t kMaxBlobBytes = std::uint64_t{512} << 20;
constexpr char kKind[] = "blob", kRecord[] = "record";

}  // namespace

void BlobBuilder::Job::race_remote(const std::shared_ptr<BlobFlights::Flight>& flight) {
  const std::shared_ptr<Job> self = shared_from_this();
  const BlobServices& services = builder_.services_;
  auto job = std::make_shared<std::atomic<std::uint64_t>>(0);
  auto own = std::make_shared<std::weak_ptr<RemoteRace>>();
  auto take = [self, job, flight](RemoteAnswer& answer) {
    v1::BlobRecord record;
    const std::string* bytes = answer.file(kRecord);
    const std::string* artifact = answer.file(kKind);
    if (bytes == nullptr || artifact == nullptr || artifact->empty() || !record.ParseFromString(*bytes)) return false;
    std::optional<FoundBlob> found = self->builder_.records_.take(self->spec_, self->request_, record, *artifact);
    if (!found) return false;
    auto built = std::make_shared<BuiltBlob>();
    built->blob = *std::move(found);
    built->found = true;
    flight->complete(std::shared_ptr<const BuiltBlob>(std::move(built)));
    if (const std::uint64_t id = *job) self->builder_.services_.pool->cancel(id);
    return true;
  };
  auto race = std::make_shared<RemoteRace>(RemoteRace::Runner{
      .ask =
          [self, take](const std::function<void(RemoteOutcome)>& ended) {
            return self->builder_.services_.remote->find(
                self->request_, kKind, kMaxBlobBytes, [self, take, ended](RemoteAnswer answer) {
                  if (answer.outcome != RemoteOutcome::kHit) return ended(answer.outcome);
                  auto shared = std::make_shared<RemoteAnswer>(std::move(answer));
                  self->builder_.services_.executor->post(
                      [take, ended, shared] { ended(take(*shared) ? RemoteOutcome::kHit : RemoteOutcome::kMiss); });
                });
          },
      .work =
          [self, job, own, flight](RemoteRace::Reason reason) {
            *job = self->compile(flight, reason != RemoteRace::Reason::kNotAnswered, [own] {
              if (const std::shared_ptr<RemoteRace> race = own->lock()) race->finish();
            });
          },
      .post = [executor = services.executor](std::function<void()> task) { executor->post(std::move(task)); }});
  *own = race;
  flight->on_cancel([race] { race->finish(); });
  race->begin(services.remote->cache().head_start());
}

void BlobBuilder::Job::send(const FoundBlob& blob) {
  RemoteEntries& remote = *builder_.services_.remote;
  if (blob.record.empty() || !remote.is_writer(caller_.client.uid)) return;
  absl::StatusOr<ResultStore::ReadArtifact> read = builder_.store().open_artifact(blob.artifact.digest);
  if (!read.ok()) return;
  absl::StatusOr<std::string> bytes = (*read)(0, blob.artifact.size_bytes);
  if (bytes.ok()) remote.send(request_, kKind, {{kKind, *std::move(bytes)}, {kRecord, blob.record}});
}

}  // namespace hearth::daemon
