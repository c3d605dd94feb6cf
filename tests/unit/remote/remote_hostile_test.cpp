// A server that lies in every way it can, ten thousand times: nothing of its own is loaded, each lie is counted, and
// what it sends takes no memory beyond what was asked for.
#include <catch2/catch.hpp>

#include <random>

#include "tests/support/fresh_seed.h"
#include "tests/support/sanitizer.h"
#include "tests/unit/remote/remote_fixture.h"

namespace hearth::daemon {
namespace {

using test::api::ActionResult;
using test::api::BatchReadBlobsResponse;

// An entry as a writer has sent it, and what an attacker makes of it on the server.
class Attacker {
 public:
  Attacker(RemoteFixture& f, std::uint64_t seed) : f_(f), random_(seed) {}

  // One lie about the entry's result or its blobs; what may come of it.
  struct Lie {
    const char* name;
    std::vector<RemoteOutcome> outcomes;
  };
  Lie tell() {
    f_.server->on_result = nullptr;
    f_.server->on_blobs = nullptr;
    switch (random_() % 18) {
      case 0:
        return result("another digest", {RemoteOutcome::kIncomplete, RemoteOutcome::kUnsigned},
                      [this](ActionResult& r) { any(r).mutable_digest()->set_hash(to_hex(sha256(word()))); });
      case 1:
        return result("a size that is not", {RemoteOutcome::kError, RemoteOutcome::kUnsigned}, [this](ActionResult& r) {
          any(r).mutable_digest()->set_size_bytes(static_cast<std::int64_t>(random_() % 100'000) + 70'000);
        });
      case 2:
        return result("a huge or negative size", {RemoteOutcome::kError, RemoteOutcome::kUnsigned},
                      [this](ActionResult& r) {
                        any(r).mutable_digest()->set_size_bytes(static_cast<std::int64_t>(random_() << 40));
                      });
      case 3:
        return result("a digest that is none", {RemoteOutcome::kError},
                      [this](ActionResult& r) { any(r).mutable_digest()->set_hash(word()); });
      case 4:
        return result("another path", {RemoteOutcome::kUnsigned, RemoteOutcome::kError},
                      [this](ActionResult& r) { any(r).set_path(word()); });
      case 5:
        return result("an empty or endless path", {RemoteOutcome::kError},
                      [this](ActionResult& r) { any(r).set_path(std::string(random_() % 2 * 5000, 'p')); });
      case 6:
        return result("a file more", {RemoteOutcome::kUnsigned}, [this](ActionResult& r) {
          auto& file = *r.add_output_files();
          file.set_path("k/" + word());
          *file.mutable_digest() = r.output_files(0).digest();
        });
      case 7:
        return result("a file less", {RemoteOutcome::kUnsigned},
                      [this](ActionResult& r) { r.mutable_output_files()->DeleteSubrange(pick(r), 1); });
      case 8:
        return result("the files swapped", {RemoteOutcome::kUnsigned}, [](ActionResult& r) {
          r.mutable_output_files(0)->mutable_digest()->Swap(r.mutable_output_files(1)->mutable_digest());
        });
      case 9:
        return result("no files", {RemoteOutcome::kUnsigned}, [](ActionResult& r) { r.clear_output_files(); });
      case 10:
        return result("many files", {RemoteOutcome::kUnsigned, RemoteOutcome::kError}, [this](ActionResult& r) {
          const int count = static_cast<int>(random_() % 6000);
          for (int i = 0; i < count; ++i) *r.add_output_files() = r.output_files(0);
          r.add_output_files()->set_path("x");
        });
      case 11:
        return blobs("another blob's bytes", [this](BatchReadBlobsResponse& r) { any(r).set_data(word()); });
      case 12:
        return blobs("bytes cut short", [this](BatchReadBlobsResponse& r) {
          auto& blob = any(r);
          blob.set_data(blob.data().substr(0, blob.data().size() / 2));
        });
      case 13:
        return blobs("one byte changed", [this](BatchReadBlobsResponse& r) {
          std::string& data = *any(r).mutable_data();
          data[random_() % data.size()] ^= static_cast<char>(1 + random_() % 255);
        });
      case 14:
        return blobs("a blob less, or one that was not asked for", [this](BatchReadBlobsResponse& r) {
          if (random_() % 2 == 0) {
            r.mutable_responses()->DeleteSubrange(static_cast<int>(random_() % r.responses_size()), 1);
          } else {
            auto& more = *r.add_responses();
            BlobReference::of("more").write_to(more.mutable_digest());
            more.set_data("more");
          }
        });
      case 15:
        return blobs("compressed bytes, or a flood", [this](BatchReadBlobsResponse& r) {
          if (random_() % 50 != 0) return any(r).set_compressor(1);
          any(r).set_data(std::string(5 << 20, 'f'));
        });
      case 16:
        return blobs("a status that no API has", [this](BatchReadBlobsResponse& r) {
          any(r).mutable_status()->set_code(random_() % 2 == 0 ? -1 - static_cast<int>(random_() % 1'000'000'000)
                                                               : 17 + static_cast<int>(random_() % 1'000'000'000));
        });
      default:
        return replayed();
    }
  }

 private:
  template <class Change>
  Lie result(const char* name, std::vector<RemoteOutcome> outcomes, Change change) {
    f_.server->on_result = [change](ActionResult& r) {
      change(r);
      return grpc::Status::OK;
    };
    return {name, std::move(outcomes)};
  }
  template <class Change>
  Lie blobs(const char* name, Change change) {
    f_.server->on_blobs = [change](BatchReadBlobsResponse& r) {
      change(r);
      return grpc::Status::OK;
    };
    return {name, {RemoteOutcome::kError}};
  }
  // The genuine result of another entry, or one that the attacker has signed by a key of its own.
  Lie replayed() {
    static const Ed25519Secret own = Ed25519Secret::made();
    EntryKey other = f_.entry;
    const Ed25519Secret* secret = &f_.secret;
    switch (random_() % 6) {
      case 0:
        other.key = sha256(word());
        break;
      case 1:
        other.domain = "hearth.kernel.v3";
        break;
      case 2:
        other.kind = "kernel";
        break;
      case 3:
        other.salt = "another fleet";
        break;
      case 4:
        other.flavour = sha256(word());
        break;
      default:
        secret = &own;
    }
    std::string plan = "a plan of theirs";
    const ResultStatement statement{other.domain,
                                    other.key,
                                    other.kind,
                                    other.salt,
                                    other.flavour,
                                    other.build_id,
                                    {{"plan", sha256(plan), plan.size()}},
                                    0};
    const std::string signature = signed_statement(statement, *secret);
    f_.server->put_blob(plan);
    f_.server->put_blob(signature);
    return result("a replayed or forged result", {RemoteOutcome::kUnsigned}, [plan, signature](ActionResult& r) {
      r.clear_output_files();
      for (const auto& [path, bytes] : {std::pair("plan", plan), std::pair("hearth.sig", signature)}) {
        r.add_output_files()->set_path(path);
        BlobReference::of(bytes).write_to(r.mutable_output_files(r.output_files_size() - 1)->mutable_digest());
      }
    });
  }

  int pick(const ActionResult& r) { return static_cast<int>(random_() % static_cast<unsigned>(r.output_files_size())); }
  test::api::OutputFile& any(ActionResult& r) { return *r.mutable_output_files(pick(r)); }
  BatchReadBlobsResponse::Response& any(BatchReadBlobsResponse& r) {
    return *r.mutable_responses(static_cast<int>(random_() % static_cast<unsigned>(r.responses_size())));
  }
  std::string word() {
    std::string text(random_() % 40 + 1, ' ');
    for (char& c : text) c = static_cast<char>('!' + random_() % 90);
    return text;
  }

  RemoteFixture& f_;
  std::mt19937_64 random_;
};

TEST_CASE("Nothing of a server that lies is loaded, and every lie is counted", "[remote]") {
  const std::uint64_t seed = test::fresh_seed();
  CAPTURE(seed);
  RemoteFixture f;
  f.publish(f.entry, f.some_files());
  const auto genuine = f.server->blobs();
  Attacker attacker(f, seed);
  constexpr int kLies = test::kSanitizer ? 1'000 : 10'000;
  std::array<std::uint64_t, kNumRemoteOutcomes> expected{};
  for (int i = 0; i < kLies; ++i) {
    const Attacker::Lie lie = attacker.tell();
    const RemoteAnswer answer = f.fetch(f.entry);
    if (std::ranges::find(lie.outcomes, answer.outcome) == lie.outcomes.end() || !answer.files.empty()) {
      FAIL("lie " << i << ": " << lie.name << " gave outcome " << static_cast<int>(answer.outcome) << " with "
                  << answer.files.size() << " files: " << answer.status.message());
    }
    ++expected[static_cast<std::size_t>(answer.outcome)];
    // The breaker is the subject of other tests.
    while (!f.remote().is_asked()) {
      f.clock.advance(std::chrono::seconds(61));
      f.remote().maintain();
      REQUIRE(test::eventually([&] { return f.remote().is_asked(); }));
    }
  }
  CHECK(f.remote().counters().lookups == expected);
  f.server->on_result = nullptr;
  f.server->on_blobs = nullptr;
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kHit);
}

TEST_CASE("A stream that never ends, or ends early, is cut off at the blob's size", "[remote]") {
  std::atomic<std::uint64_t> sent{0};  // the server counts until it goes
  RemoteFixture f;
  const std::vector<RemoteFile> files{{"blob", std::string(6 << 20, 'b')}};
  f.publish(f.entry, files);
  SECTION("endless") {
    f.server->on_stream = [&](auto& writer, const std::string&) {
      google::bytestream::ReadResponse response;
      response.set_data(std::string(1 << 20, 'b'));
      while (writer.Write(response)) ++sent;
      return grpc::Status::OK;
    };
  }
  SECTION("short") {
    f.server->on_stream = [&](auto& writer, const std::string& bytes) {
      google::bytestream::ReadResponse response;
      response.set_data(bytes.substr(0, 1000));
      writer.Write(response);
      return grpc::Status::OK;
    };
  }
  SECTION("other bytes") {
    f.server->on_stream = [&](auto& writer, const std::string& bytes) {
      google::bytestream::ReadResponse response;
      for (std::size_t at = 0; at < bytes.size(); at += 1 << 20) {
        response.set_data(std::string(1 << 20, 'c'));
        writer.Write(response);
      }
      return grpc::Status::OK;
    };
  }
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kError);
  CHECK(sent < 64);  // MiB: what the transport holds beyond the blob's six
}

TEST_CASE("A result larger than its kind may be is not read", "[remote]") {
  RemoteFixture f;
  f.publish(f.entry, f.some_files());
  CHECK(f.fetch(f.entry, 5000).outcome == RemoteOutcome::kError);
  CHECK(f.server->count("BatchReadBlobs") == 0);
  CHECK(f.fetch(f.entry, 10'000).outcome == RemoteOutcome::kHit);
}

TEST_CASE("A key that is revoked, unknown or of before the time is a miss, and said once", "[remote]") {
  RemoteFixture f;
  f.publish(f.entry, f.some_files());
  f.cache.reset();
  SECTION("revoked") { f.settings.trusted.revoked = {key_id(f.secret.public_key())}; }
  SECTION("unknown") { f.settings.trusted.keys = {Ed25519Secret::made().public_key()}; }
  SECTION("of before the time") { f.settings.trusted.not_before = std::int64_t{1} << 40; }
  SECTION("no key is trusted") { f.settings.trusted.keys.clear(); }
  CHECK(f.fetch(f.entry).outcome == RemoteOutcome::kUnsigned);
  CHECK(f.count(RemoteOutcome::kUnsigned) == 1);
  CHECK(f.remote().is_asked());
}

TEST_CASE("A server that floods what it can do is bounded likewise", "[remote]") {
  RemoteFixture f;
  f.server->on_capabilities = [](test::api::ServerCapabilities& answer) {
    for (int i = 0; i < 5 << 20; ++i) answer.mutable_cache_capabilities()->add_digest_functions(1);
    return grpc::Status::OK;
  };
  f.remote().begin();
  REQUIRE(test::eventually([&] { return !f.remote().health().ok(); }));
}

}  // namespace
}  // namespace hearth::daemon
