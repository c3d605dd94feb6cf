#include "daemon/config.h"
#include "daemon/cache_place.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <unistd.h>

#include <toml++/toml.h>
#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/cgroup_limits.h"
#include "base/own_place.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "command_line/help.h"
#include "command_line/manual.h"
#include "command_line/usage.h"
#include "daemon/daemon_manual.h"
#include "daemon/setting.h"
#include "daemon/settings_table.h"
#include "daemon/trusted_file.h"
#include "daemon/version.h"
#include "proto/socket_path.h"
#include "runtime/build_id.h"

namespace hearth::daemon {
namespace {

std::string version_text() {
  return absl::StrCat("hearthd ", kVersion, " build ", std::string(build_id().substr(0, 12)));
}

absl::Status wrong(const std::string& where, const std::string& value, const absl::Status& status) {
  return absl::InvalidArgumentError(absl::StrCat(where, " '", value, "': ", status.message()));
}

absl::Status apply_file(const std::string& path, const std::vector<Setting>& settings) {
  if (absl::Status trusted = check_trusted_file("the configuration file", path, "--config or HEARTH_CONFIG");
      !trusted.ok()) {
    return absl::InvalidArgumentError(std::string(trusted.message()));
  }
  const auto place = [&path](const toml::source_region& source) { return absl::StrCat(path, ":", source.begin.line); };
  try {
    const toml::table table = toml::parse_file(path);
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      const auto setting =
          std::find_if(settings.begin(), settings.end(), [&](const Setting& s) { return name == s.name; });
      if (setting == settings.end()) {
        return absl::InvalidArgumentError(absl::StrCat(place(node.source()), ": unknown setting '", name, "'"));
      }
      std::string value;
      if (node.is_string()) {
        value = node.as_string()->get();
      } else if (node.is_integer()) {
        value = absl::StrCat(node.as_integer()->get());
      } else if (node.is_floating_point()) {
        value = absl::StrCat(node.as_floating_point()->get());
      } else if (node.is_boolean()) {
        value = node.as_boolean()->get() ? "true" : "false";
      } else if (node.is_array() && setting->value.separator != '\0') {
        for (const toml::node& item : *node.as_array()) {
          if (!item.is_string()) {
            return absl::InvalidArgumentError(
                absl::StrCat(place(item.source()), ": '", name, "' must be a list of texts"));
          }
          absl::StrAppend(&value, value.empty() ? "" : std::string(1, setting->value.separator),
                          item.as_string()->get());
        }
      } else {
        return absl::InvalidArgumentError(absl::StrCat(place(node.source()), ": '", name, "' must be a plain value"));
      }
      if (absl::Status status = setting->value.apply(value); !status.ok()) {
        return wrong(absl::StrCat(place(node.source()), ": ", name), value, status);
      }
    }
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(absl::StrCat(place(error.source()), ": ", std::string(error.description())));
  }
  return absl::OkStatus();
}

absl::Status apply_environment(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    const std::string name = environment_name(setting);
    const char* value = secure_getenv(name.c_str());
    if (value == nullptr || *value == '\0') continue;
    if (absl::Status status = setting.value.apply(value); !status.ok()) return wrong(name, value, status);
  }
  return absl::OkStatus();
}

// The machine's memory, or that of this process's control group where it has less.
std::uint64_t available_memory_bytes() {
  const std::uint64_t machine = static_cast<std::uint64_t>(std::max(0l, ::sysconf(_SC_PHYS_PAGES))) *
                                static_cast<std::uint64_t>(std::max(0l, ::sysconf(_SC_PAGESIZE)));
  return std::min(machine, cgroup_limits().memory_bytes.value_or(machine));
}

// The processors of this process's affinity mask, or its control group's share of their time where that is less.
unsigned available_processors() {
  const unsigned machine = std::max(1u, std::thread::hardware_concurrency());
  return std::min(machine, cgroup_limits().processors.value_or(machine));
}

// One a processor, and no more than fit into three quarters of a group's memory at what a worker usually takes.
unsigned default_workers() {
  constexpr std::uint64_t kUsual_bytes = std::uint64_t{400} << 20;
  const std::optional<std::uint64_t> memory = cgroup_limits().memory_bytes;
  const std::uint64_t fit = memory ? std::max<std::uint64_t>(1, *memory / 4 * 3 / kUsual_bytes) : ~std::uint64_t{0};
  return static_cast<unsigned>(std::min<std::uint64_t>(available_processors(), fit));
}

// Every compile reserves blob_worker_memory of blob_memory; one is always possible.
unsigned blob_workers_of(const Config& config) {
  const unsigned wanted = config.blob_workers > 0 ? config.blob_workers : available_processors();
  const std::uint64_t affordable = config.blob_memory_bytes / config.blob_worker_memory_bytes;
  return static_cast<unsigned>(std::max<std::uint64_t>(1, std::min<std::uint64_t>(wanted, affordable)));
}

// They travel in messages, whose text must be UTF-8.
absl::Status check_paths(const Config& config) {
  for (const auto& [name, path] : {std::pair("socket", &config.socket), std::pair("cache_dir", &config.cache_dir),
                                   std::pair("temp_dir", &config.temp_dir), std::pair("log", &config.log_file)}) {
    if (!is_utf8(*path)) {
      return absl::InvalidArgumentError(absl::StrCat(name, " '", *path, "': the path is not UTF-8; choose another"));
    }
  }
  return absl::OkStatus();
}

// A worker lies beside hearthd, or where packages have programs that are not for people.
std::string program_near(const std::filesystem::path& self, const char* name) {
  const std::filesystem::path beside = self.parent_path() / name;
  const std::filesystem::path apart = self.parent_path().parent_path() / "libexec" / "hearth" / name;
  std::error_code error;
  return (!std::filesystem::exists(beside, error) && std::filesystem::exists(apart, error) ? apart : beside).string();
}

absl::Status resolve(Config& config) {
  HEARTH_ASSIGN_OR_RETURN(std::string socket, resolve_socket_path(config.socket, SocketUser::kDaemon));
  config.socket = socket;
  const std::filesystem::path self = runtime::program_file();
  if (self.empty() && (config.worker.empty() || config.blob_worker.empty())) {
    return absl::InvalidArgumentError(
        "cannot tell where hearthd lies (is /proc mounted?): give the worker programs with --worker and --blob-worker");
  }
  if (config.worker.empty()) config.worker = program_near(self, "hearth-worker");
  if (config.blob_worker.empty()) config.blob_worker = program_near(self, "hearth-blob-worker");
  // A relative path would be of the current folder, which may be anybody's.
  for (const auto& [setting, path] :
       {std::pair("worker", &config.worker), std::pair("blob_worker", &config.blob_worker),
        std::pair("ptxas", &config.ptxas)}) {
    if (!path->empty() && path->front() != '/')
      return absl::InvalidArgumentError(absl::StrCat(setting, " '", *path, "' is not an absolute path"));
    *path = std::filesystem::path(*path).lexically_normal().string();
  }
  if (config.log_file.empty()) config.log_file = config.default_log;
  if (config.temp_dir.empty()) {
    const char* folder = secure_getenv("TMPDIR");
    config.temp_dir = folder != nullptr && *folder == '/' ? folder : "/tmp";
  }
  if (config.temp_dir[0] != '/') {
    return absl::InvalidArgumentError(absl::StrCat("temp_dir '", config.temp_dir, "' is not an absolute path"));
  }
  HEARTH_ASSIGN_OR_RETURN(const CachePlace place, find_cache_place(config.cache_dir, config.temp_dir));
  config.cache_dir = place.dir;
  config.cache_below = place.below;
  config.cache_reason = place.reason;
  config.cache_is_temporary = place.is_temporary;
  if (config.workers == 0) config.workers = default_workers();
  if (config.queue_limit == 0 || config.blob_queue_limit == 0) {
    return absl::InvalidArgumentError("queue_limit and blob_queue_limit must be at least 1");
  }
  if (config.max_connections == 0 || config.max_connections_per_process == 0 || config.rpc_memory_bytes < (16u << 20)) {
    return absl::InvalidArgumentError(
        "max_connections and max_connections_per_process must be at least 1, rpc_memory at least 16MiB");
  }
  if (config.compile_limit_ms == 0 || config.hang_limit_ms == 0 || config.blob_compile_limit_ms == 0) {
    return absl::InvalidArgumentError("compile_limit_s, hang_limit_s and blob_compile_limit_s must be more than 0");
  }
  if (config.blob_worker_memory_bytes == 0) {
    return absl::InvalidArgumentError("blob_worker_memory must be more than 0");
  }
  if (config.blob_memory_bytes == 0) config.blob_memory_bytes = available_memory_bytes() / 2;
  if (config.weights_memory_bytes == 0) config.weights_memory_bytes = available_memory_bytes() / 2;
  config.blob_workers = blob_workers_of(config);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::uint64_t> parse_bytes(const std::string& text) {
  static const std::map<std::string, unsigned> kShifts = {{"", 0},     {"b", 0},   {"k", 10},   {"kb", 10}, {"kib", 10},
                                                          {"m", 20},   {"mb", 20}, {"mib", 20}, {"g", 30},  {"gb", 30},
                                                          {"gib", 30}, {"t", 40},  {"tb", 40},  {"tib", 40}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::uint64_t value = 0;
  const auto shift = kShifts.find(
      absl::AsciiStrToLower(std::string(absl::StripAsciiWhitespace(absl::string_view(text).substr(digits)))));
  if (digits == 0 || !absl::SimpleAtoi(text.substr(0, digits), &value) || shift == kShifts.end() ||
      value > (1ull << 60) >> shift->second) {
    return absl::InvalidArgumentError("expected a size such as 10GiB, 512M or 1048576");
  }
  return value << shift->second;
}

absl::StatusOr<std::uint64_t> parse_seconds(const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value) || value < 0 || value > 1e9) {
    return absl::InvalidArgumentError("expected seconds such as 60 or 0.5");
  }
  return static_cast<std::uint64_t>(std::llround(value * 1000));
}

absl::StatusOr<Config> load_config(int argc, const char* const* argv) {
  Config config;
  if (argc > 0) config.program = argv[0];
  std::vector<Setting> settings = settings_of(config);
  std::string from;
  note_in_force(settings, from, config.settings);
  command_line::Command app("hearthd", "Serve compiled plans and kernels to the processes of this user",
                            daemon_manual());
  app.set_version_flag("--version", version_text(), "Show version and build and exit.")
      ->group(command_line::kGlobalGroup);
  std::string file;
  bool foreground = false;
  bool wants_manual = false;
  std::vector<std::string> values(settings.size());
  std::vector<CLI::Option*> options;
  app.add_option("--config", file, "TOML file with settings. Environment: HEARTH_CONFIG")->type_name("FILE");
  for (std::size_t i = 0; i < settings.size(); ++i) {
    options.push_back(app.add_option(flag_name(settings[i]), values[i], help_of(settings[i])));
    options.back()->type_name(settings[i].value.kind);
  }
  app.add_option("--ready-fd", config.ready_fd,
                 "Write \"1\" to this descriptor once serving, \"0\" where another daemon does")
      ->type_name("N")
      ->check(CLI::Range(3, 1 << 20));
  app.add_flag("--foreground", foreground, "Log to stderr whatever the setting log says");
  app.add_flag("--manual", wants_manual, "Print the manual page")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    config.message = command_line::help_text(command_line::page_of(app));
    return config;
  } catch (const CLI::CallForVersion& version) {
    config.message = absl::StrCat(version.what(), "\n");
    return config;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(command_line::usage_message(app, argc, argv, error));
  }
  if (config.ready_fd >= 0 && ::fcntl(config.ready_fd, F_GETFD) < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ready-fd ", config.ready_fd, ": no such descriptor is open; open it, or leave the option out"));
  }
  if (wants_manual) {
    config.message = command_line::manual_page(command_line::page_of(app), 8, absl::StrCat("Hearth ", kVersion));
    return config;
  }
  if (file.empty() && secure_getenv("HEARTH_CONFIG") != nullptr) file = secure_getenv("HEARTH_CONFIG");
  if (!file.empty()) {
    from = file;
    // Values of the file may hold line breaks.
    if (absl::Status status = apply_file(file, settings); !status.ok())
      return absl::Status(status.code(), printable(std::string(status.message())));
  }
  from = "environment";
  HEARTH_RETURN_IF_ERROR(apply_environment(settings));
  from = "option";
  for (std::size_t i = 0; i < settings.size(); ++i) {
    if (options[i]->count() == 0) continue;
    if (absl::Status status = settings[i].value.apply(values[i]); !status.ok()) {
      return wrong(flag_name(settings[i]), values[i], status);
    }
  }
  if (foreground) {
    config.log_file.clear();
    config.default_log.clear();
  }
  HEARTH_RETURN_IF_ERROR(resolve(config));
  HEARTH_RETURN_IF_ERROR(check_paths(config));
  return config;
}

}  // namespace hearth::daemon
