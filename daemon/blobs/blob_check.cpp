#include "daemon/blobs/blob_check.h"

#include <absl/strings/str_cat.h>

#include <filesystem>
#include <string>

#include "base/status_macros.h"
#include "daemon/store/request_limits.h"

namespace hearth::daemon {
namespace {

constexpr std::size_t kMaxStemBytes = 250;  // a file name, with ".so"
constexpr std::size_t kMaxPathBytes = 4'096;
constexpr int kMaxFlags = 4'096;
constexpr int kMaxListed = 256;                  // archs, exports
constexpr std::size_t kMaxTextBytes = 1u << 20;  // of all flags, archs and exports
constexpr std::size_t kMaxGlueBytes = 4u << 20;

bool leaves_its_folder(const std::string& path) {
  for (const std::filesystem::path& part : std::filesystem::path(path)) {
    if (part == "..") return true;
  }
  return false;
}

template <class List>
std::size_t bytes_of(const List& list, bool* has_null) {
  std::size_t bytes = 0;
  for (const std::string& text : list) {
    bytes += text.size();
    *has_null = *has_null || text.find('\0') != std::string::npos;
  }
  return bytes;
}

}  // namespace

absl::Status check_blob_request(const v1::CompileBlobRequest& request) {
  HEARTH_RETURN_IF_ERROR(check_protocol_version(request.protocol_version()));
  const v1::BlobSpec& spec = request.blob();
  const std::string& stem = spec.stem();
  if (stem.empty()) return absl::InvalidArgumentError("the blob has no stem");
  if (stem.size() > kMaxStemBytes || stem.find('/') != std::string::npos || stem.find('\0') != std::string::npos ||
      stem[0] == '.') {
    return absl::InvalidArgumentError(absl::StrCat("blob stem '", stem.substr(0, kMaxStemBytes),
                                                   "' is no file name of at most ", kMaxStemBytes, " bytes"));
  }
  const auto bad = [&stem](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("blob '", stem, "': ", what));
  };
  if (spec.toolchain() != "hip" && spec.toolchain() != "c++") {
    return bad(absl::StrCat("toolchain '", spec.toolchain().substr(0, 64), "' is not known; there are hip and c++"));
  }
  bool has_null = spec.root().find('\0') != std::string::npos || spec.source().find('\0') != std::string::npos;
  const std::size_t text_bytes =
      bytes_of(spec.flags(), &has_null) + bytes_of(spec.archs(), &has_null) + bytes_of(spec.exports(), &has_null);
  if (has_null) return bad("a path or flag has a NUL character in it");
  if (spec.root().empty() || spec.root()[0] != '/' || spec.root().size() > kMaxPathBytes) {
    return bad(absl::StrCat("root '", spec.root().substr(0, 256), "' is not an absolute path (see CK_JIT_ROOT)"));
  }
  if (spec.source().empty() || spec.source()[0] == '/' || spec.source().size() > kMaxPathBytes ||
      leaves_its_folder(spec.source())) {
    return bad(absl::StrCat("source '", spec.source().substr(0, 256), "' is not a path below the root"));
  }
  if (spec.flags_size() > kMaxFlags || spec.archs_size() > kMaxListed || spec.exports_size() > kMaxListed ||
      text_bytes > kMaxTextBytes || spec.glue().size() > kMaxGlueBytes) {
    return bad(absl::StrCat("its flags, archs, exports or glue are too many: at most ", kMaxFlags, " flags, ",
                            kMaxListed, " archs and exports, ", kMaxTextBytes, " bytes together, ", kMaxGlueBytes,
                            " bytes of glue"));
  }
  return absl::OkStatus();
}

}  // namespace hearth::daemon
