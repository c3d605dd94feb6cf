#include "daemon/remote/remote_check.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>

#include "base/text.h"
#include "daemon/remote/entry_address.h"
#include "daemon/remote/remote_endpoint.h"
#include "daemon/remote/result_fetch.h"
#include "daemon/remote/writer_key.h"

namespace hearth::daemon {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr char kCheckDomain[] = "hearth.check.v1", kCheckKind[] = "check";

// What a call that answers later has answered.
template <class Answer, class Begin>
Answer wait_for(const Begin& begin) {
  auto promise = std::make_shared<std::promise<Answer>>();
  begin([promise](Answer answer) { promise->set_value(std::move(answer)); });
  return promise->get_future().get();
}

class Checker {
 public:
  explicit Checker(const RemoteSettings& settings) : settings_(settings) {}

  std::vector<RemoteCheckStep> steps() {
    check_keys();
    for (const RemoteAddress& address : settings_.addresses) check(address);
    return std::move(steps_);
  }

 private:
  template <class Work>
  bool step(const std::string& address, const char* name, const Work& work) {
    const auto began = std::chrono::steady_clock::now();
    RemoteCheckStep step{address, name, absl::OkStatus(), "", 0};
    step.status = work(step.detail);
    step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    steps_.push_back(std::move(step));
    return steps_.back().status.ok();
  }

  void check_keys() {
    step("", "keys", [&](std::string& detail) {
      const TrustedKeys& trusted = settings_.trusted;
      if (trusted.keys.empty())
        return absl::FailedPreconditionError("remote_trusted_keys: no key is trusted, so nothing is ever loaded");
      detail = str_cat(trusted.keys.size(), trusted.keys.size() == 1 ? " key is trusted" : " keys are trusted");
      if (settings_.writer_key_file.empty()) {
        detail += "; this node only reads";
        return absl::OkStatus();
      }
      absl::StatusOr<Ed25519Secret> writer = read_writer_key(settings_.writer_key_file);
      if (!writer.ok()) return writer.status();
      const std::string id = key_id(writer->public_key());
      const bool is_trusted = std::ranges::find(trusted.keys, writer->public_key()) != trusted.keys.end() &&
                              std::ranges::find(trusted.revoked, id) == trusted.revoked.end();
      writer_.emplace(*std::move(writer));
      detail += str_cat("; this node sends, by key ", id);
      if (is_trusted) return absl::OkStatus();
      return absl::FailedPreconditionError(str_cat("remote_writer_key: its key ", id,
                                                   " is not among remote_trusted_keys, or is revoked: this node does "
                                                   "not load what it has sent"));
    });
  }

  void check(const RemoteAddress& address) {
    RemoteEndpoint endpoint(address, settings_);
    ServerAbilities abilities;
    const bool answers = step(address.text, "connect", [&](std::string& detail) {
      using Answer = absl::StatusOr<ServerAbilities>;
      const Answer answer = wait_for<Answer>([&](auto done) { endpoint.get_capabilities(done); });
      if (!answer.ok()) return answer.status();
      abilities = *answer;
      detail = str_cat(abilities.takes_results ? "takes results" : "takes no results", ", batches of ",
                       abilities.batch_bytes >> 10, " KiB");
      return absl::OkStatus();
    });
    if (!answers) return;
    const EntryKey entry = entry_of(address);
    const EntryAddress at = address_of(entry);
    const bool looks_up = step(address.text, "look up", [&](std::string& detail) {
      using Answer = absl::StatusOr<std::vector<ListedFile>>;
      const Answer answer =
          wait_for<Answer>([&](auto done) { endpoint.get_result(BlobReference::of(at.action), done); });
      detail = answer.ok() ? "found" : "not found, as expected";
      return absl::IsNotFound(answer.status()) ? absl::OkStatus() : answer.status();
    });
    if (!looks_up || !writer_) return;
    const std::string file = "hearth remote check";
    ResultStatement statement{entry.domain,
                              entry.key,
                              entry.kind,
                              entry.salt,
                              entry.flavour,
                              entry.build_id,
                              {{kCheckKind, sha256(file), file.size()}},
                              0};
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    statement.signed_at = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    const std::string signature = signed_statement(statement, *writer_);
    const bool sends = step(address.text, "send", [&](std::string& detail) {
      const std::vector<std::string> blobs{"", at.command, at.action, file, signature};
      const absl::Status written = wait_for<absl::Status>([&](auto done) { endpoint.write_blobs(blobs, done); });
      if (!written.ok()) return written;
      detail = "a small entry";
      const std::vector<ListedFile> files{{kCheckKind, BlobReference::of(file)},
                                          {kStatementPath, BlobReference::of(signature)}};
      return wait_for<absl::Status>([&](auto done) { endpoint.put_result(BlobReference::of(at.action), files, done); });
    });
    if (!sends) return;
    step(address.text, "load", [&](std::string& detail) {
      const auto trusted = std::make_shared<const TrustedKeys>(settings_.trusted);
      const RemoteAnswer answer = wait_for<RemoteAnswer>(
          [&](auto done) { fetch_result(endpoint, entry, kMostBytes, abilities.batch_bytes, trusted, done); });
      detail = "the entry, signed by a trusted key";
      return answer.outcome == RemoteOutcome::kHit ? absl::OkStatus() : answer.status;
    });
  }

  EntryKey entry_of(const RemoteAddress& address) const {
    return {kCheckDomain,         sha256(str_cat(kCheckDomain, "\n", address.text)),
            kCheckKind,           settings_.salt,
            sha256(kCheckDomain), "check"};
  }

  const RemoteSettings& settings_;
  std::optional<Ed25519Secret> writer_;
  std::vector<RemoteCheckStep> steps_;
};

}  // namespace

std::vector<RemoteCheckStep> check_remote(const RemoteSettings& settings) { return Checker(settings).steps(); }

}  // namespace hearth::daemon
