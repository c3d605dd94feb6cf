#include "daemon/settings_table.h"

#include <absl/strings/str_cat.h>

#include "base/status_macros.h"
#include "daemon/config.h"
#include "daemon/setting_parsers.h"

namespace hearth::daemon {
namespace {

template <class T>
absl::Status store(const absl::StatusOr<std::uint64_t>& value, T* place) {
  HEARTH_RETURN_IF_ERROR(value.status());
  *place = static_cast<T>(*value);
  return absl::OkStatus();
}

}  // namespace

std::vector<Setting> settings_of(Config& c) {
  const auto text = [](std::string* place, const char* kind = "FILE") {
    const auto apply = [place](const std::string& value) {
      *place = value;
      return absl::OkStatus();
    };
    return Value(apply, kind, *place);
  };
  const auto bytes = [](auto* place) {
    const auto apply = [place](const std::string& value) { return store(parse_bytes(value), place); };
    return Value(apply, "SIZE", bytes_text(*place));
  };
  const auto seconds = [](auto* place) {
    const auto apply = [place](const std::string& value) { return store(parse_seconds(value), place); };
    return Value(apply, "SECONDS", absl::StrCat(static_cast<double>(*place) / 1000));
  };
  const auto count = [](auto* place) {
    const auto apply = [place](const std::string& value) { return store(parse_count(value), place); };
    return Value(apply, "N", absl::StrCat(*place));
  };
  return {
      {"socket", "unix socket to serve; empty: the user's own", text(&c.socket)},
      {"clients", "who may use the daemon: its owner, every user of the machine, a group, or users by name",
       Value([&c](const std::string& value) { return parse_clients(value, &c.clients); },
             "owner|everyone|group:NAME|users:NAME,…", c.clients.text())},
      {"user_kernels_per_hour", "most kernels compiled for one user in an hour, beside the owner and root; 0: no limit",
       count(&c.user_quotas.kernels_per_hour)},
      {"user_bytes_per_hour", "most bytes of artifacts stored for one user in an hour, likewise; 0: no limit",
       bytes(&c.user_quotas.bytes_per_hour)},
      {"metrics", "where /metrics (Prometheus), /live and /ready are served; empty: nowhere",
       text(&c.metrics_address, "ADDRESS:PORT|PATH")},
      {"metrics_public", "serve them on an address that other machines reach, to whoever asks",
       Value([&c](const std::string& value) { return parse_flag(value, &c.metrics_public); }, "true|false", "false")},
      {"sealed_cache", "compile nothing: what is not in the cache is an error that says what is missing",
       Value([&c](const std::string& value) { return parse_flag(value, &c.sealed); }, "true|false", "false")},
      {"sealed_plans",
       "where nothing is compiled: any plan of the graph is right, or only one that was made with the newest tuning "
       "records of its kernels",
       Value([&c](const std::string& value) { return parse_sealed_plans(value, &c.sealed_takes_older_tuning); },
             "any|newest", "any")},
      {"sharing",
       "what users of one daemon share: kernels, and plans without constant data of theirs; nothing, each has entries "
       "of "
       "its own",
       Value([&c](const std::string& value) { return parse_sharing(value, &c.sharing); }, "node|uid", "node")},
      {"cache_dir",
       "folder of compiled kernels and plans; empty: hearth in XDG_CACHE_HOME, else ~/.cache/hearth, else a temporary "
       "one",
       text(&c.cache_dir, "FOLDER")},
      {"cache_limit", "size limit of the cache; 0: none", bytes(&c.cache_limit_bytes)},
      {"allow_network_fs", "accept a cache folder on a network file system",
       Value([&c](const std::string& value) { return parse_flag(value, &c.allow_network_fs); }, "true|false", "false")},
      {"memory_store", "memory for results the disk does not take", bytes(&c.memory_store_bytes)},
      {"temp_dir", "folder of the workers' temporary files; empty: TMPDIR, else /tmp", text(&c.temp_dir, "FOLDER")},
      {"worker", "the hearth-worker program; empty: the one beside hearthd", text(&c.worker)},
      {"workers", "compiler workers; 0: one a processor, fewer where a container has little memory",
       Value([&c](const std::string& value) { return store(parse_worker_count(value), &c.workers); }, "N", "0")},
      {"worker_memory", "memory limit of a worker", bytes(&c.worker_memory_bytes)},
      {"worker_idle_s", "an idle worker leaves after this", seconds(&c.worker_idle_ms)},
      {"compile_limit_s", "longest time for lowering a graph or compiling a kernel", seconds(&c.compile_limit_ms)},
      {"hang_limit_s", "longest time without progress of a worker", seconds(&c.hang_limit_ms)},
      {"refuse_s", "how long a request that killed three workers is refused", seconds(&c.refuse_ms)},
      {"queue_limit", "graphs that may wait to be compiled", count(&c.queue_limit)},
      {"tune_turn_s", "how long a tuning run goes on while one of another process waits", seconds(&c.tune_turn_ms)},
      {"sandbox", "what confines workers: all of the sandbox, or none starts; what the machine offers of it; nothing",
       Value([&c](const std::string& value) { return parse_sandbox(value, &c.sandbox); }, "required|best-effort|off",
             std::string(name_of(c.sandbox)))},
      {"sandbox_read", "folders that blob compilers may read and run programs of, with ':' between them",
       Value([&c](const std::string& value) { return parse_folders(value, &c.sandbox_read); }, "FOLDERS", "", ':')},
      {"blob_worker", "the hearth-blob-worker program; empty: the one beside hearthd", text(&c.blob_worker)},
      {"blob_workers", "kernel blobs compiled at once; 0: one a processor, as far as blob_memory goes",
       Value([&c](const std::string& value) { return store(parse_worker_count(value), &c.blob_workers); }, "N", "0")},
      {"blob_worker_memory", "memory limit of one blob's compile", bytes(&c.blob_worker_memory_bytes)},
      {"blob_memory", "memory limit of all blobs' compiles; 0: half of the machine's or container's",
       bytes(&c.blob_memory_bytes)},
      {"blob_compile_limit_s", "longest time for compiling a blob", seconds(&c.blob_compile_limit_ms)},
      {"blob_queue_limit", "blobs that may wait to be compiled", count(&c.blob_queue_limit)},
      {"blob_retry_s", "how long a blob that failed to compile is not tried again", seconds(&c.blob_retry_ms)},
      {"ptxas", "NVIDIA's ptxas, which makes cubins of kernels for CUDA; empty: drivers compile the PTX",
       text(&c.ptxas)},
      {"blob_libraries", "folders of blobs that traced attention may use, with ':' between them",
       Value([&c](const std::string& value) { return parse_folders(value, &c.blob_libraries); }, "FOLDERS", "", ':')},
      {"weights_memory", "memory for weights that processes share; 0: half of the machine's or container's",
       bytes(&c.weights_memory_bytes)},
      {"weights_keep_s", "how long weights are kept that no process uses", seconds(&c.weights_keep_ms)},
      {"max_weights", "most plans whose weights are shared; 0: none are", count(&c.max_weights)},
      {"remote",
       "cache that nodes share, a Remote Execution API v2 server, and another one for when it is slow or gone, with "
       "',' "
       "between them; empty: none",
       Value([&c](const std::string& value) { return parse_remote_addresses(value, &c.remote.addresses); },
             "unix:PATH|grpc://HOST:PORT|grpcs://HOST:PORT", "", ',')},
      {"remote_instance", "the server's instance name", text(&c.remote.instance, "TEXT")},
      {"remote_salt", "what separates this fleet's results from those of others on the same server",
       text(&c.remote.salt, "TEXT")},
      {"remote_ca", "authorities of the server's certificate, PEM; empty: the system's", text(&c.remote.ca_file)},
      {"remote_certificate", "certificate by which the server knows this node, PEM", text(&c.remote.certificate_file)},
      {"remote_key", "its private key, readable by the daemon alone", text(&c.remote.key_file)},
      {"remote_token_file", "token that the server wants, read again when it changes; readable by the daemon alone",
       text(&c.remote.token_file)},
      {"remote_trusted_keys",
       "public keys, as hearth remote keygen prints them, with ',' between them; only results that one of their owners "
       "has signed are loaded",
       Value([&c](const std::string& value) { return parse_public_keys(value, &c.remote.trusted.keys); }, "KEY,…", "",
             ',')},
      {"remote_revoked_keys", "ids of keys that count no longer, with ',' between them",
       Value([&c](const std::string& value) { return parse_key_ids(value, &c.remote.trusted.revoked); }, "ID,…", "",
             ',')},
      {"remote_not_before", "results that were signed before this time are not loaded",
       Value([&c](const std::string& value) { return parse_time(value, &c.remote.trusted.not_before); },
             "2026-01-31T12:00:00Z", "")},
      {"remote_writer_key",
       "key file by which this node signs and sends what root and its own user have built; empty: it only reads",
       text(&c.remote.writer_key_file)},
      {"remote_private", "ask for and send results of graphs with constant data, too",
       Value([&c](const std::string& value) { return parse_flag(value, &c.remote.sends_private); }, "true|false",
             "false")},
      {"max_graph", "largest graph accepted, in bytes", bytes(&c.limits.graph_bytes)},
      {"max_nodes", "most nodes of a graph", count(&c.limits.nodes)},
      {"max_constants", "most constant bytes of a graph", bytes(&c.limits.constant_bytes)},
      {"max_connections", "most client connections at once", count(&c.max_connections)},
      {"max_connections_per_process", "most connections of one client process", count(&c.max_connections_per_process)},
      {"rpc_memory", "memory for requests and answers of all clients under way, half for each",
       bytes(&c.rpc_memory_bytes)},
      {"idle_exit_s", "leave after this long without calls and sessions; 0: never", seconds(&c.idle_exit_ms)},
      {"drain_s", "longest wait for running calls at the end", seconds(&c.drain_ms)},
      {"log", "log file; empty: stderr", text(&c.log_file)},
      {"default_log", "log file where `log` is not set; clients that start a daemon give it", text(&c.default_log)},
      {"log_format", "what lines of the log are: text for people, or an object of JSON each",
       Value([&c](const std::string& value) { return parse_log_format(value, &c.log_json); }, "text|json", "text")},
      {"log_level", "least grave records that are logged: trace, debug, info, warn, error or off",
       Value([&c](const std::string& value) { return parse_level(value, &c.log_level); }, "LEVEL", c.log_level)},
  };
}

}  // namespace hearth::daemon
