// What the interceptor costs: the time of one recorded blob compile, started as build systems do, and of a whole ninja
// build of as many blobs as CK's forward library has, against a compiler that does nothing but make its output.
//
//   interceptor_bench [calls] [blobs]      prints one line each; HEARTH_BIN_DIR names the folder of hearth-hipcc.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "blobs/tools/intercept_config.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int run(const std::vector<std::string>& args) {
  std::vector<char*> argv;
  for (const std::string& arg : args) argv.push_back(const_cast<char*>(arg.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  int status = -1;
  if (posix_spawn(&pid, argv[0], nullptr, nullptr, argv.data(), environ) != 0) return -1;
  waitpid(pid, &status, 0);
  return status;
}

// As long as a real blob's command: about 3 KB.
std::vector<std::string> blob_flags() {
  std::vector<std::string> flags = {"-O3",
                                    "-std=c++20",
                                    "-fPIC",
                                    "--offload-arch=gfx942",
                                    "--offload-arch=gfx950",
                                    "-mllvm",
                                    "--lsr-drop-solution=1",
                                    "-fvisibility=hidden"};
  for (int i = 0; i < 40; ++i)
    flags.push_back("-I/a/rather/long/path/of/an/include/folder/number/" + std::to_string(i));
  for (int i = 0; i < 30; ++i) flags.push_back("-DSOME_DEFINITION_OF_THE_BUILD_" + std::to_string(i) + "=1");
  return flags;
}

void print_calls(const char* name, std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  double sum = 0;
  for (const double s : seconds) sum += s;
  std::printf("%s: %zu calls, median %.3f ms, mean %.3f ms, 99%% %.3f ms\n", name, seconds.size(),
              seconds[seconds.size() / 2] * 1e3, sum / seconds.size() * 1e3, seconds[seconds.size() * 99 / 100] * 1e3);
}

void measure_calls(const char* name, const std::string& compiler, const fs::path& folder, int calls) {
  std::vector<double> seconds;
  for (int i = 0; i < calls; ++i) {
    std::vector<std::string> args = {compiler};
    for (const std::string& flag : blob_flags()) args.push_back(flag);
    const std::string stem = "fmha_fwd_d128_fp16_batch_" + std::to_string(i);
    args.insert(args.end(),
                {"-c", (folder / "blob" / (stem + ".cpp")).string(), "-o", (folder / (stem + ".o")).string()});
    const auto start = Clock::now();
    if (run(args) != 0) std::exit((std::fprintf(stderr, "%s failed\n", compiler.c_str()), 1));
    seconds.push_back(since(start));
  }
  print_calls(name, std::move(seconds));
}

double measure_ninja(const std::string& compiler, const fs::path& folder, int blobs) {
  fs::remove_all(folder / "ninja");
  fs::create_directories(folder / "ninja");
  std::ofstream file(folder / "ninja/build.ninja");
  file << "flags =";
  for (const std::string& flag : blob_flags()) file << " " << flag;
  file << "\nrule compile\n  command = " << compiler << " $flags -c $in -o $out\n";
  for (int i = 0; i < blobs; ++i)
    file << "build b" << i << ".o: compile " << (folder / "blob").string() << "/fmha_fwd_d128_fp16_batch_" << i
         << ".cpp\n";
  file.close();
  const auto start = Clock::now();
  if (run({"/usr/bin/ninja", "--quiet", "-C", (folder / "ninja").string()}) != 0) std::exit(1);
  return since(start);
}

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 1000, blobs = argc > 2 ? std::atoi(argv[2]) : 2250;
  const char* bin = std::getenv("HEARTH_BIN_DIR");
  std::string folder = (fs::temp_directory_path() / "interceptor_bench_XXXXXX").string();
  if (bin == nullptr || mkdtemp(folder.data()) == nullptr) {
    std::fprintf(stderr, "HEARTH_BIN_DIR is not set\n");
    return 1;
  }
  for (const char* name : {"rocm/bin", "rocm/.hearth", "blob"}) fs::create_directories(fs::path(folder) / name);
  for (int i = 0; i < std::max(calls, blobs); ++i)
    std::ofstream(folder + "/blob/fmha_fwd_d128_fp16_batch_" + std::to_string(i) + ".cpp") << "int x;\n";
  const std::string hipcc = folder + "/rocm/bin/hipcc", touch = folder + "/touch";
  fs::copy_file(fs::path(bin) / "hearth-hipcc", hipcc);
  std::ofstream(touch) << "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\n: > \"$1\"\n";
  fs::permissions(touch, fs::perms::owner_all);
  hearth::blobs::InterceptConfig config;
  config.compilers["hipcc"] = {"/usr/bin/c++"};
  config.post_build = {"/bin/false"};
  config.records = folder + "/records.ndjson";
  config.folder = folder + "/T";
  if (!hearth::blobs::write_intercept_config(config, folder + "/rocm/.hearth/intercept.json").ok()) return 1;

  measure_calls("hearth-hipcc, a blob", hipcc, folder, calls);
  measure_calls("/bin/true", "/bin/true", folder, calls);
  const double ours = measure_ninja(hipcc, folder, blobs), nothing = measure_ninja(touch, folder, blobs);
  std::printf("ninja, %d blobs: %.2f s with hearth-hipcc, %.2f s with a shell script that makes the output\n", blobs,
              ours, nothing);
  fs::remove_all(folder);
  return 0;
}
