#include "client/onnx/external_data.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <nettle/sha1.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "client/onnx/model_file.h"
#include "client/onnx/reject.h"
#include "hearth/error.h"
#include "hearth_onnx.pb.h"

namespace hearth::onnx {
namespace {

using Proto = ::hearth_onnx::TensorProto;

std::string what(const ExternalPlace& place) {
  return str_cat("tensor '", place.tensor, "' in file '", place.location, "'");
}

std::uint64_t number(const ExternalPlace& place, const char* key, const std::string& text) {
  std::uint64_t value = 0;
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  if (!digits || !absl::SimpleAtoi(text, &value)) {
    reject(str_cat(what(place), ": ", key, " '", text, "' is no number of bytes"));
  }
  return value;
}

void check_location(const ExternalPlace& place) {
  if (place.location.empty()) reject(str_cat("tensor '", place.tensor, "' is external but names no file"));
  const std::vector<std::string> parts = absl::StrSplit(place.location, '/');
  if (place.location.find('\0') != std::string::npos || place.location.front() == '/' ||
      std::count(parts.begin(), parts.end(), "..") > 0) {
    reject(str_cat(what(place), ": the file must be named by a path within the model's folder"));
  }
}

// Component by component, without any link: for kernels and sandboxes that have no openat2.
int open_stepwise(int folder, const std::string& location) {
  std::vector<std::string> parts = absl::StrSplit(location, '/', absl::SkipEmpty());
  UniqueFd at(::dup(folder));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    at = UniqueFd(::openat(at.get(), parts[i].c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!at) return -1;
  }
  return ::openat(at.get(), parts.back().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
}

// Non-blocking: a pipe nobody writes to must not hang the import before it is refused.
int open_beneath(int folder, const std::string& location) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  long fd = -1;
  do {
    fd = ::syscall(SYS_openat2, folder, location.c_str(), &how, sizeof how);
  } while (fd < 0 && errno == EAGAIN);  // a name on the way was changed meanwhile
  if (fd < 0 && (errno == ENOSYS || errno == EPERM)) return open_stepwise(folder, location);
  return static_cast<int>(fd);
}

std::string sha1_hex(const runtime::MappedFile& file, const ExternalPlace& place) {
  constexpr std::size_t kChunk = 1 << 20;
  std::string chunk(kChunk, '\0');
  sha1_ctx context;
  sha1_init(&context);
  for (std::string_view rest = file.bytes(); !rest.empty(); rest.remove_prefix(std::min(kChunk, rest.size()))) {
    const std::size_t size = std::min(kChunk, rest.size());
    const absl::Status copied = runtime::copy_mapped(rest.data(), size, chunk.data());
    if (!copied.ok()) reject(str_cat(what(place), ": ", copied.message()));
    sha1_update(&context, size, reinterpret_cast<const std::uint8_t*>(chunk.data()));
  }
  std::uint8_t digest[SHA1_DIGEST_SIZE];
  sha1_digest(&context, sizeof digest, digest);
  return to_hex({reinterpret_cast<const char*>(digest), sizeof digest});
}

using Tensors = std::vector<const Proto*>;

void add_node_tensors(const ::hearth_onnx::NodeProto& node, Tensors* tensors,
                      std::vector<const ::hearth_onnx::GraphProto*>* graphs) {
  for (const ::hearth_onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_t()) tensors->push_back(&attribute.t());
    for (const Proto& tensor : attribute.tensors()) tensors->push_back(&tensor);
    if (attribute.has_g()) graphs->push_back(&attribute.g());
    for (const ::hearth_onnx::GraphProto& graph : attribute.graphs()) graphs->push_back(&graph);
  }
}

// With a list of its own instead of recursion: a hostile file may nest deeply.
Tensors all_tensors(const ::hearth_onnx::ModelProto& model) {
  Tensors tensors;
  std::vector<const ::hearth_onnx::GraphProto*> graphs = {&model.graph()};
  for (const ::hearth_onnx::FunctionProto& function : model.functions()) {
    for (const ::hearth_onnx::NodeProto& node : function.node()) add_node_tensors(node, &tensors, &graphs);
  }
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const ::hearth_onnx::GraphProto& graph = *graphs[i];
    for (const Proto& tensor : graph.initializer()) tensors.push_back(&tensor);
    for (const ::hearth_onnx::NodeProto& node : graph.node()) add_node_tensors(node, &tensors, &graphs);
  }
  return tensors;
}

void check_overlaps(std::vector<ExternalPlace> places) {
  std::erase_if(places, [](const ExternalPlace& place) { return place.length == 0; });
  std::stable_sort(places.begin(), places.end(), [](const ExternalPlace& a, const ExternalPlace& b) {
    return std::tie(a.location, a.offset, a.length) < std::tie(b.location, b.offset, b.length);
  });
  for (std::size_t i = 1; i < places.size(); ++i) {
    const ExternalPlace &before = places[i - 1], &place = places[i];
    if (before.location != place.location || before.length <= place.offset - before.offset) continue;
    if (before.offset == place.offset && before.length == place.length) continue;  // shared
    reject(str_cat(what(place), " has bytes ", place.offset, " to ", place.offset + place.length,
                   ", which overlap those of tensor '", before.tensor, "', ", before.offset, " to ",
                   before.offset + before.length));
  }
}

// Where open descriptors have names: a model from there was a stream or lives in memory, and has no folder of its own.
bool is_descriptor_folder(const std::string& folder) { return folder == "/proc/self/fd" || folder == "/dev/fd"; }

}  // namespace

bool is_external(const Proto& tensor) { return tensor.data_location() == Proto::EXTERNAL; }

ExternalPlace external_place(const Proto& tensor) {
  ExternalPlace place;
  place.tensor = tensor.name();
  std::map<std::string, std::string> entries;
  for (const ::hearth_onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (!entries.emplace(entry.key(), entry.value()).second) {
      reject(str_cat("tensor '", tensor.name(), "' gives '", entry.key(), "' of its external data twice"));
    }
  }
  place.location = entries["location"];
  place.checksum = entries["checksum"];
  check_location(place);
  place.location = std::filesystem::path(place.location).lexically_normal().string();  // one name a file
  if (tensor.has_raw_data()) reject(str_cat(what(place), " has bytes in the model too"));
  Ints shape(tensor.dims().begin(), tensor.dims().end());
  place.length = stored_bytes(tensor.data_type(), shape);
  if (entries.count("offset") > 0) place.offset = number(place, "offset", entries["offset"]);
  if (entries.count("length") > 0) {
    const std::uint64_t stated = number(place, "length", entries["length"]);
    if (stated != place.length) {
      reject(str_cat(what(place), ": type ", element_type_name(tensor.data_type()), " and shape ", to_string(shape),
                     " need ", place.length, " bytes but the length is ", stated));
    }
  }
  if (place.offset + place.length < place.offset) {
    reject(str_cat(what(place), ": offset ", place.offset, " is out of range"));
  }
  return place;
}

std::vector<ExternalPlace> external_places(const ::hearth_onnx::ModelProto& model) {
  std::vector<ExternalPlace> places;
  for (const Proto* tensor : all_tensors(model)) {
    if (is_external(*tensor)) places.push_back(external_place(*tensor));
  }
  check_overlaps(places);
  return places;
}

UniqueFd ExternalData::open_linked(const std::string& location) const {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(folder_ + "/" + location, error);
  if (error) return UniqueFd(-1);
  struct stat of_model{}, of_target{};
  const std::filesystem::path model = std::filesystem::canonical(model_path_, error);
  const bool is_neighbour = !error && std::filesystem::is_symlink(model_path_, error) &&
                            model.parent_path() == target.parent_path() && ::stat(model.c_str(), &of_model) == 0;
  if (!allow_links_ && !is_neighbour) return UniqueFd(-1);
  UniqueFd file(::open(target.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW));
  if (!file || ::fstat(file.get(), &of_target) != 0) return UniqueFd(-1);
  if (!allow_links_ && of_target.st_uid != of_model.st_uid) return UniqueFd(-1);
  return file;
}

std::shared_ptr<const runtime::MappedFile> ExternalData::file(const ExternalPlace& place) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const runtime::MappedFile>& known = files_[place.location];
  if (known) return known;
  if (is_descriptor_folder(folder_)) {
    reject(str_cat(what(place),
                   ": a model from standard input has no folder to look for the file in; give the model as a file"));
  }
  const UniqueFd folder(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  UniqueFd file(folder ? open_beneath(folder.get(), place.location) : -1);
  const bool is_link = !file && (errno == EXDEV || errno == ELOOP);
  if (is_link) file = open_linked(place.location);
  if (!file) {
    if (is_link) {
      reject(str_cat(what(place),
                     ": the file is a link out of the model's folder, and not to a file beside the one that the model "
                     "itself links to; put it there itself (cp -rL), or load it with allow_links=True"));
    }
    throw client::JitError(absl::ErrnoToStatus(errno, str_cat(what(place), ": the file cannot be opened")));
  }
  auto mapped = runtime::MappedFile::map(file.get(), place.location);
  if (!mapped.ok()) {
    throw client::JitError(
        absl::Status(mapped.status().code(), str_cat("tensor '", place.tensor, "': file ", mapped.status().message())));
  }
  return known = *std::move(mapped);
}

ExternalBytes ExternalData::find(const Proto& tensor, std::uint64_t num_bytes) const {
  const ExternalPlace place = external_place(tensor);
  const std::shared_ptr<const runtime::MappedFile> mapped = file(place);
  const std::string_view bytes = mapped->bytes();
  if (place.length != num_bytes || place.offset > bytes.size() || num_bytes > bytes.size() - place.offset) {
    reject(str_cat(what(place), " has bytes ", place.offset, " to ", place.offset + num_bytes,
                   " but the file has only ", bytes.size()));
  }
  if (!place.checksum.empty()) {
    const std::lock_guard lock(mutex_);
    std::string& sum = checksums_[place.location];
    if (sum.empty()) sum = sha1_hex(*mapped, place);
    if (sum != absl::AsciiStrToLower(place.checksum)) {
      reject(str_cat(what(place), ": the file's SHA-1 is ", sum, ", not ", place.checksum, " as the model says"));
    }
  }
  return {bytes.data() + place.offset, mapped};
}

}  // namespace hearth::onnx
