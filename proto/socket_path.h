// Where hearthd listens and clients look: one resolution shared by both, without gRPC.
//
// Order: an explicit path (flag), HEARTH_SOCKET, the node's service (kNodeSocketPath) where there is one that this user
// may connect to, $XDG_RUNTIME_DIR/hearth/hearthd.sock, /run/user/UID/hearth/hearthd.sock when that folder exists,
// TMPDIR/hearth-UID/hearthd.sock. A daemon that is told no path is a user's own: it leaves the node's out.
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

// The socket of the service that all users of a node share.
inline constexpr char kNodeSocketPath[] = "/run/hearth/hearthd.sock";

enum class SocketUser { kClient, kDaemon };
// The absolute path of the daemon's socket; changes no file. INVALID_ARGUMENT when it cannot be used.
absl::StatusOr<std::string> resolve_socket_path(std::string_view explicit_path, SocketUser user = SocketUser::kClient);

// Why resolve_socket_path(explicit_path) gives a client what it gives, for people: "HEARTH_SOCKET", "the node's
// service".
std::string_view reason_of_socket_path(std::string_view explicit_path);

// Whether a daemon of `uid` on this socket may be believed: this user's, root's, or that of who owns the socket's
// folder where root alone could have made it so: no folder above it is writable by anybody else. In a user namespace
// that has no number for root: where the folder is a mount point, or the node's.
bool is_trusted_daemon_user(std::string_view socket_path, unsigned uid);

// INVALID_ARGUMENT when `path` is empty, relative, or when it or the path of a socket beside it (below) is longer than
// kMaxSocketPathBytes.
absl::Status check_socket_path(std::string_view path);

// Where the daemon that serves clients on `path` takes the commands that only its owner may give: `path` with ".admin"
// in place of ".sock", or added.
std::string admin_socket_path(std::string_view path);

// Where processes share weights through that daemon, likewise with ".share".
std::string weights_socket_path(std::string_view path);

// A second name of the clients' socket in a folder that holds nothing else, to be mounted into containers: a daemon
// that follows another puts its own there. `path` with ".clients" in place of ".sock", or added, and in it the file's
// name.
std::string mountable_socket_path(std::string_view path);

// The same for `path` of weights_socket_path(): beside mountable_socket_path(), where a client that was given that one
// looks for it.
std::string mountable_weights_socket_path(std::string_view path);

// OK when the socket's folder exists and belongs to this user, to root or to a service's user (is_trusted_daemon_user),
// nobody else may replace what is in it, and the socket, if there, is theirs too.
// NOT_FOUND when it does not exist, PERMISSION_DENIED otherwise.
absl::Status check_socket_folder(std::string_view socket_path);

// Creates the socket's folder with this mode (parents included) when missing, then checks it.
absl::Status make_socket_folder(std::string_view socket_path, unsigned mode = 0700);

}  // namespace hearth
