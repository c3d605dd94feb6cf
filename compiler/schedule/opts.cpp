#include "compiler/schedule/opts.h"

#include <algorithm>
#include <iterator>

#include "fmt/format.h"

namespace hearth::schedule {
namespace {

// In the order of Opt::Kind.
constexpr std::string_view kNames[] = {"TILE",  "LANES",  "MASKED",    "PADTO",  "UNROLL", "SPREAD", "DOT",
                                       "SPLIT", "BEFORE", "WORKGROUP", "SHARED", "MATRIX", "PACK"};
static_assert(std::size(kNames) == static_cast<int>(Opt::Kind::Pack) + 1);

}  // namespace

std::string_view name_of(Opt::Kind kind) { return kNames[static_cast<int>(kind)]; }

std::optional<Opt::Kind> kind_named(std::string_view name) {
  const auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<Opt::Kind>(found - std::begin(kNames));
}

std::string to_string(const Opt& opt) { return fmt::format("{}({}, {})", name_of(opt.kind), opt.axis, opt.amount); }

}  // namespace hearth::schedule
