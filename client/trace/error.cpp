#include "hearth/error.h"

#include <atomic>

#include "base/text.h"
#include "client/tensor/op_scope.h"
#include "client/trace/node.h"

namespace hearth::client {
namespace {

thread_local const OpScope* outermost_scope = nullptr;

}  // namespace

JitError::JitError(absl::Status status) : status_(std::move(status)), text_(std::string(status_.message())) {}

OpScope::OpScope(std::string_view op, const Loc& loc) : op_(op), loc_(loc), outer_(outermost_scope == nullptr) {
  if (!outer_) return;
  static std::atomic<std::uint64_t> last_call{0};
  call_ = ++last_call;
  outermost_scope = this;
}

OpScope::~OpScope() {
  if (outer_) outermost_scope = nullptr;
}

const OpScope* OpScope::outermost() { return outermost_scope; }

std::string describe(const Loc& loc) {
  std::string_view file = loc.file_name();
  std::size_t slash = file.rfind('/');
  if (slash != std::string_view::npos && slash > 0) {
    slash = file.rfind('/', slash - 1);
    if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  }
  return str_cat(file, ":", loc.line());
}

absl::Status refusal(std::string_view op, std::string_view message, const Loc& loc) {
  const OpScope* outer = OpScope::outermost();
  std::string name(op);
  if (outer && outer->op() != op) name = str_cat(outer->op(), ": ", op);
  const std::string_view scope = ScopedLocation::current();
  if (ScopedLocation::hides_lines())
    return absl::InvalidArgumentError(str_cat(name, ": ", message, " (at ", scope, ")"));
  return absl::InvalidArgumentError(str_cat(name, ": ", message, " (at ", scope.empty() ? "" : str_cat(scope, ", "),
                                            describe(outer ? outer->loc() : loc), ")"));
}

void fail(std::string_view op, std::string_view message, const Loc& loc) { throw JitError(refusal(op, message, loc)); }

}  // namespace hearth::client
