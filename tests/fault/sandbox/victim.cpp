#include "tests/fault/sandbox/victim.h"
#include "tests/support/eventually.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace hearth::sandbox_test {
namespace {

namespace fs = std::filesystem;

void require(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int bound(int kind) {
  const int fd = ::socket(AF_INET, kind | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  require(fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0, "bind");
  if (kind == SOCK_STREAM) require(::listen(fd, 4) == 0, "listen");
  return fd;
}

int port_of(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  require(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  return ntohs(address.sin_port);
}

int bound_unix(const std::string& name, bool abstract) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + (abstract ? 1 : 0), name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + 1);
  require(fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(fd, 4) == 0, "bind");
  return fd;
}

// Everything but the time of the last look.
std::string describe(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return "gone";
  char names[256] = {};
  const ssize_t xattrs = ::listxattr(path.c_str(), names, sizeof(names));
  std::ostringstream text;
  text << std::oct << info.st_mode << std::dec << " dev " << info.st_dev << " user " << info.st_uid << " links "
       << info.st_nlink << " size " << info.st_size << " time " << info.st_mtim.tv_sec << "." << info.st_mtim.tv_nsec
       << " xattrs " << std::max<ssize_t>(xattrs, 0);
  if (S_ISREG(info.st_mode)) text << " content " << content(path);
  return text.str();
}

}  // namespace

Victim::Victim() {
  make_files();
  start_daemon();
  make_sockets();
  make_shared();
}

void Victim::make_files() {
  fs::create_directories(cache());
  fs::create_directories(home() + "/.ssh");
  fs::create_directories(folder_ / "tmp");
  std::ofstream(cache() + "/artifact.so") << "what clients have mapped";
  std::ofstream(cache() + "/other") << "other";
  std::ofstream(home() + "/.ssh/id") << "a secret key";
  targets_.set("cache", cache());
  targets_.set("cache_file", cache() + "/artifact.so");
  targets_.set("home", home());
  targets_.set("secret", home() + "/.ssh/id");
}

void Victim::start_daemon() {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  char* const arguments[] = {const_cast<char*>("sleep"), const_cast<char*>("600"), nullptr};
  char* const environment[] = {const_cast<char*>("PASSWORD=sesame"), nullptr};
  require(::posix_spawn(&pid_, "/bin/sleep", nullptr, &attributes, arguments, environment) == 0, "sleep");
  ::posix_spawnattr_destroy(&attributes);
  targets_.set("pid", std::to_string(pid_));
  // An address of it that can be read and written: its stack.
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with("[stack]")) targets_.set("address", line.substr(0, line.find('-')));
  }
  targets_.set("processor", std::to_string(std::max(0, ::sched_getcpu())));
}

void Victim::make_sockets() {
  const std::string path = folder_ / "s.sock", abstract = "hearth-victim-" + std::to_string(pid_);
  sockets_ = {bound(SOCK_STREAM), bound(SOCK_DGRAM), bound_unix(path, false), bound_unix(abstract, true)};
  targets_.set("tcp_port", std::to_string(port_of(sockets_[0])));
  targets_.set("udp_port", std::to_string(port_of(sockets_[1])));
  targets_.set("socket", path);
  targets_.set("abstract", abstract);
}

void Victim::make_shared() {
  const int id = ::shmget(IPC_PRIVATE, 4096, 0600);
  shared_ = ::shmat(id, nullptr, 0);
  require(shared_ != reinterpret_cast<void*>(-1), "shmat");
  ::shmctl(id, IPC_RMID, nullptr);  // by itself, once nobody has it attached
  std::strcpy(static_cast<char*>(shared_), "shared");
  targets_.set("shared_memory", std::to_string(id));
  const std::string queue = "/hearth-victim-" + std::to_string(pid_);
  queue_ = ::mq_open(queue.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600, nullptr);
  require(queue_ >= 0, "mq_open");
  targets_.set("queue", queue);
}

Victim::~Victim() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  for (const int fd : sockets_) ::close(fd);
  ::shmdt(shared_);
  ::close(queue_);
  ::mq_unlink(targets_["queue"].c_str());
  while (::umount2(cache().c_str(), MNT_DETACH) == 0) {  // what an attempt of root's mounted
  }
  ::chmod(cache().c_str(), 0700);
}

std::string Victim::state() const {
  std::ostringstream text;
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(cache(), ignored)) names.push_back(entry.path());
  std::sort(names.begin(), names.end());
  text << "cache: " << describe(cache()) << "\n";
  for (const std::string& name : names) text << name << ": " << describe(name) << "\n";
  text << "secret: " << describe(targets_["secret"]) << "\n";
  // The third field: living (running, sleeping, waiting for a disk), stopped, traced or dead. Which of the first three it
  // is, is the kernel's affair.
  const std::string stat = content("/proc/" + std::to_string(pid_) + "/stat");
  const char letter = stat.empty() ? '-' : stat[stat.rfind(')') + 2];
  const std::string process = letter == 'R' || letter == 'S' || letter == 'D' ? "lives" : std::string(1, letter);
  rlimit limit{};
  ::prlimit(pid_, RLIMIT_NOFILE, nullptr, &limit);
  cpu_set_t processors;
  CPU_ZERO(&processors);
  ::sched_getaffinity(pid_, sizeof(processors), &processors);
  text << "daemon: " << process << " descriptors " << limit.rlim_cur << " processors " << CPU_COUNT(&processors)
       << " nice " << ::getpriority(PRIO_PROCESS, static_cast<id_t>(pid_)) << "\n";
  text << "connections:";
  for (const int fd : sockets_) {
    pollfd entry{fd, POLLIN, 0};
    text << " " << ::poll(&entry, 1, 0);
  }
  return text.str();
}

std::string Victim::state_unlike(const std::string& before) const {
  std::string now;
  test::eventually([&] { return (now = state()) != before; });
  return now;
}

}  // namespace hearth::sandbox_test
