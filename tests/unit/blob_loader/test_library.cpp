// A library in miniature: its blobs' list is in a shared object of its own, whose folder is where relative roots begin.
#include "blobs/loader/hearth_blob.h"

namespace {
struct Args {
  int values[40];
};
const char* const kExports[] = {"_Z5leaf_I", "_Z14leaf_get_name_I", nullptr};
const char* const kArchs[] = {nullptr};
const char* const kFlags[] = {"-O1", nullptr};
const char* const* const kFlagSets[] = {kFlags};
const hearth::blob::LibraryBlob kBlobs[] = {{"leaf_one", "blob/leaf_one.cpp", 0, kExports}};
const hearth::blob::Library kLibrary = {
    hearth::blob::kLibraryVersion, 7, "libtest", "c++", "ck_jit", "test_blobs", kArchs, kFlagSets, kBlobs, 1};
}  // namespace

// Gives leaf's result, or minus BlobError's code with its text in `why`.
extern "C" __attribute__((visibility("default"))) int test_library_call(int scale, int last, char* why, int size) {
  static constexpr hearth::blob::Dispatcher dispatcher{&kLibrary, 7};
  static hearth::blob::Site site{&dispatcher, 0, 0};
  Args args{};
  args.values[39] = last;
  try {
    return reinterpret_cast<int (*)(const int&, Args)>(site.get())(scale, args);
  } catch (const hearth::blob::BlobError& error) {
    std::string(error.what()).copy(why, static_cast<std::size_t>(size - 1));
    return -error.code();
  }
}
