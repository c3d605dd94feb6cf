// Place: one user's corner for a test: a private folder with a socket, a cache and scratch files, and the programs of
// HEARTH_BIN_DIR run in it with a clean environment. The destructor ends its daemons and removes the folder.
// A Place is used by one thread; Process may be waited for from any.
//
//   Place place;
//   Ran ran = place.run({"hearth", "run", model, "--json"});
//   CHECK(ran.code == 0);   // ran.out, ran.err
#pragma once
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace hearth::integration {

namespace fs = std::filesystem;

struct Ran {
  int code = -1;  // exit code; -signal when killed; -1000 when it did not end in time (it is killed then)
  std::string out;
  std::string err;
  double wall_ms = 0;
};

// A program that was started; ended by the destructor if it still runs.
class Process {
 public:
  Process(pid_t pid, fs::path out, fs::path err);
  Process(Process&& other) noexcept;
  ~Process();
  Ran wait();
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  fs::path out_, err_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

class Place {
 public:
  Place();
  ~Place();
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  // words[0] is a program of HEARTH_BIN_DIR or an absolute path.
  Process start(const std::vector<std::string>& words);
  Ran run(const std::vector<std::string>& words) { return start(words).wait(); }
  // For programs that must succeed: throws std::runtime_error with the command and its stderr.
  Ran run_ok(const std::vector<std::string>& words);
  // The output of a `--json` command, which must succeed.
  nlohmann::json json(const std::vector<std::string>& words);
  nlohmann::json stats();

  // Of daemons on this place's socket, whoever started them.
  std::vector<pid_t> daemons() const;
  void stop_daemon();

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const;
  std::string socket() const { return file("hearthd.sock"); }
  std::string cache() const { return file("cache"); }
  // What the programs see, besides PATH, HOME and the sanitizers' options.
  std::map<std::string, std::string>& environment() { return environment_; }

 private:
  fs::path folder_;
  std::map<std::string, std::string> environment_;
  int count_ = 0;
};

// Children of a process now; for a daemon, its workers.
std::vector<pid_t> children_of(pid_t parent);
bool alive(pid_t pid);

std::string content(const fs::path& path);
fs::path source_dir();
fs::path bin_dir();
// What the figures in the issue are stated for: sanitizers change times, not results.
bool sanitized();

}  // namespace hearth::integration
