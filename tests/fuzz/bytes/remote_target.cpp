#include "tests/fuzz/bytes/remote_target.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>

#include "absl/strings/str_cat.h"
#include "daemon/remote/result_fetch.h"
#include "tests/support/remote_cache_server.h"
#include "tests/unit/runtime/kernel_factory.h"

namespace hearth::fuzz {
namespace {

using test::api::ActionResult;
using test::api::BatchReadBlobsResponse;

const Ed25519Secret& writer() {
  static const Ed25519Secret secret = Ed25519Secret::made();
  return secret;
}

std::shared_ptr<const daemon::TrustedKeys> trusted() {
  return std::make_shared<const daemon::TrustedKeys>(daemon::TrustedKeys{{writer().public_key()}, {}, 0});
}

const daemon::EntryKey kEntry{"hearth.plan.v3", sha256("graph"), "plan", "salt", sha256("worker"), "build"};
const std::vector<daemon::RemoteFile> kFiles{{"plan", "a plan"}, {"k/1", std::string(300, 'k')}};

daemon::ResultStatement statement() {
  daemon::ResultStatement made{kEntry.domain,  kEntry.key,      kEntry.kind, kEntry.salt,
                               kEntry.flavour, kEntry.build_id, {},          7};
  for (const daemon::RemoteFile& file : kFiles)
    made.files.push_back({file.path, sha256(file.bytes), file.bytes.size()});
  return made;
}

// A look-up has two answers: the length of the first one in four bytes, then both.
std::string encoded(const ActionResult& result, const BatchReadBlobsResponse& blobs) {
  const std::string first = result.SerializePartialAsString();
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(first.size() >> shift & 0xff));
  return bytes + first + blobs.SerializePartialAsString();
}

bool decode(const std::string& bytes, ActionResult* result, BatchReadBlobsResponse* blobs) {
  if (bytes.size() < 4) return false;
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i) size |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return size <= bytes.size() - 4 && result->ParseFromString(bytes.substr(4, size)) &&
         blobs->ParseFromString(bytes.substr(4 + size));
}

std::string sound_reply() {
  ActionResult result;
  BatchReadBlobsResponse blobs;
  std::vector<daemon::RemoteFile> files = kFiles;
  files.push_back({daemon::kStatementPath, signed_statement(statement(), writer())});
  for (const daemon::RemoteFile& file : files) {
    auto& output = *result.add_output_files();
    output.set_path(file.path);
    daemon::BlobReference::of(file.bytes).write_to(output.mutable_digest());
    auto& blob = *blobs.add_responses();
    *blob.mutable_digest() = output.digest();
    blob.set_data(file.bytes);
  }
  return encoded(result, blobs);
}

// A server whose next two answers are given, and who asks it.
struct Asked {
  test::RemoteCacheServer server{"unix:" + testing::scratch_folder() + "/remote.sock"};
  daemon::RemoteSettings settings;
  std::unique_ptr<daemon::RemoteEndpoint> endpoint;

  Asked() {
    settings.call_limit = std::chrono::minutes(10);
    endpoint = std::make_unique<daemon::RemoteEndpoint>(
        *daemon::parse_remote_address("unix:" + testing::scratch_folder() + "/remote.sock"), settings);
    server.set_result(to_hex(sha256(daemon::address_of(kEntry).action)), {});
  }
  daemon::RemoteAnswer fetch(const ActionResult& result, const BatchReadBlobsResponse& blobs) {
    server.on_result = [&](ActionResult& answer) {
      answer = result;
      return grpc::Status::OK;
    };
    server.on_blobs = [&](BatchReadBlobsResponse& answer) {
      answer = blobs;
      return grpc::Status::OK;
    };
    std::promise<daemon::RemoteAnswer> promise;
    daemon::fetch_result(*endpoint, kEntry, 1 << 20, daemon::RemoteEndpoint::kBatchBytes, trusted(),
                         [&](daemon::RemoteAnswer answer) { promise.set_value(std::move(answer)); });
    return promise.get_future().get();
  }
};

bool are_ours(const std::vector<daemon::RemoteFile>& files) {
  return std::ranges::all_of(files, [](const daemon::RemoteFile& file) {
    const auto place = std::ranges::find(kFiles, file.path, &daemon::RemoteFile::path);
    return place != kFiles.end() && place->bytes == file.bytes;
  });
}

std::string judge(const std::string& bytes, Answer* answer) {
  static Asked asked;
  ActionResult result;
  BatchReadBlobsResponse blobs;
  if (!decode(bytes, &result, &blobs)) return "";
  const daemon::RemoteAnswer got = asked.fetch(result, blobs);
  answer->accepted = got.outcome == daemon::RemoteOutcome::kHit;
  answer->message = std::string(got.status.message());
  if (!answer->accepted)
    return got.files.empty() && !answer->message.empty() ? "" : "a refusal with files, or wordless";
  return got.files.size() == kFiles.size() && are_ours(got.files) ? "" : "files that nobody signed";
}

std::string mutated_reply(const std::string& bytes, Random& random) {
  if (random.one_in(8)) return bytes;
  if (random.one_in(8)) return mutated_bytes(bytes, random);
  ActionResult result;
  BatchReadBlobsResponse blobs;
  decode(bytes, &result, &blobs);
  if (random.one_in(2)) {
    mutate_message(result, random);
  } else {
    mutate_message(blobs, random);
  }
  return encoded(result, blobs);
}

}  // namespace

Target remote_reply() { return {"remote reply", {sound_reply()}, judge, mutated_reply, 1500}; }

Target remote_statement() {
  return {
      "remote statement",
      {signed_statement(statement(), writer())},
      [](const std::string& bytes, Answer* answer) -> std::string {
        const auto stated = daemon::verified_statement(bytes, *trusted());
        answer->accepted = stated.ok();
        answer->message = std::string(stated.status().message());
        if (!stated.ok()) return answer->message.empty() ? "a refusal without a word" : "";
        return *stated == statement() ? "" : "a statement that nobody signed";
      },
      [](const std::string& bytes, Random& random) { return random.one_in(20) ? bytes : mutated_bytes(bytes, random); },
      2000};
}

}  // namespace hearth::fuzz
