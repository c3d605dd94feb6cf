#include "runtime/hal/stream/stream_api.h"

#include <dlfcn.h>

#include "absl/strings/escaping.h"
#include "base/text.h"

namespace hearth::runtime {

absl::Status StreamApi::open(const std::vector<std::string>& libraries, std::string_view remedy,
                             std::string_view least) {
  state_ = std::make_unique<const DeviceState>(std::string(title()));
  std::string why;
  for (const std::string& library : libraries) {
    library_ = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) break;
    const char* const error = dlerror();
    if (why.empty()) why = absl::Utf8SafeCHexEscape(error != nullptr ? error : library);
  }
  if (library_ == nullptr) return absl::NotFoundError(str_cat(why, "; ", remedy));
  const auto take = [&](Entry entry) {
    const std::string name(entry_name(entry));
    void* const found = find(name.c_str());
    if (found == nullptr && why.empty()) why = name;
    return found;
  };
  why.clear();
#define HEARTH_ENTRY_POINT(name, cuda, hip, parameters) name = reinterpret_cast<int(*) parameters>(take(Entry::name));
#include "runtime/hal/stream/entry_points.def"
#undef HEARTH_ENTRY_POINT
  takes_host_code = find("hearth_stand_in") != nullptr;
  if (why.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(str_cat(title(), "'s driver has no ", why, "; ", least, " is needed"));
}

void* StreamApi::find(const char* symbol) const { return dlsym(library_, symbol); }

}  // namespace hearth::runtime
