#include "tests/fault/cache/write_recorder.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>

namespace hearth::cache::testing {
namespace {

using Kind = WriteEvent::Kind;

class RecordingFileSystem final : public FileSystem {
 public:
  explicit RecordingFileSystem(WriteRecorder* recorder) : recorder_(recorder) {}

  absl::Status make_dir(const std::string& path, unsigned mode) override {
    recorder_->add({Kind::MakeDir, path});
    return real_.make_dir(path, mode);
  }
  absl::StatusOr<int> create(const std::string& path, unsigned mode) override {
    recorder_->add({Kind::Create, path});
    absl::StatusOr<int> fd = real_.create(path, mode);
    if (fd.ok()) paths_[*fd] = path;
    return fd;
  }
  absl::Status write_all(int fd, std::string_view bytes) override {
    recorder_->add({Kind::Write, paths_.at(fd)});
    return real_.write_all(fd, bytes);
  }
  absl::Status sync(int fd) override {
    recorder_->add({Kind::Sync, paths_.at(fd)});
    return real_.sync(fd);
  }
  absl::Status close_file(int fd) override { return real_.close_file(fd); }
  absl::Status rename_file(const std::string& from, const std::string& to) override {
    recorder_->add({Kind::Rename, from, to});
    return real_.rename_file(from, to);
  }
  absl::Status sync_dir(const std::string& path) override {
    recorder_->add({Kind::SyncDir, path});
    return real_.sync_dir(path);
  }
  absl::Status remove_file(const std::string& path) override {
    recorder_->add({Kind::Remove, path});
    return real_.remove_file(path);
  }
  absl::StatusOr<std::string> read_file(const std::string& path) override { return real_.read_file(path); }
  absl::StatusOr<FileId> identify(const std::string& path) override { return real_.identify(path); }
  absl::StatusOr<std::vector<std::string>> list_dir(const std::string& path) override { return real_.list_dir(path); }
  absl::StatusOr<std::uint64_t> type_magic(const std::string& path) override { return real_.type_magic(path); }

 private:
  WriteRecorder* const recorder_;
  FileSystem& real_ = posix_file_system();
  std::map<int, std::string> paths_;
};

// ---- SQLite's files ----------------------------------------------------------------------------------------------

WriteRecorder* current = nullptr;

// What SQLite holds of an open file; the real one's follows in memory.
struct RecordedFile {
  sqlite3_file base;
  char path[1024];
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
RecordedFile* recorded(sqlite3_file* file) { return reinterpret_cast<RecordedFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return recorded(file)->real(); }

void record(sqlite3_file* file, Kind kind) {
  if (current != nullptr) current->add({kind, recorded(file)->path});
}

// Forwards a method of sqlite3_io_methods to the real file.
template <auto kMethod, class... Args>
int forward(sqlite3_file* file, Args... args) {
  return (real(file)->pMethods->*kMethod)(real(file), args...);
}

int close_recorded(sqlite3_file* file) { return real(file)->pMethods->xClose(real(file)); }
int write_recorded(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  record(file, Kind::IndexWrite);
  return real(file)->pMethods->xWrite(real(file), bytes, size, offset);
}
int sync_recorded(sqlite3_file* file, int flags) {
  record(file, Kind::IndexSync);
  return real(file)->pMethods->xSync(real(file), flags);
}
void barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }

using Io = sqlite3_io_methods;
const sqlite3_io_methods kMethods = {
    .iVersion = 2,
    .xClose = close_recorded,
    .xRead = forward<&Io::xRead, void*, int, sqlite3_int64>,
    .xWrite = write_recorded,
    .xTruncate = forward<&Io::xTruncate, sqlite3_int64>,
    .xSync = sync_recorded,
    .xFileSize = forward<&Io::xFileSize, sqlite3_int64*>,
    .xLock = forward<&Io::xLock, int>,
    .xUnlock = forward<&Io::xUnlock, int>,
    .xCheckReservedLock = forward<&Io::xCheckReservedLock, int*>,
    .xFileControl = forward<&Io::xFileControl, int, void*>,
    .xSectorSize = forward<&Io::xSectorSize>,
    .xDeviceCharacteristics = forward<&Io::xDeviceCharacteristics>,
    .xShmMap = forward<&Io::xShmMap, int, int, int, void volatile**>,
    .xShmLock = forward<&Io::xShmLock, int, int, int>,
    .xShmBarrier = barrier,
    .xShmUnmap = forward<&Io::xShmUnmap, int>,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

sqlite3_vfs* real_vfs() { return sqlite3_vfs_find("unix"); }

int open_recorded(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  RecordedFile* opened = new (file) RecordedFile{};
  if (name != nullptr) std::strncpy(opened->path, name, sizeof opened->path - 1);
  const int code = real_vfs()->xOpen(real_vfs(), name, opened->real(), flags, out_flags);
  opened->base.pMethods = opened->real()->pMethods != nullptr ? &kMethods : nullptr;
  return code;
}

sqlite3_vfs& recording_vfs() {
  static sqlite3_vfs vfs = [] {
    sqlite3_vfs made = *real_vfs();
    made.zName = "hearth-recording";
    made.pNext = nullptr;
    made.szOsFile += static_cast<int>(sizeof(RecordedFile));
    made.xOpen = open_recorded;
    return made;
  }();
  return vfs;
}

// ---- order -------------------------------------------------------------------------------------------------------

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }
bool ends_with(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.ends_with(end);
}

class Order {
 public:
  explicit Order(const std::vector<WriteEvent>& events) : events_(events) {}

  // Position of the first or last event of this kind and path; -1: none.
  int first(Kind kind, const std::string& path) const { return find(kind, path, false); }
  int last(Kind kind, const std::string& path) const { return find(kind, path, true); }
  int last_of_index(Kind kind) const {
    for (int i = size() - 1; i >= 0; --i)
      if (events_[i].kind == kind && !ends_with(events_[i].path, "-shm")) return i;
    return -1;
  }
  int first_of_index() const {
    for (int i = 0; i < size(); ++i)
      if (events_[i].kind == Kind::IndexWrite) return i;
    return -1;
  }
  int size() const { return static_cast<int>(events_.size()); }

 private:
  int find(Kind kind, const std::string& path, bool backwards) const {
    for (int k = 0; k < size(); ++k) {
      const int i = backwards ? size() - 1 - k : k;
      if (events_[i].kind == kind && events_[i].path == path) return i;
    }
    return -1;
  }
  const std::vector<WriteEvent>& events_;
};

}  // namespace

WriteRecorder::WriteRecorder() : file_system_(std::make_unique<RecordingFileSystem>(this)) {
  if (current != nullptr) throw std::logic_error("one WriteRecorder at a time");
  current = this;
  sqlite3_initialize();
  sqlite3_vfs_register(&recording_vfs(), /*makeDflt=*/1);
}

WriteRecorder::~WriteRecorder() {
  current = nullptr;
  sqlite3_vfs_register(real_vfs(), /*makeDflt=*/1);
}

std::string disorder_of_put(const std::vector<WriteEvent>& events) {
  const Order order(events);
  const WriteEvent* published = nullptr;
  const WriteEvent* intent = nullptr;
  for (const WriteEvent& event : events) {
    if (event.kind == Kind::Rename && event.to.find("/cas/") != std::string::npos) {
      if (published != nullptr) return "two files are published";
      published = &event;
    }
    if (event.kind == Kind::Create && ends_with(event.path, ".intent")) intent = &event;
  }
  if (published == nullptr) return "no file is published";
  if (intent == nullptr) return "there is no intent";
  const std::string temp = published->path, shard = folder_of(published->to), cas = folder_of(shard);
  const int renamed = static_cast<int>(published - events.data());
  if (const int made = order.first(Kind::MakeDir, shard); made >= 0) {
    const int synced = order.first(Kind::SyncDir, cas);
    if (synced < made || synced > renamed) return "a new shard is not in cas durably before a file is renamed into it";
  }
  // Each at its position, in this order.
  const std::pair<const char*, int> steps[] = {
      {"intent created", order.first(Kind::Create, intent->path)},
      {"temporary file created", order.first(Kind::Create, temp)},
      {"bytes written", order.last(Kind::Write, temp)},
      {"file fsynced", order.last(Kind::Sync, temp)},
      {"renamed into cas", renamed},
      {"folder fsynced", order.last(Kind::SyncDir, shard)},
      {"index written", order.first_of_index()},
      {"index written to its end", order.last_of_index(Kind::IndexWrite)},
      {"index fsynced", order.last_of_index(Kind::IndexSync)},
      {"intent removed", order.first(Kind::Remove, intent->path)},
      {"acknowledged", order.first(Kind::Acknowledge, "")},
  };
  for (std::size_t i = 0; i < std::size(steps); ++i) {
    if (steps[i].second < 0) return std::string("never: ") + steps[i].first;
    if (i > 0 && steps[i].second < steps[i - 1].second)
      return std::string(steps[i].first) + " before " + steps[i - 1].first;
  }
  return "";
}

std::string to_string(const std::vector<WriteEvent>& events) {
  static const char* const kNames[] = {"mkdir",        "create", "write",       "fsync",       "rename",
                                       "fsync folder", "remove", "index write", "index fsync", "acknowledge"};
  std::string text;
  for (const WriteEvent& event : events) {
    text += std::string(kNames[static_cast<int>(event.kind)]) + " " + event.path;
    text += event.to.empty() ? "\n" : " to " + event.to + "\n";
  }
  return text;
}

}  // namespace hearth::cache::testing
