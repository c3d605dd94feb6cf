// Where hearthd listens and clients look: one resolution shared by both, without gRPC.
//
// Order: an explicit path (flag), HEARTH_SOCKET, $XDG_RUNTIME_DIR/hearth/hearthd.sock,
// /run/user/UID/hearth/hearthd.sock when that folder exists, TMPDIR/hearth-UID/hearthd.sock.
// Thread-safe as far as getenv is. Errors name the path and what to do.
//   absl::StatusOr<std::string> path = hearth::resolve_socket_path("");
//   if (path.ok()) status = hearth::check_socket_folder(*path);   // before trusting what listens there
#pragma once
#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace hearth {

// The longest path that fits the system's sockaddr_un with its terminator.
inline constexpr std::size_t kMaxSocketPathBytes = 107;

// The absolute path of the daemon's socket; touches no file. INVALID_ARGUMENT when it cannot be used.
absl::StatusOr<std::string> resolve_socket_path(std::string_view explicit_path);

// INVALID_ARGUMENT when `path` is empty, relative, or when it or the path of a socket beside it (below) is longer than
// kMaxSocketPathBytes.
absl::Status check_socket_path(std::string_view path);

// Where the daemon that serves clients on `path` takes the commands that only its owner may give: `path` with ".admin"
// in place of ".sock", or added.
std::string admin_socket_path(std::string_view path);

// Where processes share weights through that daemon, likewise with ".share".
std::string weights_socket_path(std::string_view path);

// A second name of the clients' socket in a folder that holds nothing else, to be mounted into containers: a daemon that
// follows another puts its own there. `path` with ".clients" in place of ".sock", or added, and in it the file's name.
std::string mountable_socket_path(std::string_view path);

// OK when the socket's folder exists and belongs to this user (or root), nobody else may replace what is in it, and the
// socket, if there, is this user's (or root's) too.
// NOT_FOUND when it does not exist, PERMISSION_DENIED otherwise.
absl::Status check_socket_folder(std::string_view socket_path);

// Creates the socket's folder with mode 0700 (parents included) when missing, then checks it.
absl::Status make_socket_folder(std::string_view socket_path);

}  // namespace hearth
