#include "compiler/blobs/post_build.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "compiler/blobs/command_line.h"
#include "compiler/blobs/dispatcher_rewriter.h"
#include "compiler/blobs/intercept_config.h"
#include "compiler/blobs/quick_state.h"
#include "compiler/blobs/record.h"
#include "compiler/blobs/recorded_manifest.h"
#include "compiler/blobs/run_command.h"
#include "compiler/blobs/runtime_part.h"
#include "compiler/blobs/stub_object.h"
#include "compiler/blobs/verify_exports.h"
#include "runtime/blob_library.h"
#include "runtime/file.h"
#include "runtime/text.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Link {
  std::string tool, cwd, output;
  std::vector<std::string> stubs;         // absolute paths of objects that stand for blobs and dispatchers
  std::vector<std::string> host_objects;  // absolute
  std::vector<std::string> args;          // the rest, with kObjectsMark where the first object was
};

absl::StatusOr<Link> read_link(const std::string& file) {
  const absl::StatusOr<std::string> text = runtime::read_file(file);
  if (!text.ok()) return text.status();
  const Json root = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  Link link;
  std::vector<std::string> args;
  try {
    root.at("tool").get_to(link.tool);
    root.at("cwd").get_to(link.cwd);
    root.at("args").get_to(args);
  } catch (const Json::exception& wrong) {
    return absl::InvalidArgumentError(str_cat(file, ": is not a link that hearth-hipcc wrote: ", wrong.what()));
  }
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "-o" && i + 1 < args.size()) {
      link.output = absolute_path(args[++i], link.cwd);
    } else if (const std::string joined = joined_output(arg); !joined.empty()) {
      link.output = absolute_path(joined, link.cwd);
    } else if (takes_next_argument(arg) && i + 1 < args.size()) {
      link.args.insert(link.args.end(), {arg, args[i + 1]});
      ++i;
    } else if (!arg.starts_with("-") && arg.ends_with(".o")) {
      const std::string path = absolute_path(arg, link.cwd);
      const auto source = stub_source(path);
      if (!source.ok()) return source.status();
      if (link.stubs.empty() && link.host_objects.empty()) link.args.push_back(kObjectsMark);
      (source->empty() ? link.host_objects : link.stubs).push_back(path);
    } else {
      link.args.push_back(arg);
    }
  }
  if (link.output.empty()) return absl::InvalidArgumentError(str_cat(file, ": the link has no -o"));
  return link;
}

// The records of the link's stubs. Every stub has one; a later record of the same object replaces an earlier.
absl::StatusOr<std::vector<Record>> records_of(const Link& link, const std::string& file, std::vector<int>* torn) {
  absl::StatusOr<Records> all = read_records(file);
  if (!all.ok()) return all.status();
  *torn = all->torn_lines;
  std::map<std::string, Record*> by_object;
  for (Record& record : all->records) by_object[record.output] = &record;
  std::vector<Record> found;
  std::set<std::string> seen;
  for (const std::string& stub : link.stubs) {
    const auto record = by_object.find(stub);
    if (record == by_object.end())
      return absl::FailedPreconditionError(str_cat("object ", stub, ": is empty and ", file,
                                                   " does not say how it is compiled (another --tmp-dir, or a "
                                                   "line that was cut short); remove it and build again"));
    if (seen.insert(stub).second) found.push_back(std::move(*record->second));
  }
  return found;
}

struct Dispatcher {
  const Record* record = nullptr;
  std::string family;
  RewrittenDispatcher rewritten;
  std::string object;    // of the rewritten
  std::string original;  // object of the unmodified, when verified
};

absl::StatusOr<std::vector<BlobSource>> read_blobs(const std::vector<Record>& records) {
  std::vector<BlobSource> blobs;
  for (const Record& record : records) {
    if (record.kind != kBlobRecord) continue;
    absl::StatusOr<std::string> text = runtime::read_file(record.source);
    if (!text.ok()) return text.status();
    blobs.push_back({.stem = std::string(stem_of(record.source)), .text = *std::move(text)});
  }
  // As in the manifest, so that numbers agree.
  std::sort(blobs.begin(), blobs.end(), [](const BlobSource& a, const BlobSource& b) { return a.stem < b.stem; });
  return blobs;
}

std::vector<Command> dispatcher_compiles(const InterceptConfig& config, const std::string& folder,
                                         const std::string& library, const std::vector<Dispatcher>& dispatchers) {
  std::vector<Command> commands;
  const auto add = [&](const Record& record, const std::string& source, const std::string& object,
                       const std::vector<std::string>& first, const std::vector<std::string>& last) {
    std::vector<std::string> args = config.compile_command(record.tool);
    const std::vector<std::string> own = recompile_args(record, source, object);
    for (const auto* words : {&first, &own, &last}) args.insert(args.end(), words->begin(), words->end());
    commands.push_back({.args = std::move(args),
                        .cwd = record.cwd,
                        .log = str_cat(folder, "/", stem_of(object), ".log"),
                        .environment = config.real_environment()});
  };
  for (const Dispatcher& dispatcher : dispatchers) {
    const Record& record = *dispatcher.record;
    const std::string beside = fs::path(record.source).parent_path().string();
    add(record, str_cat(folder, "/", stem_of(record.source), ".cpp"), dispatcher.object,
        {"-iquote", beside, "-I" + loader_include(config, library) + "/runtime/blob_loader"}, {});
    // Which functions are called does not need an optimiser, whose time is most of a large dispatcher's.
    if (!dispatcher.original.empty()) add(record, record.source, dispatcher.original, {}, {"-O0"});
  }
  return commands;
}

absl::StatusOr<std::vector<Dispatcher>> rewrite(const InterceptConfig& config, const std::vector<Record>& records,
                                                const std::string& folder, Manifest* manifest) {
  const absl::StatusOr<std::vector<BlobSource>> blobs = read_blobs(records);
  if (!blobs.ok()) return blobs.status();
  std::vector<Dispatcher> dispatchers;
  for (const Record& record : records) {
    if (record.kind != kDispatcherRecord) continue;
    const std::string stem(stem_of(record.source));
    Dispatcher dispatcher{.record = &record,
                          .family = dispatcher_family(record.source),
                          .rewritten = {},
                          .object = str_cat(folder, "/", stem, ".o"),
                          .original = config.verify ? str_cat(folder, "/", stem, "_original.o") : ""};
    absl::StatusOr<std::string> text = runtime::read_file(record.source);
    if (!text.ok()) return text.status();
    absl::StatusOr<RewrittenDispatcher> rewritten =
        rewrite_dispatcher({.path = record.source, .source = *std::move(text), .blobs = *blobs});
    if (!rewritten.ok()) return rewritten.status();
    dispatcher.rewritten = *std::move(rewritten);
    const std::string file = str_cat(folder, "/", stem, ".cpp");
    if (absl::Status status = runtime::write_file(file, {dispatcher.rewritten.source}); !status.ok()) return status;
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

absl::Status check_dispatchers(const std::vector<Dispatcher>& dispatchers, const Manifest& manifest,
                               PostBuildReport* report) {
  for (const Dispatcher& dispatcher : dispatchers) {
    const absl::StatusOr<int> left = count_exports(dispatcher.object, manifest, dispatcher.family);
    if (!left.ok()) return left.status();
    if (*left > 0)
      return absl::FailedPreconditionError(str_cat(
          dispatcher.record->source, ": ", *left, " calls of blobs were not made lazy; please report this dispatcher"));
    if (dispatcher.original.empty()) continue;
    const absl::StatusOr<int> verified =
        verify_exports(dispatcher.original, dispatcher.record->source, manifest, dispatcher.family);
    if (!verified.ok()) return verified.status();
    report->verified_symbols += *verified;
  }
  return absl::OkStatus();
}

QuickState quick_state(const InterceptConfig& config, const Link& link, const Manifest& manifest,
                       const std::vector<Dispatcher>& dispatchers) {
  QuickState state{.library = manifest.library,
                   .out_so = link.output,
                   .all_objs = link.host_objects,
                   .arch_fl = {},
                   .link_args = link.args,
                   .tool = link.tool,
                   .cwd = link.cwd};
  for (const Dispatcher& dispatcher : dispatchers) state.all_objs.push_back(dispatcher.object);
  state.all_objs.push_back(manifest_object(config, manifest.library));
  if (!manifest.blobs.empty())
    for (const std::string& arch : manifest.blobs[0].archs) state.arch_fl.push_back("--offload-arch=" + arch);
  return state;
}

absl::Status write_report(const PostBuildReport& report, const std::string& folder) {
  const Json json = {{"library", report.library},       {"out_so", report.out_so},
                     {"blobs", report.blobs},           {"dispatchers", report.dispatchers},
                     {"sites", report.sites},           {"host_objects", report.host_objects},
                     {"exports", report.exports},       {"verified_symbols", report.verified_symbols},
                     {"torn_lines", report.torn_lines}, {"seconds", report.seconds},
                     {"text", describe(report)}};
  return runtime::write_file(folder + "/post_build.json", {json.dump(1), "\n"});
}

}  // namespace

absl::StatusOr<PostBuildReport> post_build(const std::string& config_file, const std::string& link_file) {
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<InterceptConfig> config = read_intercept_config(config_file);
  if (!config.ok()) return config.status();
  const absl::StatusOr<Link> link = read_link(link_file);
  if (!link.ok()) return link.status();
  PostBuildReport report;
  report.library = stem_of(link->output);
  report.out_so = link->output;
  const std::string folder = str_cat(config->folder, "/", report.library);
  const absl::StatusOr<std::vector<Record>> records = records_of(*link, config->records, &report.torn_lines);
  if (!records.ok()) return records.status();
  absl::StatusOr<Manifest> manifest = recorded_manifest(report.library, *records, *config);
  if (!manifest.ok()) return manifest.status();
  const absl::StatusOr<std::vector<Dispatcher>> dispatchers = rewrite(*config, *records, folder, &*manifest);
  if (!dispatchers.ok()) return dispatchers.status();
  if (absl::Status status = write_loader_header(*config, report.library); !status.ok()) return status;
  const std::vector<Command> compiles = dispatcher_compiles(*config, folder, report.library, *dispatchers);
  const unsigned parallel = std::max(1u, std::thread::hardware_concurrency());
  if (absl::Status status = run_commands(compiles, parallel); !status.ok()) return status;
  if (absl::Status status = check_dispatchers(*dispatchers, *manifest, &report); !status.ok()) return status;

  const std::string manifest_file = str_cat(folder, "/", runtime::kBlobManifestFile);
  if (absl::Status status = runtime::write_file(manifest_file, {manifest_json(*manifest)}); !status.ok()) return status;
  const QuickState state = quick_state(*config, *link, *manifest, *dispatchers);
  const EmbeddedDefaults defaults{.root = config->default_root, .name = config->default_name};
  if (absl::Status status = link_library(*config, state, *manifest, defaults); !status.ok()) return status;
  if (absl::Status status = write_quick_state(state, config->folder); !status.ok()) return status;

  report.blobs = static_cast<int>(manifest->blobs.size());
  report.dispatchers = static_cast<int>(dispatchers->size());
  for (const Dispatcher& dispatcher : *dispatchers) report.sites += static_cast<int>(dispatcher.rewritten.sites.size());
  report.host_objects = static_cast<int>(link->host_objects.size());
  for (const Blob& blob : manifest->blobs) report.exports += static_cast<int>(blob.exports.size());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (absl::Status status = write_report(report, folder); !status.ok()) return status;
  return report;
}

std::string describe(const PostBuildReport& report) {
  std::string text =
      str_cat(report.library, ": ", report.blobs, " blobs with ", report.exports, " exports, ", report.dispatchers,
              " dispatchers with ", report.sites, " sites, ", report.host_objects, " host objects");
  if (report.verified_symbols > 0)
    str_append(&text, "; verified against ", report.verified_symbols, " undefined symbols of the original dispatchers");
  if (!report.torn_lines.empty())
    str_append(&text, "; ", report.torn_lines.size(),
               " lines of the record file were cut short by a killed build, "
               "their blobs were recorded again");
  return text;
}

}  // namespace hearth::blobs
