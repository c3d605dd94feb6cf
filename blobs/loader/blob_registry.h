// BlobRegistry: what is known of each blob in this process: not called yet, being loaded, loaded, or failed.
//
// One state a blob, shared by all sites and exports of it. The first caller loads; others that come meanwhile wait and
// get the same functions or the same error. A failure is remembered for HEARTH_BLOB_RETRY_S, then the next call tries
// again. Thread-safe; a child of fork() has what was loaded before, and loads for itself what was being loaded.
//   void* function = registry().function({&library, stem}, 0, [&] { return load(request); });
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "blobs/loader/hearth_blob.h"

namespace hearth::blob {

class BlobRegistry {
 public:
  using Key = std::pair<const Library*, std::string>;  // a library's blob, by stem
  using Load = std::function<std::vector<void*>()>;    // throws BlobError

  void* function(const Key& key, std::size_t which_export, const Load& load);

  // Called by pthread_atfork.
  void before_fork() { mutex_->lock(); }
  void after_fork_in_parent() { mutex_->unlock(); }
  void after_fork_in_child();

 private:
  using Clock = std::chrono::steady_clock;
  struct State {
    bool loading = false;
    std::uint64_t attempts = 0;  // that have ended
    std::vector<void*> functions;
    int code = 0;  // of the last failure, 0 when there is none
    std::string error;
    Clock::time_point failed_at;
    int retry_seconds = 0;
  };
  [[noreturn]] static void fail(const State& state);

  // Replaced in the child of a fork, where threads that waited are no more.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  std::map<Key, State> states_;
};

BlobRegistry& registry();

}  // namespace hearth::blob
