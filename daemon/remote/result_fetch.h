// fetch_result: one entry of a remote cache, whole and verified: its result is looked up, its files are read, each
// checked by its digest, and the statement among them, hearth.sig, must be by a trusted key and of exactly this entry
// and these files. What is small takes two calls; a statement is verified before a large file is read.
//
//   std::shared_ptr<ResultFetch> fetch = fetch_result(endpoint, entry, limits, trusted, [](RemoteAnswer answer) { … });
//   fetch->cancel();
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "daemon/remote/entry_address.h"
#include "daemon/remote/remote_endpoint.h"
#include "daemon/remote/result_statement.h"

namespace hearth::daemon {

// How a look-up ended.
enum class RemoteOutcome {
  kHit,
  kMiss,        // the server has no such result
  kLate,        // no answer in time, or local work was first
  kError,       // the server could not be asked, or has lied
  kIncomplete,  // a result whose files are gone
  kUnsigned,    // a result that no trusted key states
};
inline constexpr std::size_t kNumRemoteOutcomes = 6;

struct RemoteFile {
  std::string path;
  std::string bytes;
};

struct RemoteAnswer {
  RemoteOutcome outcome = RemoteOutcome::kMiss;
  absl::Status status;            // why it is no hit
  std::vector<RemoteFile> files;  // of a hit, without the statement

  // The file of this path; null when there is none.
  std::string* file(std::string_view path);
};

// A look-up under way. cancel() ends it early; its `done` may still be called, with kLate.
class ResultFetch {
 public:
  virtual ~ResultFetch() = default;
  virtual void cancel() = 0;
  // False while it waits for something of this node.
  virtual bool is_sent() { return true; }
};

// `most_bytes`: of the files together; a result that lists more is not read. `done` is called once, as
// RemoteEndpoint's calls call theirs; the endpoint must outlive that. `batch_bytes`: the server's.
std::shared_ptr<ResultFetch> fetch_result(RemoteEndpoint& endpoint, const EntryKey& entry, std::uint64_t most_bytes,
                                          std::uint64_t batch_bytes, std::shared_ptr<const TrustedKeys> trusted,
                                          std::function<void(RemoteAnswer)> done);

// Whether the statement is of this entry and lists these files, all of them; else what it is not of.
absl::Status check_statement(const ResultStatement& statement, const EntryKey& entry,
                             const std::vector<ListedFile>& files);

inline constexpr char kStatementPath[] = "hearth.sig";

}  // namespace hearth::daemon
