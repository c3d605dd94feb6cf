// What a warm call of a blob costs over a direct call: the same function, of the same shape as a dispatcher's leaf (a
// reference and a by-value struct of 512 bytes), through a site, through a plain pointer and through a PLT entry.
//
//   blob_call_bench MODULE [rounds]     MODULE: blob_call_bench_blob.so, which exports leaf_<…>
// Prints the median of nanoseconds a call over the rounds, which take turns, for an 8-byte and the 512-byte argument.
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "blob_call_bench_blob.h"
#include "blobs/loader/hearth_blob.h"

namespace {

constexpr int kCalls = 200'000;

const char* const kExports[] = {"_Z5leaf_I", "_Z11small_leaf_I", nullptr};
const char* const kNone[] = {nullptr};
const char* const* const kFlagSets[] = {kNone};
const hearth::blob::LibraryBlob kBlobs[] = {{"bench", "bench.cpp", 0, kExports}};
const hearth::blob::Library kLibrary = {
    hearth::blob::kLibraryVersion, 7, "bench", "c++", "", "bench", kNone, kFlagSets, kBlobs, 1};
constexpr hearth::blob::Dispatcher kDispatcher{&kLibrary, 7};
hearth::blob::Site leaf_site{&kDispatcher, 0, 0};
hearth::blob::Site small_site{&kDispatcher, 0, 1};

template <typename Call>
double nanoseconds(const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / kCalls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Rounds of the three ways take turns, so that a change of the clock meets all of them.
template <typename Site, typename Pointer, typename Plt>
void compare(const char* what, int rounds, const Site& site, const Pointer& pointer, const Plt& plt) {
  std::vector<double> through_site, through_pointer, through_plt;
  for (int i = 0; i < rounds; ++i) {
    through_pointer.push_back(nanoseconds(pointer));
    through_site.push_back(nanoseconds(site));
    through_plt.push_back(nanoseconds(plt));
  }
  const double base = median(through_pointer);
  std::printf("%-18s pointer %6.2f ns   site %6.2f ns (%+.2f)   PLT %6.2f ns (%+.2f)\n", what, base,
              median(through_site), median(through_site) - base, median(through_plt), median(through_plt) - base);
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc < 2) {
    std::fprintf(stderr, "usage: blob_call_bench MODULE [rounds]\n");
    return 2;
  }
  const int rounds = argc > 2 ? std::max(1, std::atoi(argv[2])) : 101;
  std::string pattern = (fs::temp_directory_path() / "hearth_blob_bench_XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return 1;
  const fs::path root = pattern;
  fs::copy_file(argv[1], root / "bench.so");
  fs::permissions(root / "bench.so", fs::perms::group_write | fs::perms::others_write, fs::perm_options::remove);
  std::ofstream(root / "hearth-blobc") << "#!/bin/sh\necho '{\"path\": \"" << (root / "bench.so").string() << "\"}'\n";
  fs::permissions(root / "hearth-blobc", fs::perms::owner_all);
  setenv("CK_JIT_ROOT", root.c_str(), 1);
  setenv("CK_JIT_CACHE_DIR", root.c_str(), 1);

  int result = 0;
  try {
    using Leaf = int (*)(const int&, BenchArgs);
    using SmallLeaf = int (*)(const int&, BenchSmallArgs);
    BenchArgs args{};
    BenchSmallArgs small{};
    const int scale = 3;
    volatile int sum = 0;
    Leaf volatile leaf_pointer = reinterpret_cast<Leaf>(leaf_site.get());
    SmallLeaf volatile small_pointer = reinterpret_cast<SmallLeaf>(small_site.get());
    compare(
        "8-byte argument:", rounds, [&] { sum = sum + reinterpret_cast<SmallLeaf>(small_site.get())(scale, small); },
        [&] { sum = sum + small_pointer(scale, small); }, [&] { sum = sum + bench_small_leaf(scale, small); });
    compare(
        "512-byte argument:", rounds, [&] { sum = sum + reinterpret_cast<Leaf>(leaf_site.get())(scale, args); },
        [&] { sum = sum + leaf_pointer(scale, args); }, [&] { sum = sum + bench_leaf(scale, args); });
  } catch (const hearth::blob::BlobError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    result = 1;
  }
  fs::remove_all(root);
  return result;
}
