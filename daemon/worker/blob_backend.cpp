#include "daemon/worker/blob_backend.h"

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/blob_compiler.h"
#include "blobs/tools/ptxas.h"
#include "blobs/tools/toolchain.h"

namespace hearth::daemon {
namespace {

// Bitcode that is made for newer archs; kept as long as the worker.
std::string bitcode_folder(const ProgramLimits& limits) { return limits.folder + "/bitcode"; }

blobs::BlobSpec from_proto(const v1::BlobSpec& spec) {
  return {.stem = spec.stem(),
          .toolchain = spec.toolchain(),
          .root = spec.root(),
          .source = spec.source(),
          .flags = {spec.flags().begin(), spec.flags().end()},
          .archs = {spec.archs().begin(), spec.archs().end()},
          .exports = {spec.exports().begin(), spec.exports().end()},
          .glue = spec.glue()};
}

absl::StatusOr<v1::CompiledBlob> to_proto(const blobs::CompiledBlob& blob, const std::string& folder) {
  absl::StatusOr<std::string> bytes = runtime::read_file(blob.path);
  if (!bytes.ok())
    return absl::InternalError(str_cat("the compiler's result: ", std::string(bytes.status().message())));
  v1::CompiledBlob proto;
  proto.mutable_artifact()->set_format(v1::Artifact::ELF_SO);
  proto.mutable_artifact()->set_data(*std::move(bytes));
  for (const blobs::Dependency& dependency : blob.dependencies) {
    if (dependency.path.starts_with(folder)) continue;  // written for this compile: the glue
    v1::BlobDependency& added = *proto.add_dependencies();
    added.set_path(dependency.path);
    added.set_sha256_hex(dependency.sha256_hex);
    added.set_size(dependency.size_bytes);
    added.set_mtime_ns(dependency.mtime_ns);
  }
  proto.set_changed_meanwhile(blob.changed_meanwhile);
  proto.set_log(blob.log);
  proto.set_seconds(blob.seconds);
  return proto;
}

// Options of a compile in an empty folder.
absl::StatusOr<blobs::BlobCompileOptions> with_fresh_folder(const ProgramLimits& limits) {
  blobs::BlobCompileOptions options;
  options.folder = limits.folder + "/blob";
  options.wall_limit = limits.wall_limit;
  options.memory_bytes = limits.memory_bytes;
  options.output_bytes = limits.output_bytes;
  std::error_code error;
  std::filesystem::remove_all(options.folder, error);  // of a compile before
  if (!std::filesystem::create_directories(options.folder, error))
    return absl::InternalError(str_cat("cannot create '", options.folder, "': ", error.message()));
  return options;
}

}  // namespace

absl::StatusOr<v1::CompiledBlob> BlobBackend::compile_blob(const v1::BlobSpec& spec, const ProgramLimits& limits) {
  HEARTH_ASSIGN_OR_RETURN(const blobs::Toolchain toolchain,
                          blobs::find_toolchain(spec.toolchain(), bitcode_folder(limits)));
  HEARTH_ASSIGN_OR_RETURN(const blobs::BlobCompileOptions options, with_fresh_folder(limits));
  const absl::StatusOr<blobs::CompiledBlob> blob = blobs::compile_blob(from_proto(spec), toolchain, options);
  absl::StatusOr<v1::CompiledBlob> result =
      blob.ok() ? to_proto(*blob, options.folder + "/") : absl::StatusOr<v1::CompiledBlob>(blob.status());
  if (result.ok()) result->set_toolchain_digest(toolchain.digest);
  std::error_code ignored;
  std::filesystem::remove_all(options.folder, ignored);
  return result;
}

absl::StatusOr<v1::Artifact> BlobBackend::assemble(const v1::AssembleSpec& spec, const ProgramLimits& limits) {
  HEARTH_ASSIGN_OR_RETURN(const blobs::BlobCompileOptions options, with_fresh_folder(limits));
  HEARTH_ASSIGN_OR_RETURN(
      std::string cubin,
      blobs::assemble_ptx({.symbol = spec.symbol(), .ptx = spec.ptx(), .arch = spec.arch(), .program = spec.program()},
                          options));
  v1::Artifact artifact;
  artifact.set_format(v1::Artifact::CUBIN);
  artifact.set_data(std::move(cubin));
  return artifact;
}

absl::StatusOr<v1::ToolchainInfo> BlobBackend::find_toolchain(const v1::ToolchainQuery& query,
                                                              const ProgramLimits& limits) {
  HEARTH_ASSIGN_OR_RETURN(const blobs::Toolchain toolchain,
                          blobs::find_toolchain(query.kind(), bitcode_folder(limits)));
  v1::ToolchainInfo info;
  info.set_compiler(toolchain.compiler);
  info.set_version(toolchain.version);
  info.set_digest(toolchain.digest);
  return info;
}

}  // namespace hearth::daemon
