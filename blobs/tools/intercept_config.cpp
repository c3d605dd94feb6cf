#include "blobs/tools/intercept_config.h"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::blobs {
namespace {

using Json = nlohmann::ordered_json;
constexpr char kConfigRemedy[] = "; make it again with `hearth blobs intercept` or `hearth blobs build full`";

}  // namespace

const std::vector<std::string>& InterceptConfig::compiler(const std::string& tool) const {
  const auto named = compilers.find(tool);
  return named != compilers.end() ? named->second : compilers.at("hipcc");
}

std::vector<std::string> InterceptConfig::compile_command(const std::string& tool) const {
  std::vector<std::string> command = compiler(tool);
  const auto flags = compile_flags.find(compilers.contains(tool) ? tool : "hipcc");
  if (flags != compile_flags.end()) command.insert(command.end(), flags->second.begin(), flags->second.end());
  return command;
}

std::map<std::string, std::optional<std::string>> InterceptConfig::real_environment() const {
  std::map<std::string, std::optional<std::string>> real = environment;
  const char* now = std::getenv("PATH");
  if (now == nullptr) return real;
  const std::string path = now, ours = fake_home + "/bin";
  std::string kept;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = path.substr(at, end - at);
    if (folder != ours) str_append(&kept, kept.empty() ? "" : ":", folder);
    at = end + 1;
  }
  real["PATH"] = kept;
  return real;
}

absl::StatusOr<InterceptConfig> read_intercept_config(const std::string& file) {
  HEARTH_ASSIGN_OR_RETURN(const std::string text, runtime::read_file(file));
  const Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded() || !root.is_object() || !root.contains("hearth_intercept"))
    return absl::InvalidArgumentError(str_cat(file, ": is not an interceptor's configuration", kConfigRemedy));
  if (root["hearth_intercept"] != kInterceptVersion)
    return absl::FailedPreconditionError(str_cat(file, ": is of version ", root["hearth_intercept"].dump(),
                                                 ", this hearth reads version ", kInterceptVersion, kConfigRemedy));
  InterceptConfig config;
  try {
    root.at("compilers").get_to(config.compilers);
    root.at("compile_flags").get_to(config.compile_flags);
    root.at("toolchain").get_to(config.toolchain);
    root.at("records").get_to(config.records);
    root.at("folder").get_to(config.folder);
    root.at("fake_home").get_to(config.fake_home);
    root.at("real_home").get_to(config.real_home);
    root.at("post_build").get_to(config.post_build);
    root.at("mapping").get_to(config.mapping);
    root.at("default_root").get_to(config.default_root);
    root.at("default_name").get_to(config.default_name);
    root.at("verify").get_to(config.verify);
    root.at("verbose").get_to(config.verbose);
    for (const auto& [name, value] : root.at("environment").items())
      config.environment[name] = value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
  } catch (const Json::exception& wrong) {  // missing or of another type: nlohmann names the field
    return absl::InvalidArgumentError(str_cat(file, ": ", wrong.what(), kConfigRemedy));
  }
  if (!config.compilers.contains("hipcc"))
    return absl::InvalidArgumentError(str_cat(file, ": compilers has no hipcc", kConfigRemedy));
  for (const auto& [name, command] : config.compilers)
    if (command.empty())
      return absl::InvalidArgumentError(str_cat(file, ": compilers.", name, " is empty", kConfigRemedy));
  if (config.post_build.empty())
    return absl::InvalidArgumentError(str_cat(file, ": post_build is empty", kConfigRemedy));
  return config;
}

absl::Status write_intercept_config(const InterceptConfig& config, const std::string& file) {
  Json environment = Json::object();
  for (const auto& [name, value] : config.environment) environment[name] = value ? Json(*value) : Json(nullptr);
  const Json root = {{"hearth_intercept", kInterceptVersion},
                     {"compilers", config.compilers},
                     {"compile_flags", config.compile_flags},
                     {"toolchain", config.toolchain},
                     {"records", config.records},
                     {"folder", config.folder},
                     {"fake_home", config.fake_home},
                     {"real_home", config.real_home},
                     {"post_build", config.post_build},
                     {"mapping", config.mapping},
                     {"default_root", config.default_root},
                     {"default_name", config.default_name},
                     {"verify", config.verify},
                     {"verbose", config.verbose},
                     {"environment", environment}};
  try {
    return runtime::write_file(file, {root.dump(1)});
  } catch (const Json::exception&) {
    return absl::InvalidArgumentError(str_cat(file, ": a path or variable is not UTF-8"));
  }
}

absl::StatusOr<std::string> find_intercept_config() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = program.parent_path().parent_path() / kInterceptFile;
  if (!error && std::filesystem::exists(beside, error)) return beside.string();
  if (const char* named = std::getenv(kInterceptVariable); named != nullptr && *named != '\0')
    return std::string(named);
  return absl::NotFoundError(str_cat("no configuration: neither ", beside.string(), " nor $", kInterceptVariable,
                                     " is there; run the build under `hearth blobs intercept`"));
}

}  // namespace hearth::blobs
