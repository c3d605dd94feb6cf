#include "daemon/worker_pool/readable_tree.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <utility>

namespace hearth::daemon {
namespace {

// Closed when a link is on the way.
UniqueFd open_without_links(const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  UniqueFd fd(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how))));
  if (fd || (errno != ENOSYS && errno != EPERM)) return fd;
  // Kernels before 5.6, and containers that know no openat2: the kernel says where what was opened lies.
  fd = UniqueFd(::open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fd;
  std::string real(4096, '\0');
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), real.data(), real.size());
  real.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return real == path ? std::move(fd) : UniqueFd();
}

void add_text(const std::string& text, std::string* out) { *out += std::to_string(text.size()) + ":" + text; }

template <class Number>
bool take_number(std::string_view* rest, Number* value) {
  const auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), *value);
  const auto digits = static_cast<std::size_t>(end - rest->data());
  if (error != std::errc() || digits == rest->size() || (*rest)[digits] != ':') return false;
  rest->remove_prefix(digits + 1);
  return true;
}

bool take_text(std::string_view* rest, std::string* text) {
  std::size_t size = 0;
  if (!take_number(rest, &size) || size > rest->size()) return false;
  *text = rest->substr(0, size);
  rest->remove_prefix(size);
  return true;
}

}  // namespace

bool ReadableTree::operator==(const ReadableTree& other) const {
  return path == other.path && device == other.device && inode == other.inode && links.size() == other.links.size() &&
         std::equal(links.begin(), links.end(), other.links.begin(),
                    [](const auto& a, const auto& b) { return a.place == b.place && a.target == b.target; });
}

std::optional<ReadableTree> identify_tree(const std::string& path) {
  std::optional<RealPath> real = follow(path);
  if (!real) return std::nullopt;
  const UniqueFd fd = open_without_links(real->real);
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0) return std::nullopt;
  return ReadableTree{std::move(real->real), info.st_dev, info.st_ino, std::move(real->links)};
}

UniqueFd open_tree(const ReadableTree& tree) {
  UniqueFd fd = open_without_links(tree.path);
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0 || info.st_dev != tree.device || info.st_ino != tree.inode)
    return UniqueFd();
  return fd;
}

std::string to_argument(const ReadableTree& tree) {
  std::string out = std::to_string(tree.device) + ":" + std::to_string(tree.inode) + ":";
  add_text(tree.path, &out);
  for (const RealPath::Link& link : tree.links) {
    add_text(link.place, &out);
    add_text(link.target, &out);
  }
  return out;
}

std::optional<ReadableTree> from_argument(std::string_view rest) {
  ReadableTree tree;
  if (!take_number(&rest, &tree.device) || !take_number(&rest, &tree.inode) || !take_text(&rest, &tree.path) ||
      !tree.path.starts_with('/'))
    return std::nullopt;
  while (!rest.empty()) {
    RealPath::Link link;
    if (!take_text(&rest, &link.place) || !take_text(&rest, &link.target) || !link.place.starts_with('/'))
      return std::nullopt;
    tree.links.push_back(std::move(link));
  }
  return tree;
}

}  // namespace hearth::daemon
