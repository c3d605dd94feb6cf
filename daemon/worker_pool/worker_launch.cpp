#include "daemon/worker_pool/worker_launch.h"

#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "daemon/worker_pool/worker_process.h"

namespace hearth::daemon {
namespace {

constexpr int kWorkerSocket = 3;  // the descriptor the child finds its socket on

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr const char* kOfSanitizers[] = {"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"};
#else
constexpr std::initializer_list<const char*> kOfSanitizers = {};
#endif
// Where the program's own libraries are.
constexpr const char* kKept[] = {"LD_LIBRARY_PATH"};
// Which compilers to take (blobs/tools/toolchain.h).
constexpr const char* kKeptForPrograms[] = {"PATH", "HEARTH_HIPCC", "HEARTH_BLOB_CLANG", "HEARTH_BLOB_CXX",
                                            "ROCM_PATH"};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> arguments_of(const WorkerCommand& command) {
  const WorkerLimits& limits = command.limits;
  std::vector<std::string> arguments = {command.path,
                                        absl::StrCat("--socket-fd=", kWorkerSocket),
                                        absl::StrCat("--parent=", ::getpid()),
                                        absl::StrCat("--memory=", limits.memory_bytes),
                                        absl::StrCat("--output=", limits.output_bytes),
                                        absl::StrCat("--folder=", limits.folder_bytes),
                                        absl::StrCat("--tasks=", limits.tasks),
                                        absl::StrCat("--processor-s=", limits.processor_s)};
  if (command.program_limit.count() > 0) {
    arguments.push_back(absl::StrCat("--programs-ms=", command.program_limit.count()));
  }
  for (const std::string& path : command.reads) arguments.push_back("--read=" + path);
  for (const ReadableTree& tree : command.trees) arguments.push_back("--tree=" + to_argument(tree));
  for (const std::string& secret : {command.secrets.cache, command.secrets.home})
    if (secret.starts_with('/')) arguments.push_back("--cover=" + secret);
  for (const std::string& path : command.runs) arguments.push_back("--run=" + path);
  for (const std::string& layer : command.without) arguments.push_back("--without=" + layer);
  return arguments;
}

// Child: the socket as descriptor 3, the pipe as 1 and 2, nothing else; default signals; none blocked.
int start_program(const std::string& path, std::vector<std::string> arguments, std::vector<std::string> environment,
                  int socket, int output, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  for (const int fd : {1, 2}) {
    if (output >= 0) {
      ::posix_spawn_file_actions_adddup2(&actions, output, fd);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    }
  }
  ::posix_spawn_file_actions_adddup2(&actions, socket, kWorkerSocket);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kWorkerSocket + 1);
  ::posix_spawnattr_init(&attributes);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::posix_spawnattr_setsigmask(&attributes, &signals);
  ::sigaddset(&signals, SIGPIPE);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::posix_spawnattr_setsigdefault(&attributes, &signals);
  // A group of its own: Ctrl-C at the daemon's terminal must not kill a compile that the drain still waits for.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error =
      ::posix_spawn(pid, path.c_str(), &actions, &attributes, pointers(arguments).data(), pointers(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return error;
}

// A descriptor above those that the child puts in place: duplicating one onto itself would keep close-on-exec.
int above_the_childs(int fd) {
  if (fd < 0 || fd > kWorkerSocket) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, kWorkerSocket + 1);
  ::close(fd);
  return moved;
}

}  // namespace

std::vector<std::string> worker_environment(bool programs, const std::string& folder) {
  std::vector<std::string> environment = {"LC_ALL=C.UTF-8", "TMPDIR=" + folder};
  const auto keep = [&environment](const char* name) {
    if (const char* value = std::getenv(name)) environment.push_back(absl::StrCat(name, "=", value));
  };
  for (const char* name : kKept) keep(name);
  for (const char* name : kOfSanitizers) keep(name);
  if (programs) {
    environment.push_back("HOME=" + folder);
    for (const char* name : kKeptForPrograms) keep(name);
  }
  return environment;
}

absl::StatusOr<LaunchedWorker> launch_worker(const WorkerCommand& command, const std::string& folder) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError(absl::StrCat("cannot create a socketpair: ", std::strerror(errno)));
  }
  const int on = 1;
  ::setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
  LaunchedWorker worker;
  worker.socket = ends[0];
  worker.output = std::make_unique<WorkerOutput>();
  const int childs_end = above_the_childs(ends[1]);
  const int output = ::fcntl(worker.output->worker_end(), F_DUPFD_CLOEXEC, kWorkerSocket + 1);
  worker.output->close_worker_end();
  const int error =
      start_program(command.path, arguments_of(command), worker_environment(command.program_limit.count() > 0, folder),
                    childs_end, output, &worker.pid);
  ::close(childs_end);
  if (output >= 0) ::close(output);
  if (error == 0) return worker;
  ::close(worker.socket);
  const std::string message = absl::StrCat("cannot start the compiler worker '", command.path,
                                           "': ", std::strerror(error), "; give its place with ", command.setting);
  return error == ENOENT ? absl::NotFoundError(message) : absl::InternalError(message);
}

pid_t sender_of(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  if (::recvmsg(socket, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1) return -1;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(header), sizeof(sender));
    if (sender.pid > 0) return sender.pid;
  }
  return -1;
}

}  // namespace hearth::daemon
