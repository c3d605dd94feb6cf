#include "blobs/loader/blob_registry.h"

#include <pthread.h>

#include <exception>

#include "blobs/loader/blob_codes.h"
#include "blobs/loader/blob_environment.h"

namespace hearth::blob {

void BlobRegistry::fail(const State& state) { throw BlobError(state.code, state.error); }

void* BlobRegistry::function(const Key& key, std::size_t which_export, const Load& load) {
  std::unique_lock<std::mutex> lock(*mutex_);
  State& state = states_[key];  // a node of a map stays where it is
  if (state.loading) {
    const std::uint64_t attempts = state.attempts;
    changed_->wait(lock, [&] { return state.attempts != attempts; });
    if (state.functions.empty()) fail(state);
  }
  if (!state.functions.empty()) return state.functions.at(which_export);
  if (state.code != 0 && Clock::now() - state.failed_at < std::chrono::seconds(state.retry_seconds)) fail(state);

  state.loading = true;
  lock.unlock();
  std::vector<void*> functions;
  int code = 0, retry = 30;
  std::string error;
  try {
    retry = retry_seconds();
    functions = load();
    if (functions.empty()) throw BlobError(kInternal, "blob " + key.second + " has no exports");
  } catch (const BlobError& failure) {
    code = failure.code();
    error = failure.what();
  } catch (const std::exception& failure) {  // out of memory, out of threads
    code = kInternal;
    error = "blob " + key.second + ": " + failure.what();
  }
  lock.lock();
  state.loading = false;
  ++state.attempts;
  state.functions = std::move(functions);
  state.code = code;
  state.error = std::move(error);
  state.failed_at = Clock::now();
  state.retry_seconds = retry;
  changed_->notify_all();
  if (state.code != 0) fail(state);
  return state.functions.at(which_export);
}

void BlobRegistry::after_fork_in_child() {
  // Locked by this thread; the old ones are given up as they are, because threads of the parent may have waited on
  // them.
  mutex_->unlock();
  static_cast<void>(mutex_.release());
  static_cast<void>(changed_.release());
  mutex_ = std::make_unique<std::mutex>();
  changed_ = std::make_unique<std::condition_variable>();
  for (auto& [key, state] : states_) state.loading = false;
}

BlobRegistry& registry() {
  static BlobRegistry* const kept = [] {
    auto* made = new BlobRegistry;  // never destroyed: blobs may be called while the process ends
    pthread_atfork([] { registry().before_fork(); }, [] { registry().after_fork_in_parent(); },
                   [] { registry().after_fork_in_child(); });
    return made;
  }();
  return *kept;
}

}  // namespace hearth::blob
