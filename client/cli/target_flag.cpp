#include "client/cli/target_flag.h"

#include <google/protobuf/util/json_util.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "client/cli/print.h"
#include "client/jit/request.h"
#include "command_line/nearest.h"
#include "runtime/devices/named_target.h"

namespace hearth::cli {
namespace {

absl::StatusOr<v1::Target> read_record(const std::string& path) {
  constexpr std::size_t kMaxBytes = 1 << 20;
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_input(path));
  if (text.size() > kMaxBytes)
    return absl::InvalidArgumentError(str_cat(path, ": no target's record: it has ", text.size(), " bytes"));
  v1::Target target;
  if (const auto parsed = google::protobuf::util::JsonStringToMessage(text, &target); !parsed.ok()) {
    return absl::InvalidArgumentError(
        str_cat(path, ": no target's record: ", std::string_view(parsed.message().data(), parsed.message().size()),
                "; the manifest that hearth emit writes has one under \"target\""));
  }
  std::sort(target.mutable_features()->begin(), target.mutable_features()->end());
  return target;
}

}  // namespace

void add_target_to(CLI::App& command, std::string& target) {
  command
      .add_option("--target", target,
                  str_cat("Compile for this target instead of this machine: ",
                          absl::StrJoin(runtime::target_names(), ", "), ", or a file with a record, RECORD.json"))
      ->type_name("TARGET")
      ->excludes(command.get_option("--device"))
      ->excludes(command.get_option("--threads"));
}

absl::StatusOr<v1::Target> target_of(const std::string& text, const client::PrepareConfig& config) {
  if (text.empty()) return client::target_for(config);
  if (absl::StrContains(text, '/') || absl::EndsWith(text, ".json")) return read_record(text);
  absl::StatusOr<v1::Target> target = runtime::named_target(text);
  if (target.ok()) return target;
  const std::string meant = command_line::nearest(text, runtime::target_names());
  return usage_error("--target: ", target.status().message(),
                     meant.empty() ? std::string() : str_cat("; did you mean ", meant, "?"));
}

}  // namespace hearth::cli
