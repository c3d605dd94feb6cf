#include "blobs/tools/blob_compiler.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "base/file_stamp.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/blob_flags.h"
#include "blobs/tools/child_process.h"
#include "blobs/tools/compile_failure.h"
#include "blobs/tools/dependencies.h"
#include "blobs/tools/depfile.h"
#include "blobs/tools/elf_exports.h"

namespace hearth::blobs {
namespace {

namespace fs = std::filesystem;

constexpr char kGlueUnit[] = "blob_with_glue.cpp";
constexpr std::size_t kLongestStem = 200;  // of a file name's 255

std::string source_path(const BlobSpec& spec) { return str_cat(spec.root, "/", spec.source); }

absl::Status check_spec(const BlobSpec& spec) {
  if (spec.stem.empty() || spec.stem.size() > kLongestStem || spec.stem.starts_with('.') ||
      spec.stem.find_first_of(std::string_view("/\n\0", 3)) != std::string::npos)
    return absl::InvalidArgumentError(str_cat("stem \"", spec.stem, "\" cannot be the name of a file"));
  if (!spec.root.starts_with('/'))
    return absl::InvalidArgumentError(str_cat(spec.stem, ": root \"", spec.root, "\" is not an absolute path"));
  const fs::path relative = fs::path(spec.source).lexically_normal();
  if (spec.source.empty() || relative.is_absolute() || *relative.begin() == "..")
    return absl::InvalidArgumentError(str_cat(spec.stem, ": source \"", spec.source, "\" is not below the root"));
  if (!files::stamp_of_file(source_path(spec)))
    return absl::InvalidArgumentError(str_cat(spec.stem, ": source ", source_path(spec),
                                              " is missing; is CK_JIT_ROOT where the library was installed to?"));
  return absl::OkStatus();
}

std::string folder_of(const std::string& path) { return fs::path(path).parent_path(); }

// The source alone, or a generated file that has the glue after it; its name is the same everywhere, as symbols hold
// it.
absl::StatusOr<std::string> write_unit(const BlobSpec& spec, const std::string& folder) {
  if (spec.glue.empty()) return source_path(spec);
  const std::string unit = str_cat(folder, "/", kGlueUnit);
  const absl::Status written = runtime::write_file(
      unit, {str_cat("#include \"", source_path(spec), "\"\n#line 1 \"", spec.stem, ".glue\"\n", spec.glue, "\n")});
  if (!written.ok()) return written;
  return unit;
}

// What the compiler says it read, of every pass: the rule that -MD writes has the host's only.
std::vector<std::string> files_read(const std::string& depfile, const std::string& headers) {
  std::vector<std::string> paths = parse_depfile(runtime::read_file(depfile).value_or(""));
  const std::string lines = runtime::read_file(headers).value_or("");
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    if (end > at) paths.push_back(lines.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> compile_command(const BlobSpec& spec, const Toolchain& toolchain,
                                                         const std::string& output, const std::string& depfile) {
  HEARTH_ASSIGN_OR_RETURN(const auto flags, usable_flags(spec, toolchain.compiler));
  const bool hip = toolchain.kind == kHipToolchain;
  const std::string folder = folder_of(output);
  std::vector<std::string> command = {toolchain.compiler};
  command.insert(command.end(), toolchain.prefix_flags.begin(), toolchain.prefix_flags.end());
  if (!has_optimisation(flags)) command.emplace_back("-O3");
  command.insert(command.end(), flags.begin(), flags.end());
  for (const std::string& arch : spec.archs) command.push_back("--offload-arch=" + arch);
  if (hip && spec.archs.empty()) command.emplace_back("--cuda-host-only");
  // Nothing of this machine or moment in the result: equal sources give equal bytes.
  if (hip) command.emplace_back("-fuse-cuid=none");
  if (!folder.empty()) command.push_back(str_cat("-ffile-prefix-map=", folder, "=."));
  command.push_back(str_cat("-ffile-prefix-map=", spec.root, "=."));
  command.push_back("-frandom-seed=" + spec.stem);
  for (const char* flag : {"-fPIC", "-shared", "-MD", "-MF"}) command.emplace_back(flag);
  command.push_back(depfile);
  command.push_back(spec.glue.empty() ? source_path(spec) : str_cat(folder, "/", kGlueUnit));
  command.insert(command.end(), toolchain.link_flags.begin(), toolchain.link_flags.end());
  command.emplace_back("-o");
  command.push_back(output);
  return command;
}

absl::StatusOr<CompiledBlob> compile_blob(const BlobSpec& spec, const Toolchain& toolchain,
                                          const BlobCompileOptions& options) {
  HEARTH_RETURN_IF_ERROR(check_spec(spec));
  HEARTH_ASSIGN_OR_RETURN(const auto flags, usable_flags(spec, toolchain.compiler));
  for (const std::string& arch : spec.archs)
    if (const absl::Status can = toolchain.supports(arch); !can.ok())
      return absl::Status(can.code(), str_cat(spec.stem, ": ", can.message()));

  const std::string output = str_cat(options.folder, "/", spec.stem, ".so");
  const std::string depfile = str_cat(options.folder, "/blob.d"), headers = str_cat(options.folder, "/blob.headers");
  HEARTH_ASSIGN_OR_RETURN(const auto unit, write_unit(spec, options.folder));
  HEARTH_ASSIGN_OR_RETURN(auto arguments, compile_command(spec, toolchain, output, depfile));
  ChildCommand command{.arguments = std::move(arguments),
                       .environment = minimal_environment(options.folder),
                       .folder = options.folder,
                       .wall_limit = options.wall_limit,
                       .memory_bytes = options.memory_bytes,
                       .output_bytes = options.output_bytes};
  // clang's way to list the headers of every pass: those that only device code includes are in no make rule.
  for (const std::string& word : {std::string("CC_PRINT_HEADERS=1"), "CC_PRINT_HEADERS_FILE=" + headers})
    command.environment.push_back(word);

  const std::int64_t before = files::file_clock_tick();
  const auto run = run_child(command);
  if (!run.ok()) return absl::Status(run.status().code(), str_cat(spec.stem, ": ", run.status().message()));
  HEARTH_RETURN_IF_ERROR(compile_failure(spec.stem, command, *run));
  const auto object = runtime::read_file(output);
  if (!object.ok())
    return absl::DataLossError(
        str_cat(spec.stem, ": ", toolchain.compiler, " succeeded without an object file: ", object.status().message()));
  if (const absl::Status whole = check_blob_object(*object, spec.exports, spec.archs); !whole.ok())
    return absl::Status(whole.code(), str_cat(spec.stem, ": ", whole.message()));

  std::vector<std::string> paths = files_read(depfile, headers);
  std::erase(paths, unit);
  paths.push_back(source_path(spec));
  HEARTH_ASSIGN_OR_RETURN(auto dependencies, collect_dependencies(spec, flags, options.folder, paths));
  CompiledBlob blob{.path = output,
                    .dependencies = std::move(dependencies),
                    .changed_meanwhile = false,
                    .log = run->errors,
                    .seconds = run->seconds};
  blob.changed_meanwhile = changed_since(before, spec, blob.dependencies);
  for (const std::string& file : {depfile, headers}) ::unlink(file.c_str());
  if (!spec.glue.empty()) ::unlink(unit.c_str());
  return blob;
}

}  // namespace hearth::blobs
