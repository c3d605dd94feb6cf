#include "hearth/jit_recurrent.h"

#include "base/status_macros.h"
#include "base/text.h"

namespace hearth::client {

absl::StatusOr<std::span<const float>> recurrent_output(const absl::StatusOr<ConstView>& output, std::size_t head,
                                                        const LstmState& state) {
  HEARTH_RETURN_IF_ERROR(output.status());
  const std::size_t elements = output->size_bytes / dtype_bytes(output->dtype);
  const std::size_t wanted = head + state.h.size() + state.c.size();
  if (output->dtype != DType::kF32 || elements != wanted) {
    return with_kind(JitErrorKind::kOutputLayoutMismatch,
                     absl::FailedPreconditionError(
                         str_cat("the output has ", elements, " elements of ", dtype_name(output->dtype), "; head ",
                                 head, " + h ", state.h.size(), " + c ", state.c.size(), " are ", wanted, " of f32")));
  }
  return std::span(static_cast<const float*>(output->data), elements);
}

}  // namespace hearth::client
