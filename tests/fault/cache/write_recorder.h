// WriteRecorder: the order in which a cache's changes reach the disk, over both of its ways there: its FileSystem and
// SQLite's own files (by a VFS that stands before SQLite's). Reads are not recorded.
//
// While one exists it is SQLite's default, so open the cache after it; one at a time. Not thread-safe: for caches that
// one thread uses.
//
//   WriteRecorder recorder;
//   fixture.options.file_system = &recorder.file_system();
//   ... put ...; recorder.acknowledge();
//   CHECK(disorder_of_put(recorder.events()) == "");
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kernels_cache/file_system.h"

namespace hearth::cache::testing {

struct WriteEvent {
  enum class Kind { MakeDir, Create, Write, Sync, Rename, SyncDir, Remove, IndexWrite, IndexSync, Acknowledge };
  Kind kind;
  std::string path = {};
  std::string to = {};  // Rename
};

class WriteRecorder {
 public:
  WriteRecorder();
  ~WriteRecorder();
  WriteRecorder(const WriteRecorder&) = delete;
  WriteRecorder& operator=(const WriteRecorder&) = delete;

  FileSystem& file_system() { return *file_system_; }
  // The caller was told that its put is stored.
  void acknowledge() { events_.push_back({WriteEvent::Kind::Acknowledge}); }
  const std::vector<WriteEvent>& events() const { return events_; }
  void clear() { events_.clear(); }
  void add(WriteEvent event) { events_.push_back(std::move(event)); }

 private:
  std::vector<WriteEvent> events_;
  std::unique_ptr<FileSystem> file_system_;
};

// What in the events of one put of fresh bytes is missing or out of order, "" if nothing: a power cut at any point
// leaves the entry whole or absent, and whole once it was acknowledged.
std::string disorder_of_put(const std::vector<WriteEvent>& events);

std::string to_string(const std::vector<WriteEvent>& events);

}  // namespace hearth::cache::testing
