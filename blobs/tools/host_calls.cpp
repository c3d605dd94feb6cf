#include "blobs/tools/host_calls.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <set>

#include "base/status_macros.h"
#include "base/text.h"
#include "blobs/tools/elf_symbols.h"

namespace hearth::blobs {
namespace {

std::string readable(const std::string& symbol) {
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr),
                                                    std::free);
  return text ? text.get() : symbol;
}

// A C++ function of the global namespace: "_Z8fmha_fwd15fmha_fwd_traits…", "_Z9fmha_fwd_I…".
bool names_api(const std::string& symbol) {
  const std::string name = readable(symbol);
  const std::size_t arguments = name.find('(');
  if (arguments == std::string::npos) return false;
  if (name.starts_with("fmha_")) return true;
  // With a result in front, as templates have: "float fmha_fwd_<…>(…)".
  const std::size_t at = name.find(" fmha_");
  return at != std::string::npos && at < std::min(name.find('<'), arguments) &&
         name.find("::") > std::min(name.find('<'), arguments);
}

}  // namespace

absl::Status check_host_calls(const std::vector<std::string>& host_objects,
                              const std::vector<std::string>& dispatcher_objects) {
  std::set<std::string> defined;
  for (const auto* objects : {&host_objects, &dispatcher_objects}) {
    for (const std::string& object : *objects) {
      HEARTH_ASSIGN_OR_RETURN(const std::vector<std::string> symbols, defined_symbols(object));
      defined.insert(symbols.begin(), symbols.end());
    }
  }
  for (const std::string& object : host_objects) {
    HEARTH_ASSIGN_OR_RETURN(const std::vector<std::string> symbols, undefined_symbols(object));
    for (const std::string& symbol : symbols) {
      if (!names_api(symbol) || defined.contains(symbol)) continue;
      return absl::FailedPreconditionError(
          str_cat(object, ": calls ", readable(symbol),
                  ", which neither a dispatcher nor another object defines; the generator of that API failed or was "
                  "not run: read what the build printed before its first compile"));
    }
  }
  return absl::OkStatus();
}

}  // namespace hearth::blobs
