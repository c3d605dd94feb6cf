#include "compiler/target/check_record.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include "compiler/target/target_kind.h"

namespace hearth::target {
namespace {

constexpr std::uint32_t kMaxVectorBits = 2048;  // of any processor that is known

}  // namespace

absl::Status check_record(const v1::Target& record) {
  const TargetKind* const kind = find_target_kind(record.device());
  if (kind == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("target.device: '", absl::CHexEscape(record.device().substr(0, 64)),
                                                   "' is not known; it is one of ", target_kind_names()));
  }
  if (record.vector_bits() % 32 != 0 || record.vector_bits() > kMaxVectorBits) {
    return absl::InvalidArgumentError(
        absl::StrCat("target.vector_bits: ", record.vector_bits(), " is no multiple of 32 up to ", kMaxVectorBits));
  }
  return kind->check != nullptr ? kind->check(record) : absl::OkStatus();
}

}  // namespace hearth::target
