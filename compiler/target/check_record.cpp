#include "compiler/target/check_record.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>

#include "compiler/target/target_kind.h"
#include "proto/target_limits.h"

namespace hearth::target {
namespace {

constexpr std::uint32_t kMaxVectorBits = 2048;  // of any processor that is known

absl::Status over(const char* field, std::uint64_t value, std::uint64_t most) {
  return absl::InvalidArgumentError(absl::StrCat("target.", field, ": ", value, " is more than ", most));
}

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
  if (record.threads() > std::uint32_t{kMaxTargetThreads}) return over("threads", record.threads(), kMaxTargetThreads);
  if (record.l2_bytes() > kMaxTargetL2Bytes) return over("l2_bytes", record.l2_bytes(), kMaxTargetL2Bytes);
  if (record.fork_work() > kMaxTargetForkWork) return over("fork_work", record.fork_work(), kMaxTargetForkWork);
  return kind->check != nullptr ? kind->check(record) : absl::OkStatus();
}

}  // namespace hearth::target
