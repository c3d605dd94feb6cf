#include "runtime/hal/stream/stream_executable.h"

#include "absl/strings/escaping.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/gpu/distinct_artifacts.h"
#include "runtime/hal/stream/stream_program.h"

namespace hearth::runtime {

absl::StatusOr<std::unique_ptr<StreamExecutable>> StreamExecutable::load(
    const std::shared_ptr<const StreamContext>& context, const std::shared_ptr<StreamMemory>& memory, const Plan& plan,
    const std::vector<ArtifactSource>& artifacts) {
  HEARTH_RETURN_IF_ERROR(context->check_usable());
  HEARTH_ASSIGN_OR_RETURN(const DistinctArtifacts code, DistinctArtifacts::read(plan, artifacts));
  const StreamContext::Current current(*context);
  HEARTH_RETURN_IF_ERROR(current.status());
  const StreamApi& api = context->api();
  auto executable = std::make_unique<StreamExecutable>();
  executable->context_ = context;
  executable->memory_ = memory;
  for (std::size_t i = 0; i < code.codes.size(); ++i) {
    void* module = nullptr;
    std::string log;
    const int error = api.module_load(&module, code.codes[i], &log);
    if (absl::Status loaded = context->check(error, Entry::module_load); !loaded.ok()) {
      if (!log.empty())
        loaded = absl::Status(loaded.code(), str_cat(loaded.message(), ": ", absl::Utf8SafeCHexEscape(log)));
      return of_kernel(plan, code.first_kernels[i], loaded);
    }
    executable->modules_.emplace_back(context, module);
  }
  for (std::size_t i = 0; i < plan.kernels.size(); ++i) {
    void* function = nullptr;
    const int error =
        api.module_function(&function, executable->modules_[code.place[i]].get(), plan.kernels[i].symbol.c_str());
    if (const absl::Status found = context->check(error, Entry::module_function); !found.ok())
      return of_kernel(plan, i, found);
    executable->functions_.push_back(function);
  }
  return executable;
}

absl::StatusOr<std::unique_ptr<Program>> StreamExecutable::program(Rows& rows, const HostWork&) const {
  HEARTH_ASSIGN_OR_RETURN(std::unique_ptr<StreamProgram> program, StreamProgram::make(context_, memory_, *this, rows));
  return std::unique_ptr<Program>(std::move(program));
}

}  // namespace hearth::runtime
