#include "hearth/build_error.h"

#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "absl/strings/cord.h"
#include "base/text.h"
#include "hearth/error.h"
#include "hearth/error_kind.h"

namespace hearth::client {
namespace {

constexpr char kBuildErrorPayload[] = "hearth.v1.BuildError";
constexpr int kMaxNested = 16;

// A status carries bytes, not objects: the bytes are a key of this table, and the entry lives as long as any copy of
// them. Never destroyed: a status may outlive main().
struct Errors {
  std::mutex mutex;
  std::map<std::string, std::exception_ptr> by_key;
  std::uint64_t count = 0;
};
Errors& errors() {
  static auto* const all = new Errors;
  return *all;
}

absl::Cord hold(std::exception_ptr error) {
  Errors& all = errors();
  auto* key = new std::string;
  {
    const std::lock_guard lock(all.mutex);
    *key = str_cat("error ", ++all.count, " of this process");
    all.by_key.emplace(*key, std::move(error));
  }
  return absl::MakeCordFromExternal(as_alpha(std::string_view(*key)), [key] {
    std::exception_ptr last;  // destroyed after the lock is released: an exception may hold anything
    {
      Errors& all = errors();
      const std::lock_guard lock(all.mutex);
      const auto at = all.by_key.find(*key);
      last = std::move(at->second);
      all.by_key.erase(at);
    }
    delete key;
  });
}

// The type of the exception that is being handled.
std::string current_type() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "unknown type";
  int failed = 0;
  char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed);
  std::string text = failed == 0 && name != nullptr ? name : type->name();
  std::free(name);
  return text;
}

absl::Status with_error(const absl::Status& shown, std::exception_ptr error) {
  absl::Status status = with_kind(JitErrorKind::kBuild, shown);
  status.SetPayload(kBuildErrorPayload, hold(std::move(error)));
  return status;
}

}  // namespace

std::exception_ptr build_error(const absl::Status& status) {
  const absl::optional<absl::Cord> key = status.GetPayload(kBuildErrorPayload);
  if (!key) return nullptr;
  Errors& all = errors();
  const std::lock_guard lock(all.mutex);
  const auto at = all.by_key.find(std::string(*key));
  return at == all.by_key.end() ? nullptr : at->second;
}

std::string describe(std::exception_ptr error) {
  std::string text;
  for (int i = 0; error && i < kMaxNested; ++i) {
    if (i > 0) text += ": ";
    std::exception_ptr nested;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& known) {
      text += known.what();
      if (const auto* outer = dynamic_cast<const std::nested_exception*>(&known)) nested = outer->nested_ptr();
    } catch (const std::nested_exception& outer) {
      text += current_type();
      nested = outer.nested_ptr();
    } catch (...) {
      str_append(&text, "an exception of type ", current_type());
    }
    error = nested;
  }
  return text;
}

absl::Status build_failed(std::exception_ptr thrown) {
  return with_error(absl::UnknownError(describe(thrown)), thrown);
}

absl::Status build_failed(const absl::Status& returned, std::exception_ptr thrown) {
  if (returned.ok()) return build_failed(absl::InvalidArgumentError("the build body returned OK and no tensor"));
  absl::Status shown = returned;
  shown.ErasePayload(kBuildErrorPayload);
  return with_error(without_kind(shown), thrown ? thrown : std::make_exception_ptr(JitError(returned)));
}

}  // namespace hearth::client
