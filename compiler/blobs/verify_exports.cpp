#include "compiler/blobs/verify_exports.h"

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/blobs/elf_symbols.h"
#include "runtime/text.h"

namespace hearth::blobs {
namespace {

struct Count {
  int blobs = 0, symbols = 0;
};

struct Counts {
  std::map<std::string, Count> prefixes;  // of what the family's blobs export
  std::vector<std::string> unknown;       // undefined templates named as blobs' are, which no blob exports
};

// A function template fmha_…<…> of the global namespace: "_Z9fmha_fwd_I…".
bool names_blob_function(std::string_view symbol) {
  if (!symbol.starts_with("_Z")) return false;
  std::size_t length = 0, at = 2;
  while (at < symbol.size() && symbol[at] >= '0' && symbol[at] <= '9' && length < symbol.size())
    length = length * 10 + static_cast<std::size_t>(symbol[at++] - '0');
  return length > 0 && at + length < symbol.size() && symbol.substr(at).starts_with("fmha_") &&
         symbol[at + length] == 'I';
}

absl::StatusOr<Counts> count(const std::string& object, const Manifest& manifest, const std::string& family) {
  Counts counts;
  for (const Blob& blob : manifest.blobs)
    if (blob.family == family)
      for (const std::string& prefix : blob.exports) ++counts.prefixes[prefix].blobs;
  const absl::StatusOr<std::vector<std::string>> symbols = undefined_symbols(object);
  if (!symbols.ok()) return symbols.status();
  for (const std::string& symbol : *symbols) {
    bool known = false;
    for (auto& [prefix, numbers] : counts.prefixes)
      if (symbol.starts_with(prefix)) known = ++numbers.symbols > 0;
    if (!known && names_blob_function(symbol)) counts.unknown.push_back(symbol);
  }
  return counts;
}

// Whether another export of each of the blobs that have `prefix` is called.
bool reached_otherwise(const Counts& counts, const Manifest& manifest, const std::string& family,
                       const std::string& prefix) {
  for (const Blob& blob : manifest.blobs) {
    if (blob.family != family || std::find(blob.exports.begin(), blob.exports.end(), prefix) == blob.exports.end())
      continue;
    const auto called = [&](const std::string& other) { return counts.prefixes.at(other).symbols > 0; };
    if (std::none_of(blob.exports.begin(), blob.exports.end(), called)) return false;
  }
  return true;
}

constexpr char kRemedy[] =
    "; the sources do not belong together (remove the build's temporary folder and build again, or go without the "
    "check: --no-verify)";

}  // namespace

absl::StatusOr<int> count_exports(const std::string& object, const Manifest& manifest, const std::string& family) {
  const absl::StatusOr<Counts> counts = count(object, manifest, family);
  if (!counts.ok()) return counts.status();
  int total = static_cast<int>(counts->unknown.size());
  for (const auto& [prefix, numbers] : counts->prefixes) total += numbers.symbols;
  return total;
}

absl::StatusOr<int> verify_exports(const std::string& object, const std::string& dispatcher, const Manifest& manifest,
                                   const std::string& family) {
  const absl::StatusOr<Counts> counts = count(object, manifest, family);
  if (!counts.ok()) return counts.status();
  if (!counts->unknown.empty())
    return absl::FailedPreconditionError(
        str_cat(dispatcher, ": calls ", counts->unknown[0], ", which no blob defines", kRemedy));
  int total = 0;
  for (const auto& [prefix, numbers] : counts->prefixes) {
    // A dispatcher need not call every export (bwd has a launcher that only other programs call), but all or none.
    const bool unused = numbers.symbols == 0 && reached_otherwise(*counts, manifest, family, prefix);
    if (numbers.symbols != numbers.blobs && !unused)
      return absl::FailedPreconditionError(str_cat(dispatcher, ": calls ", numbers.symbols, " functions ", prefix,
                                                   "…, but ", numbers.blobs, " blobs define one", kRemedy));
    total += numbers.symbols;
  }
  return total;
}

}  // namespace hearth::blobs
