#include "blobs/loader/daemon_client.h"

#include <dlfcn.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <vector>

#include "blobs/loader/blob_codes.h"
#include "blobs/loader/blob_json.h"
#include "blobs/loader/compiler_process.h"

namespace hearth::blob {
namespace {

constexpr char kName[] = "libhearth_blob_client.so";

struct Client {
  int (*acquire)(const char* request, char** reply) = nullptr;
  void (*release)(char* reply) = nullptr;
};

struct Clients {
  std::mutex mutex;
  std::map<std::string, Client> by_file;
  pid_t process = 0;  // that first used one: threads of the client do not live on in a fork
};
Clients& clients() {
  static auto* kept = new Clients;  // never destroyed: blobs may be called while the process ends
  return *kept;
}

// Null when the file is not there; what else is wrong is thrown.
const Client* load(const std::string& file, bool must_exist) {
  Clients& all = clients();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto known = all.by_file.find(file);
  if (known != all.by_file.end()) return &known->second;
  const bool is_path = file.find('/') != std::string::npos;
  if (is_path && access(file.c_str(), F_OK) != 0 && !must_exist) return nullptr;
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    if (!is_path && !must_exist) return nullptr;
    throw BlobError(must_exist && is_path && access(file.c_str(), F_OK) != 0 ? kNotFound : kFailedPrecondition,
                    "cannot load the daemon's client " + file + ": " + (why ? why : "no reason given") +
                        (must_exist ? "; HEARTH_BLOB_CLIENT names it" : ""));
  }
  Client client;
  client.acquire = reinterpret_cast<decltype(client.acquire)>(dlsym(handle, "hearth_blob_acquire"));
  client.release = reinterpret_cast<decltype(client.release)>(dlsym(handle, "hearth_blob_free"));
  if (client.acquire == nullptr || client.release == nullptr)
    throw BlobError(kFailedPrecondition, file + " is not a daemon's client: it has no hearth_blob_acquire and " +
                                             "hearth_blob_free; install the one of this version");
  return &all.by_file.emplace(file, client).first->second;
}

const Client* find_client(const BlobEnvironment& environment) {
  if (!environment.client.empty()) return load(environment.client, true);
  for (const std::string& file :
       {environment.library_folder + "/" + kName, environment.root + "/" + kName, std::string(kName)})
    if (const Client* client = load(file, false)) return client;
  throw BlobError(kUnavailable, std::string("there is no ") + kName + " beside the library, in " + environment.root +
                                    " or where the loader looks; install it or name it by HEARTH_BLOB_CLIENT");
}

// Once a process has used a client, a fork of it cannot.
void check_process() {
  Clients& all = clients();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.process == 0) all.process = getpid();
  if (all.process != getpid())
    throw BlobError(kUnavailable,
                    "this process was forked after the daemon's client had been used, whose threads are not in it; "
                    "call the blob before the fork, or set HEARTH_BLOB_MODE=direct");
}

}  // namespace

CompiledFile acquire_from_daemon(const BlobEnvironment& environment, const BlobRequest& request) {
  const Client* client = find_client(environment);
  check_process();
  JsonWriter json;
  json.add("stem", request.stem);
  json.add("toolchain", request.toolchain);
  json.add("root", environment.root);
  json.add("source", request.source);
  json.add("flags", request.flags);
  json.add("archs", request.archs);
  json.add("exports", request.exports);
  json.add("timeout_ms", std::int64_t{environment.timeout_seconds} * 1000);
  char* reply = nullptr;
  const int failed = client->acquire(json.text().c_str(), &reply);
  const std::string text = reply == nullptr ? std::string() : reply;
  if (reply != nullptr) client->release(reply);
  if (text.empty()) throw BlobError(kInternal, "the daemon's client gave no answer (" + std::to_string(failed) + ")");
  return file_of_reply(text, "the daemon's client", {});
}

}  // namespace hearth::blob
