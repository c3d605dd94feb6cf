// rewrite_tool DISPATCHER OUTPUT BLOB.cpp… : the rewriter as a program, for tests that compile what it writes. Prints
// one line: sites, blobs used, exports, seconds. Exit code 1 and the message on stderr when a site cannot be resolved.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "blobs/tools/dispatcher_rewriter.h"

namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: rewrite_tool DISPATCHER OUTPUT BLOB.cpp...\n");
    return 2;
  }
  hearth::blobs::RewriteInput input{argv[1], read(argv[1]), {}};
  for (int i = 3; i < argc; ++i) input.blobs.push_back({std::filesystem::path(argv[i]).stem(), read(argv[i])});
  const auto begin = std::chrono::steady_clock::now();
  const auto out = hearth::blobs::rewrite_dispatcher(input);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!out.ok()) {
    std::fprintf(stderr, "%s\n", std::string(out.status().message()).c_str());
    return 1;
  }
  std::ofstream(argv[2], std::ios::binary) << out->source;
  std::set<std::string> used;
  for (const auto& site : out->sites) used.insert(site.stem);
  std::size_t exports = 0;
  for (const auto& [stem, prefixes] : out->exports) exports += prefixes.size();
  std::printf("%zu sites, %zu blobs used of %zu, %zu exports, %.3f s\n", out->sites.size(), used.size(),
              out->exports.size(), exports, seconds);
  return 0;
}
