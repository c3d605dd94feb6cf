// hearth-blobc: one blob from the cache of the direct mode, compiled when it is not there. See direct_cache.h.
//
//   hearth-blobc --manifest M --root R --stem S --cache-dir C
//   hearth-blobc --root R --stem S --source SRC --toolchain T --cache-dir C [--export P]… [--arch A]… -- FLAGS…
//
// stdout: one line, {"path","sha256","hit","seconds"}, or {"code","message"} with exit code 1 (codes are gRPC's).
// stderr: progress when CK_JIT_VERBOSE=1. Limits: HEARTH_BLOB_WALL_S, HEARTH_BLOB_MEMORY_MB.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/standard_output.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/library/manifest.h"
#include "blobs/tools/direct_cache.h"

namespace hearth::blobs {
namespace {

using Json = nlohmann::json;

struct Request {
  BlobSpec spec;
  std::string manifest;
  DirectOptions options;
};

int say(const Json& line, int exit_code) {
  print(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  return exit_code;
}

int fail(const absl::Status& status) {
  return say({{"code", static_cast<int>(status.code())}, {"message", std::string(status.message())}}, 1);
}

// A positive whole number from the environment; an error rather than a guess for anything else.
absl::StatusOr<std::uint64_t> limit_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  const std::string value = text;
  if (value.size() > 9 || value.find_first_not_of("0123456789") != std::string::npos || std::stoull(value) == 0)
    return absl::InvalidArgumentError(str_cat(name, "=", value, " is not a whole number from 1 to 999999999"));
  return std::stoull(value);
}

absl::Status fill_from_manifest(Request* request) {
  HEARTH_ASSIGN_OR_RETURN(const auto manifest, read_manifest(request->manifest));
  const Blob* blob = manifest.find(request->spec.stem);
  if (blob == nullptr)
    return absl::NotFoundError(str_cat(request->manifest, ": has no blob ", request->spec.stem,
                                       "; the library and the manifest are of different builds"));
  std::string root = request->spec.root;
  if (root.empty()) root = std::filesystem::absolute(request->manifest).parent_path();
  request->spec = blob_spec(manifest, *blob, root);
  return absl::OkStatus();
}

absl::Status complete(Request* request) {
  if (!request->manifest.empty()) {
    HEARTH_RETURN_IF_ERROR(fill_from_manifest(request));
  } else if (request->spec.source.empty() || request->spec.toolchain.empty() || request->spec.root.empty()) {
    return absl::InvalidArgumentError("without --manifest, --root, --source and --toolchain are needed");
  }
  const auto wall = limit_from("HEARTH_BLOB_WALL_S", 900), memory = limit_from("HEARTH_BLOB_MEMORY_MB", 8 << 10);
  for (const auto* limit : {&wall, &memory})
    if (!limit->ok()) return limit->status();
  request->options.limits.wall_limit = std::chrono::seconds(*wall);
  request->options.limits.memory_bytes = *memory << 20;
  std::string& root = request->spec.root;
  while (root.size() > 1 && root.back() == '/') root.pop_back();
  const char* verbose = std::getenv("CK_JIT_VERBOSE");
  if (verbose != nullptr && std::string_view(verbose) == "1")
    request->options.progress = [](const std::string& line) {
      std::fprintf(stderr, "[hearth-blobc] %s\n", printable_lines(line).c_str());
    };
  return absl::OkStatus();
}

int run(int argc, char** argv) {
  Request request;
  CLI::App app("Compiles one kernel blob, or finds it in a cache");
  app.add_option("--manifest", request.manifest, "manifest that has the blob");
  app.add_option("--root", request.spec.root, "folder that {root} stands for");
  app.add_option("--stem", request.spec.stem, "which blob")->required();
  app.add_option("--source", request.spec.source, "its source, relative to the root");
  app.add_option("--toolchain", request.spec.toolchain, "hip or c++");
  app.add_option("--cache-dir", request.options.cache_dir, "folder of compiled blobs")->required();
  app.add_option("--export", request.spec.exports, "prefix of a symbol that it exports");
  app.add_option("--arch", request.spec.archs, "GPU architecture");
  app.footer("Behind -- come the compile flags.");
  for (const char* list : {"--export", "--arch"}) app.get_option(list)->allow_extra_args(false);
  // What is behind "--" is a compiler's, and never ours to interpret.
  const auto flags = std::find_if(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--"; });
  if (flags != argv + argc) request.spec.flags.assign(flags + 1, argv + argc);
  try {
    app.parse(static_cast<int>(flags - argv), argv);
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return 0;
  } catch (const CLI::ParseError& error) {
    return fail(absl::InvalidArgumentError(error.what()));
  }
  if (absl::Status status = complete(&request); !status.ok()) return fail(status);
  const auto hit = obtain(request.spec, request.options);
  if (!hit.ok()) return fail(hit.status());
  return say({{"path", hit->path}, {"sha256", hit->sha256_hex}, {"hit", hit->hit}, {"seconds", hit->seconds}}, 0);
}

}  // namespace
}  // namespace hearth::blobs

int main(int argc, char** argv) {
  return hearth::run_program("hearth-blobc", [&] { return hearth::blobs::run(argc, argv); });
}
