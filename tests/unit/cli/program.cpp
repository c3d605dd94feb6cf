#include "tests/unit/cli/program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace hearth::cli {
namespace {

struct Scratch {
  std::filesystem::path path;
  Scratch() : path(std::filesystem::temp_directory_path() / ("hearth_cli_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Scratch() {
    std::error_code ignored;  // a daemon on its way out may still touch its cache
    std::filesystem::remove_all(path, ignored);
  }
};

std::string content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "." : value;
}

Ran run(const std::string& environment, const std::string& program, const std::string& arguments) {
  const std::string out = scratch_dir() + "/out";
  const std::string err = scratch_dir() + "/err";
  const std::string command = environment + " '" + variable("HEARTH_BIN_DIR") + "/" + program + "' " + arguments +
                              " >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out), content(err)};
}

}  // namespace

std::string scratch_dir() {
  static const Scratch scratch;
  return scratch.path.string();
}

std::string source_dir() { return variable("HEARTH_SOURCE_DIR"); }

Ran run_program(const std::string& program, const std::string& arguments) {
  return run("HEARTH_NO_AUTOSTART=1 HEARTH_SOCKET='" + scratch_dir() + "/none.sock'", program, arguments);
}

Ran run_with_daemon(const std::string& program, const std::string& arguments) {
  return run("HEARTH_SOCKET='" + scratch_dir() + "/d.sock' HEARTH_CACHE_DIR='" + scratch_dir() + "/cache'", program,
             arguments);
}

}  // namespace hearth::cli
