#include "compiler/schedule/records.h"

#include <algorithm>

#include "fmt/format.h"

namespace hearth::schedule {

Records::Records(const Protos& records, std::vector<std::string>& warnings) {
  for (const v1::TuningRecord& record : records) {
    Digest digest;
    absl::StatusOr<std::vector<Opt>> opts = from_proto(record.opts());
    if (opts.ok() && record.kernel().size() != digest.size())
      opts = absl::InvalidArgumentError(fmt::format("a digest of {} bytes", record.kernel().size()));
    if (!opts.ok()) {
      warnings.push_back(fmt::format("tuning record {} is left out: {}", to_hex(record.kernel()).substr(0, 16),
                                     std::string(opts.status().message())));
      continue;
    }
    std::ranges::copy(record.kernel(), digest.begin());
    opts_[digest] = *std::move(opts);
  }
}

const std::vector<Opt>* Records::find(const Digest& flat_kernel) const {
  auto found = opts_.find(flat_kernel);
  return found == opts_.end() ? nullptr : &found->second;
}

}  // namespace hearth::schedule
