#include "tests/integration/place.h"
#include "tests/support/eventually.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace hearth::integration {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

std::string variable(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

std::vector<std::string> command_line(pid_t pid) {
  std::vector<std::string> words;
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

// 0 when the process is gone.
pid_t parent_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(in, line);
  const std::size_t after_name = line.rfind(')');
  char state = 0;
  int parent = 0;
  if (after_name == std::string::npos || std::sscanf(line.c_str() + after_name + 1, " %c %d", &state, &parent) != 2)
    return 0;
  return parent;
}

}  // namespace

Process::Process(pid_t pid, fs::path out, fs::path err) : pid_(pid), out_(std::move(out)), err_(std::move(err)) {}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_), out_(std::move(other.out_)), err_(std::move(other.err_)), started_(other.started_) {
  other.pid_ = -1;
}

Process::~Process() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Ran Process::wait() {
  Ran ran;
  int status = 0;
  const bool ended = test::eventually([&] { return ::waitpid(pid_, &status, WNOHANG) == pid_; });
  ran.wall_ms = std::chrono::duration<double, std::milli>(Clock::now() - started_).count();
  if (!ended) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ran.code = -1000;
  } else {
    ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  pid_ = -1;
  ran.out = content(out_);
  ran.err = content(err_);
  return ran;
}

Place::Place() {
  std::string name = (fs::temp_directory_path() / "hearth-it-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder: " + name);
  folder_ = name;
  environment_ = {
      {"LC_ALL", "C.UTF-8"}, {"HEARTH_SOCKET", socket()}, {"HEARTH_CACHE_DIR", cache()}, {"HEARTH_IDLE_EXIT_S", "120"}};
  for (const char* kept : {"PATH", "HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS",
                           "HEARTH_VULKAN_VALIDATION", "LD_LIBRARY_PATH", "HEARTH_STAND_IN_ARCH"}) {
    if (const char* value = std::getenv(kept)) environment_[kept] = value;
  }
  if (const char* device = std::getenv("HEARTH_TEST_DEVICE")) environment_["HEARTH_DEVICE"] = device;
}

Place::~Place() {
  for (const pid_t pid : daemons()) {
    ::kill(pid, SIGTERM);
    if (!test::eventually([&] { return !alive(pid); })) ::kill(pid, SIGKILL);
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Process Place::start(const std::vector<std::string>& words) {
  const std::string number = std::to_string(count_++);
  const fs::path out = folder_ / ("stdout." + number), err = folder_ / ("stderr." + number);
  const std::string program = words[0][0] == '/' ? words[0] : (bin_dir() / words[0]).string();
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment_) variables.push_back(name + "=" + value);
  std::vector<char*> arguments, values;
  arguments.push_back(const_cast<char*>(program.c_str()));
  for (std::size_t i = 1; i < words.size(); ++i) arguments.push_back(const_cast<char*>(words[i].c_str()));
  for (std::string& text : variables) values.push_back(text.data());
  arguments.push_back(nullptr);
  values.push_back(nullptr);
  const char* folder = folder_.c_str();
  const pid_t pid = ::fork();
  if (pid == 0) {  // async-signal-safe calls only
    const int null = ::open("/dev/null", O_RDONLY);
    const int out_fd = ::open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    const int err_fd = ::open(err.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    ::dup2(null, 0);
    ::dup2(out_fd, 1);
    ::dup2(err_fd, 2);
    ::close_range(3, ~0U, 0);
    if (::chdir(folder) != 0) ::_exit(126);
    ::execve(program.c_str(), arguments.data(), values.data());
    ::_exit(127);
  }
  if (pid < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
  return Process(pid, out, err);
}

Ran Place::run_ok(const std::vector<std::string>& words) {
  Ran ran = run(words);
  if (ran.code == 0) return ran;
  std::string line;
  for (const std::string& word : words) line += word + " ";
  throw std::runtime_error(line + "ended with " + std::to_string(ran.code) + ": " + ran.err);
}

nlohmann::json Place::stats() { return json({"hearth", "stats", "--json"}); }

nlohmann::json Place::json(const std::vector<std::string>& words) { return nlohmann::json::parse(run_ok(words).out); }

std::vector<pid_t> Place::daemons() const {
  std::vector<pid_t> found;
  const std::string program = "hearthd";
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    const std::vector<std::string> words = command_line(pid);
    if (words.empty() || fs::path(words[0]).filename() != program) continue;
    if (std::find(words.begin(), words.end(), socket()) != words.end() && alive(pid)) found.push_back(pid);
  }
  // A child between fork and exec still has the daemon's command line.
  std::vector<pid_t> parents;
  for (const pid_t pid : found) parents.push_back(parent_of(pid));
  std::vector<pid_t> daemons;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::find(found.begin(), found.end(), parents[i]) == found.end()) daemons.push_back(found[i]);
  }
  return daemons;
}

void Place::stop_daemon() {
  const std::vector<pid_t> before = daemons();
  run_ok({"hearth", "daemon", "stop"});
  for (const pid_t pid : before) {
    if (!test::eventually([&] { return !alive(pid); }))
      throw std::runtime_error("hearthd " + std::to_string(pid) + " does not end");
  }
}

std::string Place::write(const std::string& name, const std::string& bytes) const {
  std::ofstream(file(name), std::ios::binary) << bytes;
  return file(name);
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code ignored;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(parent) + "/task", ignored)) {
    std::ifstream file(task.path() / "children");
    for (pid_t pid = 0; file >> pid;) children.push_back(pid);
  }
  return children;
}

// Not a zombie either.
bool alive(pid_t pid) {
  const std::string stat = content("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t end = stat.rfind(") ");
  return end != std::string::npos && stat[end + 2] != 'Z' && stat[end + 2] != 'X';
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

fs::path source_dir() { return fs::absolute(variable("HEARTH_SOURCE_DIR", ".")).lexically_normal(); }
fs::path bin_dir() {
  const fs::path beside_this_program = fs::read_symlink("/proc/self/exe").parent_path();
  return fs::absolute(variable("HEARTH_BIN_DIR", beside_this_program.c_str()));
}

bool sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#else
  return false;
#endif
}

}  // namespace hearth::integration
