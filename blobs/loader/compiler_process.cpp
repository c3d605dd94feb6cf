#include "blobs/loader/compiler_process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "blobs/loader/blob_codes.h"
#include "blobs/loader/blob_json.h"

extern char** environ;

namespace hearth::blob {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxAnswer = 1 << 20;
constexpr std::size_t kMaxLog = 16 << 10;  // its last bytes
constexpr std::size_t kLogLines = 20;
constexpr std::size_t kBufferSize = 1 << 16;
constexpr long long kSliceMs = 100;
constexpr std::size_t kHexDigits = 64;  // of a SHA-256

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw BlobError(kInternal, std::string("cannot make a pipe: ") + std::strerror(errno));
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    shut(&read_end);
    shut(&write_end);
  }
  static void shut(int* end) {
    if (*end >= 0) close(*end);
    *end = -1;
  }
};

// Makes the cache folder where it is missing, and refuses one that others could put files into.
void prepare_cache(const std::string& folder) {
  if (folder.empty())
    throw BlobError(kFailedPrecondition,
                    "there is no cache folder for compiled blobs; set CK_JIT_CACHE_DIR, XDG_CACHE_HOME or HOME");
  for (std::size_t slash = folder.find('/', 1);; slash = folder.find('/', slash + 1)) {
    const std::string part = folder.substr(0, slash);
    if (mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat status{};
      if (stat(part.c_str(), &status) != 0)
        throw BlobError(kPermissionDenied, "cannot make the cache folder " + folder + ": " + std::strerror(error) +
                                               " (" + part + "); set CK_JIT_CACHE_DIR to a folder that can be written");
    }
    if (slash == std::string::npos) break;
  }
  struct stat status{};
  if (stat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    throw BlobError(kPermissionDenied, "the cache folder " + folder + " is not a folder; set CK_JIT_CACHE_DIR");
  if (status.st_uid != geteuid() && status.st_uid != 0)
    throw BlobError(kPermissionDenied, "the cache folder " + folder + " belongs to user " +
                                           std::to_string(status.st_uid) + ", not to user " +
                                           std::to_string(geteuid()) +
                                           " or root; set CK_JIT_CACHE_DIR to a folder of your own");
  if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0)
    throw BlobError(kPermissionDenied, "the cache folder " + folder +
                                           " can be written by every user; `chmod o-w` it or set CK_JIT_CACHE_DIR");
}

std::vector<std::string> command_line(const BlobEnvironment& environment, const BlobRequest& request) {
  std::vector<std::string> words = {environment.compiler, "--root", environment.root, "--stem", request.stem};
  const auto add = [&words](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  add("--source", request.source);
  add("--toolchain", request.toolchain);
  add("--cache-dir", environment.cache_folder);
  for (const std::string& prefix : request.exports) add("--export", prefix);
  for (const std::string& arch : request.archs) add("--arch", arch);
  words.emplace_back("--");
  words.insert(words.end(), request.flags.begin(), request.flags.end());
  return words;
}

pid_t spawn(const std::vector<std::string>& words, const Pipe& answer, const Pipe& log) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, answer.write_end, 1);
  posix_spawn_file_actions_adddup2(&actions, log.write_end, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  pid_t child = -1;
  const int error = posix_spawn(&child, words[0].c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    throw BlobError(error == ENOENT ? kNotFound : kFailedPrecondition,
                    "cannot run the blob compiler " + words[0] + ": " + std::strerror(error) +
                        "; install hearth-blobc in CK_JIT_ROOT, name it by HEARTH_BLOBC, or start hearthd");
  return child;
}

// Whether the child has ended; it is not reaped, so that its process group's number stays taken. A process that ignores
// SIGCHLD has no children to wait for: then its pipes say it.
bool has_ended(pid_t child, siginfo_t* how) {
  *how = {};
  if (waitid(P_PID, static_cast<id_t>(child), how, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
  return how->si_pid == child;
}

// Reads both pipes until they are closed or the child has ended and is silent; false when the time is up first.
bool drain(pid_t child, Pipe* answer, Pipe* log, Clock::time_point deadline, std::string* answer_text,
           std::string* log_text) {
  std::vector<char> buffer(kBufferSize);
  siginfo_t how;
  while (answer->read_end >= 0 || log->read_end >= 0) {
    pollfd wait[2] = {{answer->read_end, POLLIN, 0}, {log->read_end, POLLIN, 0}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    const int ready = poll(wait, 2, static_cast<int>(std::min<long long>(left, kSliceMs)));
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0 && has_ended(child, &how)) return true;  // what it left behind may hold the pipes
    if (ready <= 0) continue;
    for (int i = 0; i < 2; ++i) {
      if (wait[i].revents == 0) continue;
      const ssize_t got = read(wait[i].fd, buffer.data(), buffer.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) {
        Pipe::shut(i == 0 ? &answer->read_end : &log->read_end);
        continue;
      }
      std::string* text = i == 0 ? answer_text : log_text;
      text->append(buffer.data(), static_cast<std::size_t>(got));
      if (i == 0 && text->size() > kMaxAnswer) text->resize(kMaxAnswer);
      if (i == 1 && text->size() > 2 * kMaxLog) text->erase(0, text->size() - kMaxLog);
    }
  }
  return true;
}

std::string last_lines(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::size_t begin = text.size();
  for (std::size_t lines = 0; lines < kLogLines && begin > 0; ++lines) {
    const std::size_t newline = text.rfind('\n', begin - 1);
    if (newline == std::string::npos) return text;
    begin = newline;
  }
  return begin == 0 ? text : text.substr(begin + 1);
}

}  // namespace

CompiledFile file_of_reply(const std::string& reply, const std::string& who, const std::string& log) {
  const std::string tail = log.empty() ? std::string() : "\n" + last_lines(log);
  JsonObject object;
  std::string why;
  if (!read_object(reply, &object, &why))
    throw BlobError(kInternal, who + " gave no answer that can be read: it " + why + tail);
  const auto path = object.strings.find("path");
  if (path != object.strings.end()) {
    if (path->second.empty() || path->second[0] != '/')
      throw BlobError(kInternal, who + " answered with the path \"" + path->second + "\", which is not absolute");
    const auto digest = object.strings.find("sha256");
    if (digest == object.strings.end() || digest->second.size() != kHexDigits)
      throw BlobError(kInternal, who + " answered without the SHA-256 of " + path->second +
                                     ", so that it cannot be checked; install the one of this version");
    return {path->second, digest->second};
  }
  const auto code = object.numbers.find("code");
  const auto message = object.strings.find("message");
  if (code == object.numbers.end() || message == object.strings.end())
    throw BlobError(kInternal, who + " answered with neither a path nor an error" + tail);
  // What the log says is often in the message already.
  const bool said = !tail.empty() && message->second.find(tail.substr(1)) != std::string::npos;
  const bool known = code->second > 0 && code->second <= 16;
  throw BlobError(known ? static_cast<int>(code->second) : kInternal, message->second + (said ? "" : tail));
}

CompiledFile compile_directly(const BlobEnvironment& environment, const BlobRequest& request) {
  prepare_cache(environment.cache_folder);
  Pipe answer, log;
  const pid_t child = spawn(command_line(environment, request), answer, log);
  Pipe::shut(&answer.write_end);
  Pipe::shut(&log.write_end);
  const auto deadline = Clock::now() + std::chrono::seconds(environment.timeout_seconds);
  std::string answer_text, log_text;
  bool in_time = drain(child, &answer, &log, deadline, &answer_text, &log_text);
  siginfo_t how{};
  for (long long ms = 1; in_time && !has_ended(child, &how); ms = std::min(2 * ms, kSliceMs)) {
    in_time = Clock::now() < deadline;
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }
  kill(-child, SIGKILL);  // nothing of its group stays
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  if (!in_time)
    throw BlobError(kDeadlineExceeded, "compiling takes longer than " + std::to_string(environment.timeout_seconds) +
                                           " s (HEARTH_BLOB_TIMEOUT_S) and was stopped\n" + last_lines(log_text));
  if (answer_text.empty()) {
    std::string end = " ended without an answer";
    if (how.si_code == CLD_EXITED) end += ", exit code " + std::to_string(how.si_status);
    if (how.si_code == CLD_KILLED || how.si_code == CLD_DUMPED)
      end = std::string(" was ended by signal ") + strsignal(how.si_status) +
            (how.si_status == SIGKILL ? "; was there too little memory?" : "");
    throw BlobError(kInternal, environment.compiler + end + (log_text.empty() ? "" : "\n" + last_lines(log_text)));
  }
  return file_of_reply(answer_text, environment.compiler, log_text);
}

}  // namespace hearth::blob
