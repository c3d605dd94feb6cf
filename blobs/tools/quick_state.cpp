#include "blobs/tools/quick_state.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/sha256.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view kMark = "{jit}";
constexpr char kStateRemedy[] = "; run `hearth blobs build full` first";

// Also inside flags: "-L/tmp/b/lib".
std::string marked(std::string text, const std::string& folder) {
  for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos;) {
    const std::size_t end = at + folder.size();
    const bool whole = end == text.size() || text[end] == '/' || text[end] == ':' || text[end] == ',';
    if (whole) text.replace(at, folder.size(), kMark);
    at += whole ? kMark.size() : 1;
  }
  return text;
}

std::string resolved(std::string text, const std::string& folder) {
  for (std::size_t at = 0; (at = text.find(kMark, at)) != std::string::npos; at += folder.size())
    text.replace(at, kMark.size(), folder);
  return text;
}

template <typename Change>
void change_paths(QuickState* state, const Change& change) {
  state->out_so = change(state->out_so);
  state->cwd = change(state->cwd);
  for (auto* list : {&state->all_objs, &state->link_args})
    for (std::string& text : *list) text = change(text);
  for (auto& [file, digest] : state->digests) file = change(file);
}

}  // namespace

absl::Status digest_files(const std::vector<std::string>& files, QuickState* state) {
  state->digests.clear();
  for (const std::string& file : files) {
    HEARTH_ASSIGN_OR_RETURN(const std::string bytes, runtime::read_file(file));
    state->digests.emplace_back(file, to_hex(sha256(bytes)));
  }
  return absl::OkStatus();
}

absl::Status check_files(const QuickState& state) {
  for (const auto& [file, digest] : state.digests) {
    const absl::StatusOr<std::string> bytes = runtime::read_file(file);
    if (!bytes.ok()) return absl::Status(bytes.status().code(), str_cat(bytes.status().message(), kUnfinishedBuild));
    if (to_hex(sha256(*bytes)) != digest)
      return absl::FailedPreconditionError(
          str_cat(file, ": is not what ", state.library,
                  " was linked with: a later build was cut short or something else wrote it", kUnfinishedBuild));
  }
  return absl::OkStatus();
}

absl::Status unpublish_quick_state(const std::string& folder, const std::string& library) {
  const std::string file = str_cat(folder, "/", library, "/", kQuickStateFile);
  std::error_code error;
  std::filesystem::remove(file, error);
  if (error) return absl::PermissionDeniedError(str_cat(file, ": cannot be removed: ", error.message()));
  return absl::OkStatus();
}

absl::StatusOr<QuickState> read_quick_state(const std::string& folder, const std::string& library) {
  const std::string file = str_cat(folder, "/", library, "/", kQuickStateFile);
  const absl::StatusOr<std::string> text = runtime::read_file(file);
  if (!text.ok()) return absl::Status(text.status().code(), str_cat(text.status().message(), kStateRemedy));
  const Json root = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object() || !root.contains("hearth_quick_rebuild"))
    return absl::InvalidArgumentError(str_cat(file, ": is not a quick rebuild's state", kStateRemedy));
  if (root["hearth_quick_rebuild"] != kQuickStateVersion)
    return absl::FailedPreconditionError(str_cat(file, ": is of version ", root["hearth_quick_rebuild"].dump(),
                                                 ", this hearth reads version ", kQuickStateVersion, kStateRemedy));
  QuickState state;
  try {
    root.at("library").get_to(state.library);
    root.at("out_so").get_to(state.out_so);
    root.at("all_objs").get_to(state.all_objs);
    root.at("arch_fl").get_to(state.arch_fl);
    root.at("link_args").get_to(state.link_args);
    root.at("tool").get_to(state.tool);
    root.at("cwd").get_to(state.cwd);
    root.at("digests").get_to(state.digests);
  } catch (const Json::exception& wrong) {
    return absl::InvalidArgumentError(str_cat(file, ": ", wrong.what(), kStateRemedy));
  }
  if (std::count(state.link_args.begin(), state.link_args.end(), kObjectsMark) != 1)
    return absl::InvalidArgumentError(str_cat(file, ": link_args has not one ", kObjectsMark, kStateRemedy));
  change_paths(&state, [&](const std::string& path) { return resolved(path, folder); });
  return state;
}

absl::Status write_quick_state(const QuickState& given, const std::string& folder) {
  QuickState state = given;
  change_paths(&state, [&](const std::string& path) { return marked(path, folder); });
  const Json root = {{"hearth_quick_rebuild", kQuickStateVersion},
                     {"library", state.library},
                     {"out_so", state.out_so},
                     {"all_objs", state.all_objs},
                     {"arch_fl", state.arch_fl},
                     {"link_args", state.link_args},
                     {"tool", state.tool},
                     {"cwd", state.cwd},
                     {"digests", state.digests}};
  const std::string file = str_cat(folder, "/", state.library, "/", kQuickStateFile);
  return runtime::write_file(file, {root.dump(1), "\n"});
}

}  // namespace hearth::blobs
