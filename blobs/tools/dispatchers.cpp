#include "blobs/tools/dispatchers.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/elf_symbols.h"
#include "blobs/tools/recorded_manifest.h"
#include "blobs/tools/run_command.h"
#include "blobs/tools/runtime_part.h"
#include "blobs/tools/verify_exports.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

std::string names_object(const std::string& folder, const Record& record) {
  return str_cat(folder, "/", stem_of(record.source), "_names.o");
}

absl::StatusOr<std::vector<BlobSource>> read_blobs(const std::vector<Record>& records) {
  std::vector<BlobSource> blobs;
  for (const Record& record : records) {
    if (record.kind != kBlobRecord) continue;
    HEARTH_ASSIGN_OR_RETURN(std::string text, runtime::read_file(record.source));
    blobs.push_back({.stem = std::string(stem_of(record.source)), .text = std::move(text)});
  }
  // As in the manifest, so that numbers agree.
  std::sort(blobs.begin(), blobs.end(), [](const BlobSource& a, const BlobSource& b) { return a.stem < b.stem; });
  return blobs;
}

// Compiles of dispatchers: what each is, beside its command.
struct Compiles {
  enum class Kind { kRewritten, kNames };
  struct What {
    Kind kind;
    const Dispatcher* dispatcher;
  };
  std::vector<Command> commands;
  std::vector<What> what;
};

class Compiler {
 public:
  Compiler(const InterceptConfig& config, const std::string& library, const std::string& folder)
      : config_(config), library_(library), folder_(folder) {}

  void add(const Dispatcher& dispatcher, Compiles::Kind kind, bool host_only, Compiles* compiles) const {
    const Record& record = dispatcher.record;
    const bool is_names = kind == Compiles::Kind::kNames;
    const std::string stem = str_cat(stem_of(record.source), is_names ? "_names" : "");
    const std::string object = is_names ? names_object(folder_, record) : dispatcher.object;
    const std::string beside = fs::path(record.source).parent_path().string();
    std::vector<std::string> args = config_.compile_command(record.tool);
    args.insert(args.end(), {"-iquote", beside, "-I" + loader_include(config_, library_) + "/blobs/loader"});
    for (std::string& word : recompile_args(record, str_cat(folder_, "/", stem, ".cpp"), object))
      args.push_back(std::move(word));
    // Each object of host code alone has a symbol by this name, which is the same in all unless it is told.
    if (host_only) args.insert(args.end(), {"--cuda-host-only", "-Xclang", str_cat("-cuid=", stem)});
    // Which functions are called does not need an optimiser, whose time is most of a large dispatcher's.
    if (is_names) args.emplace_back("-O0");
    args.emplace_back("-w");  // the build may take warnings for errors, and this is no text of its own
    compiles->commands.push_back({.args = std::move(args),
                                  .cwd = record.cwd,
                                  .log = str_cat(folder_, "/", stem, ".log"),
                                  .environment = config_.real_environment()});
    compiles->what.push_back({kind, &dispatcher});
  }

 private:
  const InterceptConfig& config_;
  const std::string &library_, &folder_;
};

absl::Status check_rewritten(const Dispatcher& dispatcher) {
  HEARTH_ASSIGN_OR_RETURN(const int left, count_blob_calls(dispatcher.object, dispatcher.rewritten));
  if (left == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(str_cat(dispatcher.record.source, ": ", left,
                                               " calls of blobs were not made lazy; please report this dispatcher"));
}

// The object holds a large dispatcher's every instance, and nobody needs it afterwards.
absl::Status check_names(const Dispatcher& dispatcher, const std::string& folder, const std::string& blobs_beside,
                         int* verified_symbols) {
  const std::string object = names_object(folder, dispatcher.record);
  const auto source_of = [&](const std::string& stem) { return str_cat(blobs_beside, "/", stem, ".cpp"); };
  const absl::StatusOr<int> verified =
      verify_exports(object, dispatcher.record.source, dispatcher.rewritten, source_of);
  std::error_code ignored;
  fs::remove(object, ignored);
  HEARTH_RETURN_IF_ERROR(verified.status());
  *verified_symbols += *verified;
  return absl::OkStatus();
}

std::string name_of(const Compiles::What& what) {
  const std::string name = fs::path(what.dispatcher->record.source).filename().string();
  return what.kind == Compiles::Kind::kNames ? str_cat(name, " as it was, for the check") : name;
}

absl::Status run(const Compiles& compiles, const std::string& folder, BuildProgress* progress, int* verified_symbols) {
  CommandEvents events;
  events.done = [&](std::size_t number) {
    const Compiles::What& what = compiles.what[number];
    progress->step(str_cat("compiled ", name_of(what)));
    if (what.kind == Compiles::Kind::kRewritten) return check_rewritten(*what.dispatcher);
    const std::string beside = fs::path(what.dispatcher->record.source).parent_path().string();
    return check_names(*what.dispatcher, folder, beside, verified_symbols);
  };
  events.running = [&](const std::vector<std::size_t>& numbers) {
    std::string names;
    for (const std::size_t number : numbers)
      str_append(&names, names.empty() ? "" : ", ", name_of(compiles.what[number]));
    progress->still(str_cat("compiling ", names));
  };
  return run_commands(compiles.commands, std::max(1u, std::thread::hardware_concurrency()), events);
}

}  // namespace

absl::StatusOr<std::vector<Dispatcher>> rewrite_dispatchers(const InterceptConfig& config,
                                                            const std::vector<Record>& records,
                                                            const std::string& folder, Manifest* manifest) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<BlobSource> blobs, read_blobs(records));
  std::vector<Dispatcher> dispatchers;
  for (const Record& record : records) {
    if (record.kind != kDispatcherRecord) continue;
    const std::string stem(stem_of(record.source));
    Dispatcher dispatcher{.record = record, .rewritten = {}, .object = str_cat(folder, "/", stem, ".o")};
    HEARTH_ASSIGN_OR_RETURN(std::string text, runtime::read_file(record.source));
    HEARTH_ASSIGN_OR_RETURN(RewrittenDispatcher rewritten,
                            rewrite_dispatcher({.path = record.source, .source = std::move(text), .blobs = blobs}));
    dispatcher.rewritten = std::move(rewritten);
    const std::string file = str_cat(folder, "/", stem, ".cpp"), names = str_cat(folder, "/", stem, "_names.cpp");
    HEARTH_RETURN_IF_ERROR(runtime::write_file(file, {dispatcher.rewritten.source}));
    if (config.verify)
      if (absl::Status status = runtime::write_file(names, {dispatcher.rewritten.names_source}); !status.ok())
        return status;
    for (Blob& blob : manifest->blobs)
      if (const auto found = dispatcher.rewritten.exports.find(blob.stem); found != dispatcher.rewritten.exports.end())
        blob.exports = found->second;
    dispatchers.push_back(std::move(dispatcher));
  }
  for (const Blob& blob : manifest->blobs)
    if (blob.exports.empty())
      return absl::FailedPreconditionError(
          str_cat("blob ", blob.source, ": defines nothing that ", blob.family, "_api.cpp could call"));
  return dispatchers;
}

absl::Status compile_dispatchers(const InterceptConfig& config, const std::string& library, const std::string& folder,
                                 const std::vector<Dispatcher>& dispatchers, BuildProgress* progress,
                                 int* verified_symbols) {
  const bool hip = config.toolchain == kHipToolchain;
  const Compiler compiler(config, library, folder);
  Compiles compiles;
  // The checks first: what is wrong is to be known early.
  for (const Dispatcher& dispatcher : dispatchers)
    if (config.verify) compiler.add(dispatcher, Compiles::Kind::kNames, hip, &compiles);
  for (const Dispatcher& dispatcher : dispatchers) compiler.add(dispatcher, Compiles::Kind::kRewritten, hip, &compiles);
  HEARTH_RETURN_IF_ERROR(run(compiles, folder, progress, verified_symbols));
  if (!hip) return absl::OkStatus();
  Compiles with_kernels;
  for (const Dispatcher& dispatcher : dispatchers) {
    HEARTH_ASSIGN_OR_RETURN(const bool has, has_kernels(dispatcher.object));
    if (has) compiler.add(dispatcher, Compiles::Kind::kRewritten, /*host_only=*/false, &with_kernels);
  }
  if (with_kernels.commands.empty()) return absl::OkStatus();
  progress->step("compiling for the GPU what has kernels of its own");
  return run(with_kernels, folder, progress, verified_symbols);
}

}  // namespace hearth::blobs
