// A process that calls blobs for the first time, as libhearth_blob does: loads libhearth_blob_client.so, acquires the
// blobs in an order of its own, loads and calls each. Prints the sum of what they return.
//   hearth-blob-caller CLIENT.so ROOT SEED STEM…        exit 1 and the reply when one is not there
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  using Json = nlohmann::json;
  if (argc < 5) return 2;
  void* client = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (client == nullptr) return std::fprintf(stderr, "%s\n", ::dlerror()), 2;
  auto* acquire = reinterpret_cast<int (*)(const char*, char**)>(::dlsym(client, "hearth_blob_acquire"));
  auto* release = reinterpret_cast<void (*)(char*)>(::dlsym(client, "hearth_blob_free"));
  std::vector<std::string> stems(argv + 4, argv + argc);
  std::shuffle(stems.begin(), stems.end(), std::mt19937(static_cast<unsigned>(std::atoi(argv[3]))));
  int sum = 0;
  for (const std::string& stem : stems) {
    const Json request = {{"stem", stem},
                          {"toolchain", "c++"},
                          {"root", argv[2]},
                          {"source", "src/" + stem + ".cpp"},
                          {"flags", {"-I{root}/include", "-std=c++17", "-O1"}},
                          {"archs", Json::array()},
                          {"exports", {"_Z4blobI"}},
                          {"timeout_ms", 120'000}};
    char* reply = nullptr;
    const int code = acquire(request.dump().c_str(), &reply);
    const Json answer = Json::parse(reply);
    release(reply);
    if (code != 0) return std::printf("%s\n", answer.dump().c_str()), 1;
    void* blob = ::dlopen(answer["path"].get<std::string>().c_str(), RTLD_NOW | RTLD_LOCAL);
    if (blob == nullptr) return std::fprintf(stderr, "%s\n", ::dlerror()), 2;
    auto* function = reinterpret_cast<int (*)(int)>(::dlsym(blob, "_Z4blobIiET_S0_"));
    if (function == nullptr) return std::fprintf(stderr, "%s\n", ::dlerror()), 2;
    sum += function(1);
  }
  std::printf("%d\n", sum);
  return 0;
}
