#include "tests/digests/digest_list.h"

#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/digests/digests.h"

namespace hearth::digests {

absl::StatusOr<DigestList> read_digest_list(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  DigestList list;
  for (std::string line; std::getline(file, line);) {
    absl::string_view rest = line;
    if (absl::ConsumePrefix(&rest, "# LLVM ")) {
      list.llvm_version = std::string(rest);
    } else {
      const std::pair<std::string, std::string> parts = absl::StrSplit(rest, absl::MaxSplits(": ", 1));
      list.digests.insert(parts);
    }
  }
  return list;
}

absl::Status write_digest_list(const std::string& path, const DigestList& list) {
  std::ofstream file(path);
  file << "# LLVM " << list.llvm_version << "\n";
  for (const auto& [name, digests] : list.digests) file << name << ": " << digests << "\n";
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path));
}

std::string difference(const DigestList& list, const std::string& name, const std::string& now) {
  const auto found = list.digests.find(name);
  if (found == list.digests.end()) return "it is not in the list";
  const std::vector<std::string> before = absl::StrSplit(found->second, ' '), after = absl::StrSplit(now, ' ');
  if (before.size() != after.size()) return "the list has other targets";
  std::string text;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::pair<std::string, std::string> was = absl::StrSplit(before[i], ':'), is = absl::StrSplit(after[i], ':');
    const bool same_code = was.second == is.second || list.llvm_version != llvm_version();
    if (was.first == is.first && same_code) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", was.first != is.first ? "the plan" : "the code", " for target ",
                    i);
  }
  return text;
}

}  // namespace hearth::digests
