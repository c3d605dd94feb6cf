#include "blobs/tools/post_build.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/blob_flags.h"
#include "blobs/tools/build_progress.h"
#include "blobs/tools/command_line.h"
#include "blobs/tools/dispatchers.h"
#include "blobs/tools/host_calls.h"
#include "blobs/tools/intercept_config.h"
#include "blobs/tools/quick_state.h"
#include "blobs/tools/record.h"
#include "blobs/tools/recorded_manifest.h"
#include "blobs/tools/runtime_part.h"
#include "blobs/tools/stub_object.h"
#include "runtime/blob_library.h"

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
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(file));
  const Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
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
      HEARTH_ASSIGN_OR_RETURN(const auto source, stub_source(path));
      if (link.stubs.empty() && link.host_objects.empty()) link.args.push_back(kObjectsMark);
      (source.empty() ? link.host_objects : link.stubs).push_back(path);
    } else {
      link.args.push_back(arg);
    }
  }
  if (link.output.empty()) return absl::InvalidArgumentError(str_cat(file, ": the link has no -o"));
  return link;
}

// The records of the link's stubs. Every stub has one; a later record of the same object replaces an earlier.
absl::StatusOr<std::vector<Record>> records_of(const Link& link, const std::string& file, std::vector<int>* torn) {
  HEARTH_ASSIGN_OR_RETURN(Records all, read_records(file));
  *torn = all.torn_lines;
  std::map<std::string, Record*> by_object;
  for (Record& record : all.records) by_object[record.output] = &record;
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

QuickState quick_state(const InterceptConfig& config, const Link& link, const Manifest& manifest,
                       const std::vector<Dispatcher>& dispatchers) {
  QuickState state{.library = manifest.library,
                   .out_so = link.output,
                   .all_objs = link.host_objects,
                   .arch_fl = {},
                   .link_args = link.args,
                   .tool = link.tool,
                   .cwd = link.cwd,
                   .digests = {}};
  for (const Dispatcher& dispatcher : dispatchers) state.all_objs.push_back(dispatcher.object);
  state.all_objs.push_back(manifest_object(config, manifest.library));
  if (!manifest.blobs.empty())
    for (const std::string& arch : manifest.blobs[0].archs) state.arch_fl.push_back("--offload-arch=" + arch);
  return state;
}

// What a blob worker would refuse is refused here, where it can be mended.
absl::Status check_flags(const Manifest& manifest, const InterceptConfig& config) {
  const std::vector<std::string>* checked = nullptr;
  for (const Blob& blob : manifest.blobs) {
    if (checked != nullptr && *checked == blob.flags) continue;
    checked = &blob.flags;
    const auto usable = usable_flags(blob_spec(manifest, blob, config.folder + "/ck_jit"), config.compiler("hipcc")[0]);
    if (!usable.ok())
      return absl::Status(usable.status().code(), str_cat("the blobs of ", manifest.library,
                                                          " could not be compiled later: ", usable.status().message(),
                                                          "; change how the build compiles ", blob.source));
  }
  return absl::OkStatus();
}

void count(const Manifest& manifest, const std::vector<Dispatcher>& dispatchers, PostBuildReport* report) {
  std::set<std::string> called;
  for (const Dispatcher& dispatcher : dispatchers) {
    report->sites += static_cast<int>(dispatcher.rewritten.sites.size());
    called.insert(dispatcher.rewritten.stems.begin(), dispatcher.rewritten.stems.end());
  }
  report->dispatchers = static_cast<int>(dispatchers.size());
  report->blobs = static_cast<int>(manifest.blobs.size());
  for (const Blob& blob : manifest.blobs) {
    report->exports += static_cast<int>(blob.exports.size());
    if (!called.contains(blob.stem)) report->uncalled_blobs.push_back(blob.stem);
  }
}

absl::Status write_report(const PostBuildReport& report, const std::string& folder) {
  const Json json = {{"library", report.library},
                     {"out_so", report.out_so},
                     {"blobs", report.blobs},
                     {"dispatchers", report.dispatchers},
                     {"uncalled_blobs", report.uncalled_blobs},
                     {"sites", report.sites},
                     {"host_objects", report.host_objects},
                     {"exports", report.exports},
                     {"verified_symbols", report.verified_symbols},
                     {"torn_lines", report.torn_lines},
                     {"seconds", report.seconds},
                     {"text", describe(report)}};
  return runtime::write_file(folder + "/post_build.json", {json.dump(1), "\n"});
}

}  // namespace

absl::StatusOr<PostBuildReport> post_build(const std::string& config_file, const std::string& link_file,
                                           const std::function<void(const std::string&)>& line) {
  const auto start = std::chrono::steady_clock::now();
  HEARTH_ASSIGN_OR_RETURN(const InterceptConfig config, read_intercept_config(config_file));
  HEARTH_ASSIGN_OR_RETURN(const Link link, read_link(link_file));
  PostBuildReport report;
  report.library = stem_of(link.output);
  report.out_so = link.output;
  const std::string folder = str_cat(config.folder, "/", report.library);
  BuildProgress progress(report.library, str_cat(folder, "/", kProgressFile), line);
  HEARTH_ASSIGN_OR_RETURN(const std::vector<Record> records, records_of(link, config.records, &report.torn_lines));
  HEARTH_ASSIGN_OR_RETURN(Manifest manifest, recorded_manifest(report.library, records, config));
  HEARTH_RETURN_IF_ERROR(check_flags(manifest, config));
  // From here on files of the last build are replaced: a quick rebuild waits until all of them belong together again.
  HEARTH_RETURN_IF_ERROR(unpublish_quick_state(config.folder, report.library));
  progress.step(str_cat("finding the calls of ", manifest.blobs.size(), " blobs"));
  HEARTH_ASSIGN_OR_RETURN(const std::vector<Dispatcher> dispatchers,
                          rewrite_dispatchers(config, records, folder, &manifest));
  count(manifest, dispatchers, &report);
  HEARTH_RETURN_IF_ERROR(write_loader_header(config, report.library));
  progress.step(str_cat("compiling ", report.dispatchers, " dispatchers with ", report.sites, " calls"));
  if (absl::Status status =
          compile_dispatchers(config, report.library, folder, dispatchers, &progress, &report.verified_symbols);
      !status.ok())
    return status;

  std::vector<std::string> objects;
  for (const Dispatcher& dispatcher : dispatchers) objects.push_back(dispatcher.object);
  HEARTH_RETURN_IF_ERROR(check_host_calls(link.host_objects, objects));

  progress.step("linking");
  QuickState state = quick_state(config, link, manifest, dispatchers);
  const EmbeddedDefaults defaults{.root = config.default_root, .name = config.default_name};
  HEARTH_RETURN_IF_ERROR(link_library(config, state, manifest, defaults));
  // Published last and whole: the manifest, then what says that it and the objects belong together.
  const std::string manifest_file = str_cat(folder, "/", runtime::kBlobManifestFile);
  HEARTH_RETURN_IF_ERROR(runtime::write_file(manifest_file, {manifest_json(manifest)}));
  std::vector<std::string> linked = state.all_objs;
  std::erase(linked, manifest_object(config, report.library));  // made anew by each link
  linked.push_back(manifest_file);
  HEARTH_RETURN_IF_ERROR(digest_files(linked, &state));
  HEARTH_RETURN_IF_ERROR(write_quick_state(state, config.folder));

  report.host_objects = static_cast<int>(link.host_objects.size());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  HEARTH_RETURN_IF_ERROR(write_report(report, folder));
  progress.step("done");
  return report;
}

std::string describe(const PostBuildReport& report) {
  std::string text =
      str_cat(report.library, ": ", report.blobs, " blobs with ", report.exports, " exports, ", report.dispatchers,
              " dispatchers with ", report.sites, " sites, ", report.host_objects, " host objects");
  if (!report.uncalled_blobs.empty())
    str_append(&text, "; ", report.uncalled_blobs.size(), " blobs are called by no dispatcher, such as ",
               report.uncalled_blobs[0]);
  if (report.verified_symbols > 0)
    str_append(&text, "; each of ", report.verified_symbols, " symbols that the dispatchers need is a blob's");
  if (!report.torn_lines.empty())
    str_append(&text, "; ", report.torn_lines.size(),
               " lines of the record file were cut short by a killed build, "
               "their blobs were recorded again");
  return text;
}

}  // namespace hearth::blobs
