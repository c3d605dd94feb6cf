// Records: the opts that a search has found, by the flat kernel's digest; what lowering takes instead of the
// heuristic's. Plain value; const use is thread-safe. A record that makes no sense is left out, with a warning.
//
//   Records records(request.records(), warnings);
//   const std::vector<Opt>* opts = records.find(flat.digest());
#pragma once
#include <map>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "compiler/schedule/opts_proto.h"

namespace hearth::schedule {

class Records {
 public:
  using Protos = google::protobuf::RepeatedPtrField<v1::TuningRecord>;
  Records() = default;
  Records(const Protos& records, std::vector<std::string>& warnings);

  const std::vector<Opt>* find(const Digest& flat_kernel) const;
  bool empty() const { return opts_.empty(); }

 private:
  std::map<Digest, std::vector<Opt>> opts_;
};

}  // namespace hearth::schedule
