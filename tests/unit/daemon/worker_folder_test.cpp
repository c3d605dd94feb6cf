#include "daemon/worker_pool/worker_folder.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <optional>

#include "tests/unit/daemon/test_folder.h"

namespace hearth::daemon {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> entries(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path());
  return names;
}

TEST_CASE("worker folder: made, counted and removed with its content") {
  TestFolder parent;
  {
    absl::StatusOr<WorkerFolder> folder = WorkerFolder::create(parent.path());
    REQUIRE(folder.ok());
    CHECK(folder->used_bytes() == 0);
    CHECK_FALSE(folder->is_in_memory());
    std::ofstream(folder->files() + "/file") << std::string(1 << 20, 'x') << std::flush;
    CHECK(folder->used_bytes() >= 1 << 20);
    fs::create_directories(folder->files() + "/a/b");
    std::ofstream(folder->files() + "/a/b/c") << "c";
    ::chmod((folder->files() + "/a").c_str(), 0300);  // cannot be listed but by root
    if (::geteuid() != 0) CHECK(folder->used_bytes() == ~0ull);
    const WorkerFolder moved = *std::move(folder);
    CHECK(entries(parent.path()).size() == 1);
  }
  CHECK(entries(parent.path()).empty());
}

TEST_CASE("worker folder: a parent that is not there is named") {
  const absl::Status status = WorkerFolder::create("/nowhere/at/all").status();
  CHECK(std::string(status.message()).find("'/nowhere/at/all': No such file or directory") != std::string::npos);
}

// A process that owns a folder in `parent` until it is killed, in a pid namespace of its own where that can be had: its
// number means nothing here.
class Owner {
 public:
  explicit Owner(const std::string& parent) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    outer_ = ::fork();
    if (outer_ == 0) {
      (void)::unshare(::geteuid() == 0 ? CLONE_NEWPID : CLONE_NEWUSER | CLONE_NEWPID);
      if (::fork() == 0) {
        const absl::StatusOr<WorkerFolder> folder = WorkerFolder::create(parent);
        (void)!::write(ready[1], "x", 1);
        ::pause();
      }
      ::wait(nullptr);
      ::_exit(0);
    }
    char byte = 0;
    REQUIRE(::read(ready[0], &byte, 1) == 1);
    ::close(ready[0]), ::close(ready[1]);
  }
  ~Owner() { kill(); }
  void kill() {
    if (outer_ <= 0) return;
    std::ifstream children("/proc/" + std::to_string(outer_) + "/task/" + std::to_string(outer_) + "/children");
    for (pid_t pid = 0; children >> pid;) ::kill(pid, SIGKILL);
    ::waitpid(outer_, nullptr, 0);
    outer_ = -1;
  }

 private:
  pid_t outer_ = -1;
};

TEST_CASE("worker folder: leftovers are swept, folders in use are not, wherever their daemon lives") {
  TestFolder parent;
  Owner owner(parent.path());
  absl::StatusOr<WorkerFolder> mine = WorkerFolder::create(parent.path());
  REQUIRE(mine.ok());
  REQUIRE(entries(parent.path()).size() == 2);
  sweep_worker_folders(parent.path());
  CHECK(entries(parent.path()).size() == 2);
  owner.kill();
  sweep_worker_folders(parent.path());
  CHECK(entries(parent.path()).size() == 1);
  CHECK(fs::exists(mine->files()));
}

TEST_CASE("worker folder: a sweep leaves what it does not know") {
  TestFolder parent, elsewhere;
  std::ofstream(elsewhere / "lock") << "";
  fs::create_directory(parent / "other");
  std::ofstream((parent / "other") + "/lock") << "";
  fs::create_directory(parent / "hearth-worker-being_made");  // no lock yet
  fs::create_directory_symlink(elsewhere.path(), parent / "hearth-worker-link");
  std::ofstream(parent / "hearth-worker-file") << "";
  sweep_worker_folders(parent.path());
  CHECK(entries(parent.path()).size() == 4);
  CHECK(fs::exists(elsewhere / "lock"));
  // An empty one that is old was being made by a daemon that died of it.
  const timespec old[2] = {{1'000'000, 0}, {1'000'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, (parent / "hearth-worker-being_made").c_str(), old, 0) == 0);
  sweep_worker_folders(parent.path());
  CHECK_FALSE(fs::exists(parent / "hearth-worker-being_made"));
}

}  // namespace
}  // namespace hearth::daemon
