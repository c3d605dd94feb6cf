#include "runtime/hal/gpu/choose_device.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "base/sha256.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

bool is_meant(const DeviceInfo& info, std::string_view driver, const std::string& which) {
  if (info.device == str_cat(driver, ":", which)) return true;
  // A UUID may have nothing but decimal digits.
  constexpr std::size_t kUuidDigits = 32;
  const bool is_number =
      which.size() < kUuidDigits && std::ranges::all_of(which, [](char c) { return c >= '0' && c <= '9'; });
  if (is_number) return false;
  const std::string plain = absl::AsciiStrToLower(absl::StrReplaceAll(which, {{"-", ""}}));
  return (!info.uuid.empty() && plain == to_hex(info.uuid)) || absl::EqualsIgnoreCase(which, info.name);
}

// A lower rank computes faster.
int rank(const DeviceInfo& info) {
  const std::vector<std::string_view> types = {"discrete", "integrated", "virtual", "other", "cpu"};
  return static_cast<int>(std::ranges::find(types, info.type) - types.begin());
}

}  // namespace

absl::StatusOr<std::size_t> choose_device(const std::vector<DeviceInfo>& infos, std::string_view driver,
                                          std::string_view title, std::string_view which) {
  std::string there;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const DeviceInfo& info = infos[i];
    str_append(&there, there.empty() ? "" : "; ", info.device, " is ", info.name,
               info.unusable.empty() ? "" : str_cat(", which cannot be used: ", info.unusable));
    if (!which.empty() && is_meant(info, driver, std::string(which))) return i;
    if (which.empty() && info.unusable.empty() && (!best || rank(info) < rank(infos[*best]))) best = i;
  }
  if (best) return *best;
  if (infos.empty()) return absl::NotFoundError(str_cat("the ", title, " drivers of this machine have no device"));
  return absl::NotFoundError(which.empty() ? str_cat("no ", title, " device of this machine can be used: ", there)
                                           : str_cat("there is no device '", driver, ":", which, "'; ", there));
}

}  // namespace hearth::runtime
