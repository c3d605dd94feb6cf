// UploadQueue: results that are to be sent to a remote cache, one after the other, in bounded memory: what does not fit
// is dropped and counted, since whoever wants it will compile it. An entry's files and address are sent first, then its
// result, so that nobody sees one without the other. Thread-safe; the servers outlive it or `end()` comes first.
//
//   UploadQueue queue;
//   queue.add(server, {.address = address, .files = files});
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "daemon/remote/entry_address.h"
#include "daemon/remote/remote_server.h"
#include "daemon/remote/result_fetch.h"

namespace hearth::daemon {

struct UploadCounters {
  std::uint64_t sent = 0;  // results
  std::uint64_t failed = 0;
  std::uint64_t dropped = 0;  // for want of room, or of a server that takes them
};

struct Upload {
  EntryAddress address;
  std::vector<RemoteFile> files;  // all of the result, the statement too
  std::uint64_t bytes() const;
};

class UploadQueue {
 public:
  static constexpr std::size_t kMaxEntries = 4096;
  static constexpr std::uint64_t kMaxBytes = 64 << 20;  // waiting; one larger entry is taken where none waits

  void add(RemoteServer* server, Upload upload);
  // True once nothing waits and nothing is being sent; false after `limit`.
  bool wait_until_empty(std::chrono::milliseconds limit);
  // From now on nothing is begun.
  void end();
  UploadCounters counters() const;
  // OK, or why the last upload failed.
  absl::Status problem() const;

 private:
  class Sending;

  void begin_next();
  void ended(const absl::Status& status, RemoteServer* server);
  // How sending goes: a problem is logged when it is another one than before.
  void tell(const absl::Status& status);

  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  std::deque<std::pair<RemoteServer*, Upload>> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  bool is_sending_ = false;
  bool has_ended_ = false;
  absl::Status problem_;
  UploadCounters counters_;
};

}  // namespace hearth::daemon
