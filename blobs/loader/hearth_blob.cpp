#include "blobs/loader/hearth_blob.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "blobs/loader/blob_codes.h"
#include "blobs/loader/blob_environment.h"
#include "blobs/loader/blob_registry.h"
#include "blobs/loader/blob_request.h"
#include "blobs/loader/compiler_process.h"
#include "blobs/loader/daemon_client.h"
#include "blobs/loader/loaded_blob.h"

namespace hearth::blob {
namespace {

std::vector<std::string> strings(const char* const* list) {
  std::vector<std::string> out;
  for (; list != nullptr && *list != nullptr; ++list) out.emplace_back(*list);
  return out;
}

// A number means a blob only in the list for which the site was compiled.
const Library& checked_library(const Dispatcher& dispatcher) {
  const Library& library = *dispatcher.library;
  if (library.version != kLibraryVersion)
    throw BlobError(kFailedPrecondition,
                    "the list of blobs in this library is of version " + std::to_string(library.version) +
                        ", but its libhearth_blob reads version " + std::to_string(kLibraryVersion) +
                        "; build the library again with `hearth blobs build full`");
  if (library.list_digest != dispatcher.list_digest)
    throw BlobError(kFailedPrecondition,
                    "a dispatcher of " + std::string(library.name) +
                        " and the library's list of blobs are of two builds, so that its calls would reach other "
                        "blobs; build the library again with `hearth blobs build full`");
  return library;
}

BlobRequest request_of(const Library& library, const LibraryBlob& blob) {
  BlobRequest request;
  request.stem = blob.stem;
  request.exports = strings(blob.exports);
  request.toolchain = library.toolchain;
  request.source = blob.source;
  request.flags = strings(library.flag_sets[blob.flags]);
  request.archs = strings(library.archs);
  return request;
}

struct Acquired {
  CompiledFile file;
  const char* source;  // who gave it, for people
};

Acquired acquire(const BlobEnvironment& environment, const BlobRequest& request) {
  if (environment.mode == BlobMode::kDirect)
    return {compile_directly(environment, request), "compiled or cached by hearth-blobc"};
  try {
    return {acquire_from_daemon(environment, request), "from hearthd"};
  } catch (const BlobError& failure) {
    if (failure.code() != kUnavailable || environment.mode == BlobMode::kDaemon) throw;
    try {
      return {compile_directly(environment, request), "no daemon; compiled or cached by hearth-blobc"};
    } catch (const BlobError& second) {
      // Both ways are needed to know what to mend.
      if (second.code() != kNotFound) throw;
      throw BlobError(second.code(), std::string(second.what()) + "\n(before that: " + failure.what() + ")");
    }
  }
}

std::vector<void*> load(const Library& library, const BlobRequest& request) {
  const auto begin = std::chrono::steady_clock::now();
  bool verbose = false;
  const auto say = [&](const std::string& what) {
    if (!verbose) return;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::fprintf(stderr, "hearth_blob: %s: %s (%.3f s)\n", request.stem.c_str(), what.c_str(), seconds);
  };
  try {
    const BlobEnvironment environment = read_environment(library);
    verbose = environment.verbose;
    const Acquired acquired = acquire(environment, request);
    std::vector<void*> functions = load_blob(acquired.file.path, acquired.file.sha256_hex, request.exports);
    say(std::string(acquired.source) + ", " + acquired.file.path);
    return functions;
  } catch (const BlobError& failure) {
    const std::string text = std::string("blob ") + request.stem + " of " + library.name + ": " + failure.what();
    say(std::string("failed: ") + failure.what());
    throw BlobError(failure.code(), text);
  }
}

}  // namespace

void* Site::resolve() {
  const Library& library = checked_library(*dispatcher_);
  const LibraryBlob* blob = blob_ < library.num_blobs ? &library.blobs[blob_] : nullptr;
  if (blob == nullptr || export_ >= strings(blob->exports).size())
    throw BlobError(kInternal, "a dispatcher of " + std::string(library.name) + " asks for export " +
                                   std::to_string(export_) + " of blob " + std::to_string(blob_) + " of " +
                                   std::to_string(library.num_blobs) + ", which is not there; please report this");
  void* function =
      registry().function({&library, blob->stem}, export_, [&] { return load(library, request_of(library, *blob)); });
  function_.store(function, std::memory_order_release);
  return function;
}

void SiteGroup::ask() {
  std::vector<Site*> wanted;
  for (Site* row : rows_)
    if (row != nullptr && !row->is_loaded()) wanted.push_back(row);
  const auto get = [](Site* site) {
    try {
      site->get();
    } catch (const std::exception&) {  // the call itself will meet it again
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    try {
      threads.emplace_back(get, wanted[i]);
    } catch (const std::system_error&) {  // no thread to be had: the call itself asks for what is missing
      break;
    }
  }
  if (!wanted.empty()) get(wanted[0]);
  for (std::thread& thread : threads) thread.join();
  for (Site* site : wanted)
    if (!site->is_loaded()) return;
  all_loaded_.store(true, std::memory_order_release);
}

}  // namespace hearth::blob
