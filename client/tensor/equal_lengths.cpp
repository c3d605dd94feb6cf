#include "client/tensor/equal_lengths.h"

#include <algorithm>
#include <vector>

#include "absl/strings/cord.h"
#include "base/text.h"
#include "client/tensor/op_scope.h"

namespace hearth::client {
namespace {

constexpr char kPayload[] = "hearth/equal_lengths";

// The name of a length that is a variable alone, which `other` does not depend on; "" else.
std::string lone_name(const Dim& dim, const Dim& other) {
  std::vector<Variable> own, others;
  dim.collect_variables(own);
  other.collect_variables(others);
  if (own.size() != 1 || dim.to_string() != own[0].name) return "";
  const bool depends = std::ranges::any_of(others, [&](const Variable& v) { return v.name == own[0].name; });
  return depends ? "" : own[0].name;
}

std::string definition(const Dim& one, const Dim& two) {
  if (const std::string name = lone_name(two, one); !name.empty()) return str_cat(name, "=", one.to_string());
  if (const std::string name = lone_name(one, two); !name.empty()) return str_cat(name, "=", two.to_string());
  return "";
}

}  // namespace

void fail_unequal(std::string_view op, std::string_view message, const Dim& one, const Dim& two, const Loc& loc) {
  absl::Status status = refusal(op, message, loc);
  if (const std::string remedy = definition(one, two); !remedy.empty()) status.SetPayload(kPayload, absl::Cord(remedy));
  throw JitError(std::move(status));
}

std::string equal_lengths_of(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayload);
  return payload ? std::string(*payload) : "";
}

void copy_equal_lengths(const absl::Status& from, absl::Status& to) {
  if (const auto payload = from.GetPayload(kPayload)) to.SetPayload(kPayload, *payload);
}

}  // namespace hearth::client
