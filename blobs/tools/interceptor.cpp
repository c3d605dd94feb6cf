#include "blobs/tools/interceptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/printable.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/library/manifest.h"
#include "blobs/tools/intercept_config.h"
#include "blobs/tools/record.h"
#include "blobs/tools/stub_object.h"

namespace hearth::blobs {
namespace {

constexpr char kDepthVariable[] = "HEARTH_INTERCEPT_DEPTH";
constexpr int kMaxCalls = 8;  // a real compiler may be a script that calls another of our stand-ins

std::string_view basename_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Runs the real program in place of this one.
absl::Status exec(const std::vector<std::string>& command, const std::vector<std::string>& args) {
  std::vector<char*> argv;
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  for (const std::string& word : args) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  if (!command[0].starts_with('/'))
    return absl::InvalidArgumentError(str_cat("compiler ", command[0], ": is no absolute path"));
  execv(argv[0], argv.data());
  return absl::ErrnoToStatus(errno, str_cat(command[0], " cannot be run"));
}

absl::Status exec_real(const InterceptConfig& config, const std::string& tool, bool links,
                       const std::vector<std::string>& args) {
  const char* depth = std::getenv(kDepthVariable);
  const int next = (depth != nullptr ? std::atoi(depth) : 0) + 1;
  if (next > kMaxCalls)
    return absl::FailedPreconditionError(str_cat("the real compiler ", config.compiler(tool)[0],
                                                 " calls the interceptor again; name another one with "
                                                 "--compiler"));
  setenv(kDepthVariable, std::to_string(next).c_str(), 1);
  for (const auto& [name, value] : config.real_environment())
    value ? setenv(name.c_str(), value->c_str(), 1) : unsetenv(name.c_str());
  return exec(links ? config.compiler(tool) : config.compile_command(tool), args);
}

// As make reads it.
std::string depfile_word(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == ' ' || c == '#') out += '\\';
    if (c == '$') out += '$';
    out += c;
  }
  return out;
}

absl::Status write_depfile(const CommandLine& line, const std::string& object) {
  std::string file = line.depfile;
  if (file.empty()) file = std::filesystem::path(object).replace_extension(".d").string();
  std::string text;
  for (const std::string& target : line.depfile_targets) str_append(&text, depfile_word(target), " ");
  if (line.depfile_targets.empty()) text = depfile_word(object) + " ";
  text.back() = ':';
  return runtime::write_file(file, {text, " ", depfile_word(line.sources[0]), "\n"});
}

absl::Status record_and_stub(const InterceptConfig& config, const std::string& tool, const std::string& cwd,
                             const CommandLine& line, const std::vector<std::string>& args, const char* kind) {
  const std::string& source = line.sources[0];
  if (struct stat info{}; stat(source.c_str(), &info) != 0) return absl::ErrnoToStatus(errno, source);
  const std::string object = !line.output.empty() ? line.output : str_cat(stem_of(source), ".o");
  const Record record{.kind = kind,
                      .tool = tool,
                      .source = absolute_path(source, cwd),
                      .output = absolute_path(object, cwd),
                      .cwd = cwd,
                      .args = args};
  // The record first: an object without one would be a blob that nobody can compile.
  HEARTH_RETURN_IF_ERROR(append_record(config.records, record));
  if (line.wants_depfile) HEARTH_RETURN_IF_ERROR(write_depfile(line, object));
  return runtime::write_file(object, {stub_object(record.source)});
}

// True when one of the link's objects stands for a blob or dispatcher.
bool links_stubs(const CommandLine& line) {
  for (const std::string& object : line.objects)
    if (const auto source = stub_source(object); source.ok() && !source->empty()) return true;
  return false;
}

// Response files are gone when the post-build runs, so that it gets the whole command in a file.
absl::Status post_build(const InterceptConfig& config, const std::string& config_file, const std::string& tool,
                        const std::string& cwd, const CommandLine& line, const std::vector<std::string>& args) {
  const std::string folder = str_cat(config.folder, "/", stem_of(line.output));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::PermissionDeniedError(str_cat(folder, ": ", error.message()));
  const std::string file = folder + "/link.json";
  const nlohmann::ordered_json link = {{"tool", tool}, {"cwd", cwd}, {"args", args}};
  try {
    HEARTH_RETURN_IF_ERROR(runtime::write_file(file, {link.dump(1)}));
  } catch (const nlohmann::ordered_json::exception&) {
    return absl::InvalidArgumentError(str_cat("the command that links ", line.output, " is not UTF-8"));
  }
  return exec(config.post_build, {"--config", config_file, "--link", file});
}

absl::Status run(const std::string& tool, const std::vector<std::string>& given) {
  HEARTH_ASSIGN_OR_RETURN(const std::string config_file, find_intercept_config());
  HEARTH_ASSIGN_OR_RETURN(const InterceptConfig config, read_intercept_config(config_file));
  HEARTH_ASSIGN_OR_RETURN(const std::vector<std::string> args, expand_response_files(given));
  std::error_code error;
  const std::string cwd = std::filesystem::current_path(error).string();
  if (error) return absl::FailedPreconditionError(str_cat("the current folder is gone: ", error.message()));
  const CommandLine line = parse_command_line(args);
  const bool links = line.kind == CommandLine::Kind::kLink;
  switch (decide(line, cwd)) {
    case Decision::kPass:
      if (links && links_stubs(line))
        return absl::InvalidArgumentError(str_cat(line.output.empty() ? "a.out" : line.output,
                                                  ": is linked of blobs, which are only recorded here; only "
                                                  "libmha_*.so, linked with -shared, can have lazily compiled blobs"));
      return exec_real(config, tool, links, given);
    case Decision::kBlob:
      return record_and_stub(config, tool, cwd, line, args, kBlobRecord);
    case Decision::kDispatcher:
      return record_and_stub(config, tool, cwd, line, args, kDispatcherRecord);
    case Decision::kLink:
      if (!links_stubs(line)) return exec_real(config, tool, links, given);
      return post_build(config, config_file, tool, cwd, line, args);
    case Decision::kMixed:
      break;
  }
  return absl::InvalidArgumentError(str_cat("blobs are compiled one a call, with -c; this call has ",
                                            line.sources.size(), " sources, the first is ", line.sources[0]));
}

}  // namespace

bool is_dispatcher(std::string_view source) {
  const std::string_view name = stem_of(source);
  return basename_of(source) != name && name.starts_with("fmha_") && name.ends_with("_api");
}

bool is_blob(std::string_view source) {
  const std::string_view name = basename_of(source);
  if (is_dispatcher(source) || stem_of(source) == name) return false;
  if (source.find("/blob/") == std::string_view::npos && source.find("/blobs/") == std::string_view::npos) return false;
  return name.starts_with("fmha_fwd_") || name.starts_with("fmha_bwd_") || name.starts_with("fmha_batch_prefill_");
}

Decision decide(const CommandLine& line, const std::string& cwd) {
  if (line.kind == CommandLine::Kind::kProbe) return Decision::kPass;
  std::size_t blobs = 0, dispatchers = 0;
  for (const std::string& source : line.sources) {
    const std::string path = absolute_path(source, cwd);
    blobs += is_blob(path);
    dispatchers += is_dispatcher(path);
  }
  if (blobs + dispatchers > 0) {
    if (line.sources.size() > 1 || line.kind != CommandLine::Kind::kCompile) return Decision::kMixed;
    return blobs > 0 ? Decision::kBlob : Decision::kDispatcher;
  }
  const std::string_view output = basename_of(line.output);
  const bool library = line.kind == CommandLine::Kind::kLink && line.shared && output.starts_with("libmha_") &&
                       output.find(".so") != std::string_view::npos;
  return library ? Decision::kLink : Decision::kPass;
}

int intercept(int argc, char** argv) {
  const std::string tool(basename_of(argc > 0 ? argv[0] : "hipcc"));
  const absl::Status status = run(tool, std::vector<std::string>(argv + (argc > 0), argv + argc));
  if (status.ok()) return 0;
  const std::string text = printable_lines(std::string(status.message()));  // may end with a compiler's own lines
  std::fprintf(stderr, "%s: error: %s\n", printable(tool).c_str(), text.c_str());
  return 1;
}

}  // namespace hearth::blobs
