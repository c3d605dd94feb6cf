// Writing a file never destroys what its path names; reading takes what users name as input.
#include "base/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "tests/support/skip.h"

using namespace hearth::runtime;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
namespace fs = std::filesystem;

namespace {

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "hearth-file-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::permissions(path_, fs::perms::owner_all, ignored);
    fs::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ / name; }
  std::size_t num_entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

mode_t mode_of(const std::string& path) {
  struct stat info{};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode;
}

std::string message(const absl::Status& status) { return std::string(status.message()); }

// Standard output is another file while this lives.
class Redirected {
 public:
  Redirected(const std::string& path, int flags) : saved_(::dup(1)) {
    const int fd = ::open(path.c_str(), flags, 0600);
    ::dup2(fd, 1);
    ::close(fd);
  }
  ~Redirected() {
    ::dup2(saved_, 1);
    ::close(saved_);
  }

 private:
  int saved_;
};

bool usable(const std::string& device) {
  const int fd = ::open(device.c_str(), O_WRONLY);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

// What `write` says when no right of root's helps it; `folder` is given to that user.
std::string as_plain_user(const std::string& folder, const std::function<absl::Status()>& write) {
  constexpr uid_t kNobody = 65534;
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  if (::geteuid() == 0) REQUIRE(::chown(folder.c_str(), kNobody, kNobody) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(1);
    const std::string said = write().ToString();
    ::_exit(::write(ends[1], said.data(), said.size()) == std::ssize(said) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said(4096, '\0');
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::read(ends[0], said.data(), said.size()))));
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  return said;
}

}  // namespace

TEST_CASE("a new file has the mode that the umask leaves and nothing lies beside it") {
  const Folder folder;
  const mode_t before = ::umask(027);
  const absl::Status written = write_file(folder / "new", {"a", "", "bc"});
  ::umask(before);
  REQUIRE(written.ok());
  CHECK(content(folder / "new") == "abc");
  CHECK((mode_of(folder / "new") & 07777) == 0640);
  CHECK(folder.num_entries() == 1);
}

TEST_CASE("a file that is replaced keeps its mode") {
  const Folder folder;
  std::ofstream(folder / "old") << "longer than the new content";
  REQUIRE(::chmod((folder / "old").c_str(), 0604) == 0);
  REQUIRE(write_file(folder / "old", {"new"}).ok());
  CHECK(content(folder / "old") == "new");
  CHECK((mode_of(folder / "old") & 07777) == 0604);
}

TEST_CASE("a file that is replaced keeps its owner") {
  if (::geteuid() != 0) SKIP_CASE("only root gives files away");
  const Folder folder;
  std::ofstream(folder / "old") << "old";
  REQUIRE(::chown((folder / "old").c_str(), 12345, 54321) == 0);
  REQUIRE(::chmod((folder / "old").c_str(), 06755) == 0);
  REQUIRE(write_file(folder / "old", {"new"}).ok());
  struct stat info{};
  REQUIRE(::stat((folder / "old").c_str(), &info) == 0);
  CHECK(info.st_uid == 12345);
  CHECK(info.st_gid == 54321);
  CHECK((info.st_mode & 07777) == 06755);
}

TEST_CASE("a file that may not be written is not replaced") {
  const Folder folder;
  std::ofstream(folder / "mine") << "precious";
  REQUIRE(::chmod((folder / "mine").c_str(), 0444) == 0);
  const std::string written = as_plain_user(folder / "", [&] { return write_file(folder / "mine", {"new"}); });
  CHECK(written == "PERMISSION_DENIED: " + (folder / "mine") + ": cannot be written: Permission denied");
  CHECK(content(folder / "mine") == "precious");
}

TEST_CASE("a folder that may not be written is named as the cause") {
  const Folder folder;
  fs::create_directory(folder / "sub");
  REQUIRE(::chmod((folder / "sub").c_str(), 0555) == 0);
  const std::string written = as_plain_user(folder / "", [&] { return write_file(folder / "sub/x", {"new"}); });
  CHECK(written == "PERMISSION_DENIED: " + (folder / "sub/x") +
                       ": cannot be written: no file can be made in its folder: Permission denied");
}

TEST_CASE("a symbolic link stays and the file it names is replaced") {
  const Folder folder;
  fs::create_directory(folder / "deep");
  std::ofstream(folder / "deep/file") << "old";
  fs::create_symlink("deep/file", folder / "inner");
  fs::create_symlink(folder / "inner", folder / "outer");
  REQUIRE(write_file(folder / "outer", {"new"}).ok());
  CHECK(S_ISLNK(mode_of(folder / "outer")));
  CHECK(S_ISLNK(mode_of(folder / "inner")));
  CHECK(S_ISREG(mode_of(folder / "deep/file")));
  CHECK(content(folder / "deep/file") == "new");
}

TEST_CASE("a link to a file that is not there makes that file") {
  const Folder folder;
  fs::create_symlink("later", folder / "link");
  REQUIRE(write_file(folder / "link", {"new"}).ok());
  CHECK(S_ISLNK(mode_of(folder / "link")));
  CHECK(content(folder / "later") == "new");
}

TEST_CASE("links in a circle are an error that names the path") {
  const Folder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  const absl::Status written = write_file(folder / "a", {"x"});
  CHECK_THAT(message(written), StartsWith((folder / "a") + ": ") && Contains("symbolic links"));
}

TEST_CASE("a link planted where the old name for unfinished files was is not followed") {
  const Folder folder;
  std::ofstream(folder / "victim") << "precious";
  fs::create_symlink("victim", folder / "out.part");
  REQUIRE(write_file(folder / "out", {"new"}).ok());
  CHECK(content(folder / "victim") == "precious");
  CHECK(S_ISREG(mode_of(folder / "out")));
}

TEST_CASE("a pipe is written to and stays a pipe") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::string got;
  std::thread reader([&] { got = content(folder / "pipe"); });
  const absl::Status written = write_file(folder / "pipe", {"through ", "it"});
  reader.join();
  CHECK(written.ok());
  CHECK(got == "through it");
  CHECK(S_ISFIFO(mode_of(folder / "pipe")));
  CHECK(folder.num_entries() == 1);
}

// A device of the test's own: a write_file that is wrong replaces nothing that others need.
TEST_CASE("a device is written to, its error is told and it stays a device") {
  if (::geteuid() != 0) SKIP_CASE("only root makes a device");
  const Folder folder;
  const std::string device = folder / "full";
  if (::mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0 || !usable(device)) {
    SKIP_CASE("devices cannot be made or used in " + (folder / ""));
  }
  const absl::Status written = write_file(device, {"x"});
  CHECK(S_ISCHR(mode_of(device)));
  CHECK(absl::IsResourceExhausted(written));
  CHECK(message(written) == device + ": cannot be written: No space left on device");
}

TEST_CASE("/dev/stdout is written to where standard output stands, and the file behind it is not replaced") {
  const Folder folder;
  struct stat before{}, after{};
  {
    // A link of this test's own: one that fails must not replace the system's.
    fs::create_symlink("/proc/self/fd/1", folder / "stdout");
    const Redirected redirected(folder / "out", O_WRONLY | O_CREAT | O_TRUNC);
    REQUIRE(::stat((folder / "out").c_str(), &before) == 0);
    REQUIRE(::write(1, "before ", 7) == 7);
    CHECK(write_file(folder / "stdout", {"through"}).ok());
    REQUIRE(::write(1, " after", 6) == 6);
  }
  REQUIRE(::stat((folder / "out").c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  CHECK(content(folder / "out") == "before through after");
  CHECK(S_ISLNK(mode_of(folder / "stdout")));
}

TEST_CASE("many writers of one path leave one whole content and nothing else") {
  const Folder folder;
  const auto text = [](int writer) { return std::string(200'000, static_cast<char>('a' + writer)); };
  std::vector<std::thread> writers;
  std::vector<absl::Status> results(8);
  for (int i = 0; i < 8; ++i) {
    writers.emplace_back([&, i] {
      for (int round = 0; round < 20 && results[static_cast<std::size_t>(i)].ok(); ++round) {
        results[static_cast<std::size_t>(i)] =
            write_file(folder / "one", {text(i).substr(0, 100'000), text(i).substr(100'000)});
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  for (const absl::Status& result : results) CHECK(result.ok());
  const std::string left = content(folder / "one");
  CHECK(left == text(left.empty() ? 0 : left[0] - 'a'));
  CHECK(folder.num_entries() == 1);
}

TEST_CASE("a write that fails half-way leaves the old file, and nothing beside it") {
  const Folder folder;
  std::ofstream(folder / "old") << "old";
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  rlimit small = before;
  small.rlim_cur = 4096;
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const absl::Status written = write_file(folder / "old", {std::string(10'000, 'x')});
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  CHECK(message(written) == (folder / "old") + ": cannot be written: File too large");
  CHECK(content(folder / "old") == "old");
  CHECK(folder.num_entries() == 1);
}

TEST_CASE("paths that cannot be written are errors that name path and cause") {
  const Folder folder;
  CHECK(message(write_file(folder / "", {"x"})) == (folder / "") + ": is a folder, not a file");
  fs::create_directory(folder / "sub");
  CHECK(message(write_file(folder / "sub", {"x"})) == (folder / "sub") + ": is a folder, not a file");
  const absl::Status missing = write_file(folder / "none/file", {"x"});
  CHECK(absl::IsNotFound(missing));
  CHECK_THAT(message(missing), StartsWith((folder / "none/file") + ": ") && Contains("No such file or directory"));
  std::ofstream(folder / "file") << "x";
  CHECK_THAT(message(write_file(folder / "file/x", {"x"})), Contains("Not a directory"));
}

TEST_CASE("names as long as a file system takes can be written") {
  const Folder folder;
  const std::string path = folder / std::string(255, 'n');
  CHECK(write_file(path, {"x"}).ok());
  CHECK(write_file(path, {"y"}).ok());
  CHECK(content(path) == "y");
}

TEST_CASE("input from a pipe is read to its end") {
  const Folder folder;
  const std::string bytes(300'000, 'x');  // more than a pipe holds
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(is_stream(folder / "pipe"));
  std::thread writer([&] { std::ofstream(folder / "pipe", std::ios::binary) << bytes; });
  const absl::StatusOr<std::string> got = read_input(folder / "pipe");
  writer.join();
  REQUIRE(got.ok());
  CHECK(*got == bytes);
}

TEST_CASE("a pipe that nobody writes to is an error, not a wait without end") {
  const Folder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const absl::StatusOr<std::string> got = read_input(folder / "pipe", std::chrono::milliseconds(20));
  CHECK(absl::IsDeadlineExceeded(got.status()));
  CHECK_THAT(message(got.status()), StartsWith(folder / "pipe") && Contains("nobody opened"));
  CHECK(absl::IsInvalidArgument(read_file(folder / "pipe").status()));
}

TEST_CASE("an open pipe is read by its number, as shells name one: /dev/fd/N") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], "model", 5) == 5);
  ::close(ends[1]);
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  CHECK(is_stream(path));
  const absl::StatusOr<std::string> got = read_input(path);
  REQUIRE(got.ok());
  CHECK(*got == "model");
  CHECK(*read_input(path) == "");  // its end, at once
  ::close(ends[0]);
}

TEST_CASE("folders and devices are no input") {
  const Folder folder;
  CHECK(message(read_input(folder / "").status()) == (folder / "") + ": is a folder, not a file");
  CHECK(absl::IsNotFound(read_input(folder / "none").status()));
  CHECK_THAT(message(read_input("/dev/zero").status()), Contains("is not a regular file"));
  CHECK_FALSE(is_stream(folder / "none"));
  CHECK(is_stream("-"));
  CHECK(input_name("-") == "standard input");
  CHECK(input_name("x") == "x");
}
