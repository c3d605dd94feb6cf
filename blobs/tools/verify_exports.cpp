#include "blobs/tools/verify_exports.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/dispatcher_text.h"
#include "blobs/tools/elf_symbols.h"

namespace hearth::blobs {
namespace {

constexpr char kExportsRemedy[] =
    "; dispatcher and blobs are not of one run of the generator: remove the build's temporary folder and build again, "
    "or go without the check: --no-verify";
constexpr char kReport[] = "; please report this dispatcher, or go without the check: --no-verify";

// A function template fmha_…<…> of the global namespace: "_Z9fmha_fwd_I…".
bool names_blob_function(std::string_view symbol) {
  if (!symbol.starts_with("_Z")) return false;
  std::size_t length = 0, at = 2;
  while (at < symbol.size() && symbol[at] >= '0' && symbol[at] <= '9' && length < symbol.size())
    length = length * 10 + static_cast<std::size_t>(symbol[at++] - '0');
  return length > 0 && at + length < symbol.size() && symbol.substr(at).starts_with("fmha_") &&
         symbol[at + length] == 'I';
}

std::string readable(const std::string& symbol) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr),
                                                    std::free);
  return text ? str_cat(text.get(), " (", symbol, ")") : symbol;
}

std::set<std::string> prefixes_of(const RewrittenDispatcher& rewritten) {
  std::set<std::string> prefixes;
  for (const auto& [stem, exports] : rewritten.exports) prefixes.insert(exports.begin(), exports.end());
  return prefixes;
}

bool is_blob_function(std::string_view symbol, const std::set<std::string>& prefixes) {
  return names_blob_function(symbol) || std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& prefix) {
           return symbol.starts_with(prefix);
         });
}

}  // namespace

absl::StatusOr<int> count_blob_calls(const std::string& object, const RewrittenDispatcher& rewritten) {
  HEARTH_ASSIGN_OR_RETURN(const std::vector<std::string> symbols, undefined_symbols(object));
  const std::set<std::string> prefixes = prefixes_of(rewritten);
  return static_cast<int>(std::count_if(symbols.begin(), symbols.end(),
                                        [&](const std::string& symbol) { return is_blob_function(symbol, prefixes); }));
}

absl::StatusOr<int> verify_exports(const std::string& object, const std::string& dispatcher,
                                   const RewrittenDispatcher& rewritten,
                                   const std::function<std::string(const std::string&)>& source_of) {
  HEARTH_ASSIGN_OR_RETURN(const ObjectReferences found, references(object, kNamesSection));
  if (found.listed.size() != rewritten.names.size())
    return absl::DataLossError(str_cat(object, ": names ", found.listed.size(), " functions of blobs instead of ",
                                       rewritten.names.size(), "; the compiler left some out"));
  std::map<std::string, const NamedExport*> defined;
  for (std::size_t i = 0; i < found.listed.size(); ++i) {
    const auto [entry, is_new] = defined.emplace(found.listed[i], &rewritten.names[i]);
    if (!is_new)
      return absl::FailedPreconditionError(str_cat(dispatcher, ": ", readable(found.listed[i]),
                                                   " is defined by two blobs, ", source_of(entry->second->stem),
                                                   " and ", source_of(rewritten.names[i].stem), kExportsRemedy));
  }
  const std::set<std::string> prefixes = prefixes_of(rewritten);
  std::set<std::string> called;
  int total = 0;
  for (const std::string& symbol : found.undefined) {
    const auto blob = defined.find(symbol);
    if (blob == defined.end() && !is_blob_function(symbol, prefixes)) continue;
    if (blob == defined.end())
      return absl::FailedPreconditionError(str_cat(dispatcher, ": calls ", readable(symbol), ", which none of its ",
                                                   rewritten.stems.size(), " blobs defines", kExportsRemedy));
    if (!rewritten.stems.contains(blob->second->stem))
      return absl::FailedPreconditionError(str_cat(dispatcher, ": calls ", readable(symbol), " of ",
                                                   source_of(blob->second->stem),
                                                   ", which was not found when it was rewritten", kReport));
    called.insert(blob->second->stem);
    ++total;
  }
  for (const std::string& stem : rewritten.stems)
    if (!called.contains(stem))
      return absl::FailedPreconditionError(str_cat(dispatcher, ": was rewritten to call ", source_of(stem),
                                                   ", none of whose functions it calls", kReport));
  return total;
}

}  // namespace hearth::blobs
