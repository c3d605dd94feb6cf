#include "compiler/blobs/verify_exports.h"

#include <map>
#include <vector>

#include "compiler/blobs/elf_symbols.h"
#include "runtime/text.h"

namespace hearth::blobs {
namespace {

struct Count {
  int blobs = 0, symbols = 0;
};

absl::StatusOr<std::map<std::string, Count>> count(const std::string& object, const Manifest& manifest,
                                                   const std::string& family) {
  std::map<std::string, Count> counts;
  for (const Blob& blob : manifest.blobs)
    if (blob.family == family)
      for (const std::string& prefix : blob.exports) ++counts[prefix].blobs;
  const absl::StatusOr<std::vector<std::string>> symbols = undefined_symbols(object);
  if (!symbols.ok()) return symbols.status();
  for (const std::string& symbol : *symbols)
    for (auto& [prefix, numbers] : counts) numbers.symbols += symbol.starts_with(prefix);
  return counts;
}

}  // namespace

absl::StatusOr<int> count_exports(const std::string& object, const Manifest& manifest, const std::string& family) {
  const auto counts = count(object, manifest, family);
  if (!counts.ok()) return counts.status();
  int total = 0;
  for (const auto& [prefix, numbers] : *counts) total += numbers.symbols;
  return total;
}

absl::StatusOr<int> verify_exports(const std::string& object, const std::string& dispatcher, const Manifest& manifest,
                                   const std::string& family) {
  const auto counts = count(object, manifest, family);
  if (!counts.ok()) return counts.status();
  int total = 0;
  for (const auto& [prefix, numbers] : *counts) {
    if (numbers.symbols != numbers.blobs)
      return absl::FailedPreconditionError(
          str_cat(dispatcher, ": calls ", numbers.symbols, " functions ", prefix, "…, but ", numbers.blobs,
                  " blobs define one; the sources do not belong together (remove the build's temporary folder and "
                  "build again, or go without the check: --no-verify)"));
    total += numbers.symbols;
  }
  return total;
}

}  // namespace hearth::blobs
