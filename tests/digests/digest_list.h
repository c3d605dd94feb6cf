// tests/digests/list.txt: a line a case, its name and what digests_of() said; "# LLVM <version>" on the first one.
#pragma once
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace hearth::digests {

struct DigestList {
  std::string llvm_version;
  std::map<std::string, std::string> digests;  // by case
};

absl::StatusOr<DigestList> read_digest_list(const std::string& path);
absl::Status write_digest_list(const std::string& path, const DigestList& list);

// "" if nothing changed, else what did: "armv8.2-a: the plan; ...". Code is compared only within one version of LLVM.
std::string difference(const DigestList& list, const std::string& name, const std::string& now);

}  // namespace hearth::digests
