// Packs between nodes: what a trusted key has signed for this compiler is found as if it had been built here; of all
// else nothing is.
#include <catch2/catch.hpp>

#include "daemon/packs/packed_kind.h"
#include "daemon/store/key_namespace.h"
#include "tests/unit/packs/pack_fixture.h"

namespace hearth::daemon {
namespace {

using Catch::Matchers::Contains;
using Requests = std::vector<v1::ImportEntryRequest>;

std::string message_of(const absl::Status& status) { return std::string(status.message()); }

std::uint64_t entries_of(const PackNode& node) { return node.cache->stats().entries; }

void import_all(const PackFixture& f, const Requests& requests) {
  for (const v1::ImportEntryRequest& request : requests) {
    const auto kept = f.to.importer().import(request, PackFixture::kFlavour);
    INFO(request.entry().kind() << ": " << kept.status());
    REQUIRE(kept.ok());
  }
}

}  // namespace

TEST_CASE("a pack's plan is found on another node as it was tuned, with its kernels") {
  const PackFixture f;
  const Requests requests = f.requests();
  std::vector<std::string> kinds;
  for (const auto& request : requests) kinds.push_back(request.entry().kind());
  CHECK(kinds == std::vector<std::string>{"tuning", "kernel", "kernel", "plan", "reads", "contents"});
  CHECK(entries_of(f.to) == 0);
  import_all(f, requests);

  // As a Prepare looks for it.
  const auto tuning = f.to.tuning->snapshot(f.target, f.options);
  REQUIRE(tuning->records.size() == 1);
  CHECK(tuning->records[0].opts(0).amount() == 4);
  const std::optional<std::string> read = f.to.reads->find(f.plan_material(), *tuning);
  REQUIRE(read.has_value());
  CHECK_FALSE(read->empty());
  const auto plan = f.to.cache->find_plan(cache::with_tuning(f.plan_material(), *read));
  REQUIRE(plan.has_value());
  CHECK(plan->artifacts.size() == 2);
  CHECK(f.to.cache->find_kernel(f.kernel_material("one")).has_value());
  CHECK(f.to.cache->list(0, "a model").size() == 3);  // the plan, and its kernels

  const std::vector<v1::ImportedPack> packs = imported_packs(*f.to.cache);
  REQUIRE(packs.size() == 1);
  CHECK(packs[0].name() == "a.hearthpack");
  CHECK(packs[0].plans(0) == to_bytes(f.plan_key));
}

TEST_CASE("a pack that was taken before changes nothing") {
  const PackFixture f;
  const Requests requests = f.requests();
  import_all(f, requests);
  const std::uint64_t before = entries_of(f.to);
  for (const v1::ImportEntryRequest& request : requests) {
    const auto kept = f.to.importer().import(request, PackFixture::kFlavour);
    REQUIRE(kept.ok());
    CHECK((kept->was_there() || kept->kind() == "contents"));
    CHECK(kept->kind() == request.entry().kind());
  }
  CHECK(entries_of(f.to) == before);
}

TEST_CASE("what this node has tuned itself and the pack has not is kept") {
  const PackFixture f;
  v1::FlatKernel mine;
  mine.set_ast("mine");
  v1::TuningRecord record;
  record.set_kernel(std::string(32, 'm'));
  record.add_opts()->set_amount(2);
  REQUIRE(f.to.tuning->put(mine, f.target, f.options, record).ok());
  import_all(f, f.requests());
  const auto tuning = f.to.tuning->snapshot(f.target, f.options);
  CHECK(tuning->records.size() == 2);
  // The plan read no record of that kernel.
  CHECK(f.to.reads->find(f.plan_material(), *tuning).has_value());
}

TEST_CASE("nothing of a pack is kept without a key that is trusted") {
  PackFixture f;
  const Requests requests = f.requests();
  const auto refused = [&](const std::string& why, absl::StatusCode code) {
    for (const v1::ImportEntryRequest& request : requests) {
      const absl::Status status = f.to.importer().import(request, PackFixture::kFlavour).status();
      CHECK(status.code() == code);
      CHECK_THAT(message_of(status), Contains(why));
    }
    CHECK(entries_of(f.to) == 0);
  };
  const auto denied = absl::StatusCode::kPermissionDenied, impossible = absl::StatusCode::kFailedPrecondition;
  f.to.settings.trusted.keys = {};
  refused("remote_trusted_keys", impossible);
  f.to.settings.trusted.keys = {Ed25519Secret::made().public_key()};
  refused("not trusted", denied);
  f.to.settings.trusted.keys = {f.secret.public_key()};
  f.to.settings.trusted.revoked = {key_id(f.secret.public_key())};
  refused("is revoked", denied);
  f.to.settings.trusted.revoked = {};
  f.to.settings.trusted.not_before = 1001;
  refused("not_before", denied);
  f.to.settings.trusted.not_before = 1000;
  f.to.settings.salt = "another fleet";
  refused("remote_salt", impossible);
  f.to.settings.salt = "";
  import_all(f, requests);
}

TEST_CASE("a pack of another compiler is refused, and what differs is said") {
  const PackFixture f;
  const v1::ImportEntryRequest request = f.requests().front();
  const absl::Status flavour = f.to.importer().import(request, Digest{8}).status();
  CHECK(absl::IsFailedPrecondition(flavour));
  CHECK_THAT(message_of(flavour), Contains("other libraries (0700000000000000; here 0800000000000000)"));
  const absl::Status build = f.to.importer("build-2").import(request, PackFixture::kFlavour).status();
  CHECK(absl::IsFailedPrecondition(build));
  CHECK_THAT(message_of(build), Contains("build build-1; this daemon is build build-2"));
  CHECK(entries_of(f.to) == 0);
}

TEST_CASE("a byte changed anywhere in an entry is refused") {
  const PackFixture f;
  for (const v1::ImportEntryRequest& sound : f.requests()) {
    for (std::string* (*part)(v1::ImportEntryRequest&) :
         {+[](v1::ImportEntryRequest& r) { return r.mutable_entry()->mutable_statement(); },
          +[](v1::ImportEntryRequest& r) { return r.mutable_entry()->mutable_material(); },
          +[](v1::ImportEntryRequest& r) { return r.mutable_files(0); }}) {
      v1::ImportEntryRequest request = sound;
      const std::size_t size = part(request)->size();
      for (std::size_t i = 0; i < size; ++i) {
        (*part(request))[i] ^= 1;
        const absl::Status status = f.to.importer().import(request, PackFixture::kFlavour).status();
        if (status.ok()) FAIL(sound.entry().kind() << ", byte " << i << " was taken");
        (*part(request))[i] ^= 1;
      }
      part(request)->pop_back();
      CHECK_FALSE(f.to.importer().import(request, PackFixture::kFlavour).ok());
    }
  }
  CHECK(entries_of(f.to) == 0);
}

TEST_CASE("an entry with another one's material, content or statement is refused") {
  const PackFixture f;
  const Requests requests = f.requests();
  for (const v1::ImportEntryRequest& one : requests) {
    for (const v1::ImportEntryRequest& other : requests) {
      if (&one == &other) continue;
      v1::ImportEntryRequest material = one, content = one, statement = one;
      material.mutable_entry()->set_material(other.entry().material());
      content.set_files(0, other.files(0));
      statement.mutable_entry()->set_statement(other.entry().statement());
      for (const v1::ImportEntryRequest& mixed : {material, content, statement})
        CHECK_FALSE(f.to.importer().import(mixed, PackFixture::kFlavour).ok());
    }
  }
  v1::ImportEntryRequest none = requests.front(), more = requests.front();
  none.clear_files();
  more.add_files("more");
  for (const v1::ImportEntryRequest& request : {none, more})
    CHECK(absl::IsInvalidArgument(f.to.importer().import(request, PackFixture::kFlavour).status()));
  CHECK(entries_of(f.to) == 0);
}

TEST_CASE("a plan is not kept before its kernels, and its pack is then not complete") {
  const PackFixture f;
  const Requests requests = f.requests();
  CHECK_FALSE(f.to.importer().import(f.of_kind(requests, "plan"), PackFixture::kFlavour).ok());
  const auto contents = f.to.importer().import(f.of_kind(requests, "contents"), PackFixture::kFlavour);
  REQUIRE(contents.ok());
  REQUIRE(contents->missing_size() == 1);
  CHECK(contents->missing(0) == to_bytes(f.plan_key));
}

TEST_CASE("a result in a remote cache is no entry of a pack") {
  const PackFixture f;
  v1::ImportEntryRequest request = f.of_kind(f.requests(), "kernel");
  ResultStatement statement = *verified_statement(request.entry().statement(), f.to.settings.trusted);
  statement.kind = "kernel";
  request.mutable_entry()->set_statement(signed_statement(statement, f.secret));
  const absl::Status status = f.to.importer().import(request, PackFixture::kFlavour).status();
  CHECK(absl::IsInvalidArgument(status));
  CHECK_THAT(message_of(status), Contains("no kind"));
}

TEST_CASE("what one user alone may find is not taken, whoever has signed it") {
  const PackFixture f;
  v1::ImportEntryRequest request = f.of_kind(f.requests(), "kernel");
  ResultStatement statement = *verified_statement(request.entry().statement(), f.to.settings.trusted);
  cache::KeyMaterial material = f.kernel_material("one");
  KeyNamespace::add(material, 1000);
  statement.key = cache::key(material);
  statement.files[0] = {kPackedMaterial, statement.key, material.encode().size()};
  request.mutable_entry()->set_material(material.encode());
  request.mutable_entry()->set_statement(signed_statement(statement, f.secret));
  CHECK_THAT(message_of(f.to.importer().import(request, PackFixture::kFlavour).status()), Contains("one user's alone"));
}

TEST_CASE("only what root or the daemon's user had built is signed") {
  PackFixture f;
  SECTION("a plan") {
    f.from.cache->clear(/*keep_tuning=*/true);
    f.put_plan(f.from, /*owner=*/1000);
    const absl::Status status = f.exported().status();
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(message_of(status), Contains("was built for another user"));
  }
  SECTION("a kernel of it") {
    f.from.cache->clear(/*keep_tuning=*/true);
    f.put_plan(f.from, cache::kNoOwner, /*kernel_owner=*/1000);
    const absl::Status status = f.exported().status();
    CHECK(absl::IsFailedPrecondition(status));
    CHECK_THAT(message_of(status), Contains("another user had its kernel"));
  }
}

TEST_CASE("what cannot be exported is named") {
  PackFixture f;
  SECTION("a plan that is not there") {
    f.from.cache->clear(/*keep_tuning=*/true);
    const absl::Status status = f.exported().status();
    CHECK(absl::IsNotFound(status));
    CHECK_THAT(message_of(status), Contains(to_hex(f.plan_key).substr(0, 16)) && Contains("prewarm"));
  }
  SECTION("without a key") {
    f.from.settings.writer_key_file = "";
    CHECK_THAT(message_of(f.exported().status()), Contains("remote_writer_key"));
  }
  SECTION("a key that others can read") {
    std::filesystem::permissions(f.from.settings.writer_key_file, std::filesystem::perms(0644));
    CHECK(absl::IsFailedPrecondition(f.exported().status()));
  }
  SECTION("contents that name no plan") {
    const PackExporter exporter({f.from.cache.get(), &f.from.settings, kPackBuild, 0});
    for (const std::string contents : {"", "\xff\xff",
                                       "\x0a\x03"
                                       "abc"})
      CHECK(absl::IsInvalidArgument(exporter.entries_of(contents, Digest{}).status()));
  }
}

}  // namespace hearth::daemon
