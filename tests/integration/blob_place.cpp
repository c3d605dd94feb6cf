#include "tests/integration/blob_place.h"

#include <nlohmann/json.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace hearth::integration {
namespace {

constexpr char kCompiler[] = R"(#!/bin/sh
case "$*" in
  *src/hang*) sleep 3600 & sleep 3600 ;;
  *src/crash*) kill -SEGV $$ ;;
  *src/eater*) for i in 1 2 3 4; do (tail /dev/full; sleep 3600) & done; wait ;;
esac
exec c++ "$@"
)";

}  // namespace

BlobPlace::BlobPlace() : root_(file("root")) {
  fs::create_directories(root_ + "/src");
  fs::create_directories(root_ + "/include");
  fs::create_directories(file("tmp"));
  environment()["TMPDIR"] = file("tmp");
  environment()["HEARTH_TEMP_DIR"] = file("tmp");  // a daemon that a client starts does not take over TMPDIR
  const std::string compiler = write("compiler", kCompiler);
  ::chmod(compiler.c_str(), 0755);
  environment()["HEARTH_BLOB_CXX"] = compiler;
}

void BlobPlace::add(const std::string& stem, int value, const std::string& header) {
  std::string text = header.empty() ? "" : "#include \"" + header + "\"\n";
  text += "template <class T> T blob(T x);\ntemplate <> int blob<int>(int x) { return x + " + std::to_string(value) +
          (header.empty() ? "" : " + VALUE") + "; }\n";
  add_text(stem, text);
}

void BlobPlace::add_text(const std::string& stem, const std::string& text) {
  std::ofstream(root_ + "/src/" + stem + ".cpp") << text;
  stems_.insert(stem);
}

void BlobPlace::write_header(const std::string& name, int value) {
  std::ofstream(root_ + "/include/" + name) << "#define VALUE " << value << "\n";
}

std::string BlobPlace::write_manifest() {
  nlohmann::json blobs = nlohmann::json::array();
  for (const std::string& stem : stems_) {
    blobs.push_back({{"stem", stem},
                     {"family", "test"},
                     {"source", "src/" + stem + ".cpp"},
                     {"flags", 0},
                     {"archs", nlohmann::json::array()},
                     {"exports", {"_Z4blobI"}}});
  }
  const nlohmann::json manifest = {{"hearth_blob_manifest", 1},
                                   {"library", "libtest"},
                                   {"toolchain", "c++"},
                                   {"flag_sets", {{"-I{root}/include", "-std=c++17", "-O1"}}},
                                   {"blobs", blobs}};
  const std::string path = root_ + "/ck_jit_manifest.json";
  std::ofstream(path) << manifest.dump();
  return path;
}

void BlobPlace::move_root(const std::string& name) {
  fs::rename(root_, file(name));
  root_ = file(name);
}

Process BlobPlace::call(const std::vector<std::string>& stems, int seed) {
  std::vector<std::string> words = {"hearth-blob-caller",
                                    (bin_dir().parent_path() / "lib" / "libhearth_blob_client.so").string(), root_,
                                    std::to_string(seed)};
  words.insert(words.end(), stems.begin(), stems.end());
  return start(words);
}

Process BlobPlace::prewarm(std::vector<std::string> words) {
  words.insert(words.begin(), {"hearth", "blobs", "prewarm"});
  words.insert(words.end(), {"--root", root_});
  return start(words);
}

int BlobPlace::compilers() const {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || pid == ::getpid()) continue;
    // The script runs it or is it, and what it starts works in the worker's folder below this place.
    std::string words, environment;
    try {
      if (!alive(pid)) continue;
      words = content(entry.path() / "cmdline");
      environment = content(entry.path() / "environ");
    } catch (const std::ios_base::failure&) {  // it ended while it was read
      continue;
    }
    const bool of_this_place = environment.find(file("tmp")) != std::string::npos;
    // The daemon and its workers know it by name.
    const bool is_ours = words.find("hearthd") != std::string::npos || words.find("-worker") != std::string::npos;
    if (words.find(file("compiler")) != std::string::npos && !is_ours) ++count;
    if (of_this_place &&
        (words.starts_with("sleep") || words.starts_with("tail") || words.find("cc1plus") != std::string::npos))
      ++count;
  }
  return count;
}

}  // namespace hearth::integration
