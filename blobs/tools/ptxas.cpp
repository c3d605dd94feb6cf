#include "blobs/tools/ptxas.h"

#include <unistd.h>

#include "base/file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/child_process.h"
#include "blobs/tools/compile_failure.h"

namespace hearth::blobs {

absl::StatusOr<std::string> assemble_ptx(const PtxSource& source, const BlobCompileOptions& options) {
  const std::string input = options.folder + "/kernel.ptx", output = options.folder + "/kernel.cubin";
  HEARTH_RETURN_IF_ERROR(runtime::write_file(input, {source.ptx}));
  const ChildCommand command{
      .arguments = {source.program, str_cat("--gpu-name=", source.arch), "-O3", "--output-file", output, input},
      .environment = minimal_environment(options.folder),
      .folder = options.folder,
      .wall_limit = options.wall_limit,
      .memory_bytes = options.memory_bytes,
      .output_bytes = options.output_bytes};
  const auto run = run_child(command);
  if (!run.ok()) return absl::Status(run.status().code(), str_cat(source.symbol, ": ", run.status().message()));
  HEARTH_RETURN_IF_ERROR(compile_failure(source.symbol, command, *run));
  const absl::StatusOr<std::string> cubin = runtime::read_file(output);
  for (const std::string& file : {input, output}) ::unlink(file.c_str());
  if (!cubin.ok() || !cubin->starts_with("\177ELF")) {
    return absl::DataLossError(str_cat(source.symbol, ": ", source.program, " succeeded without a cubin"));
  }
  return cubin;
}

}  // namespace hearth::blobs
