#include "blobs/loader/loaded_blob.h"

#include <dlfcn.h>

#include "blobs/loader/blob_codes.h"
#include "blobs/loader/elf_exports.h"
#include "blobs/loader/hearth_blob.h"
#include "blobs/loader/sealed_file.h"

namespace hearth::blob {

std::vector<void*> load_blob(const std::string& path, const std::string& sha256_hex,
                             const std::vector<std::string>& prefixes) {
  const SealedFile file(path, sha256_hex);
  const std::vector<std::string> names = find_exports(file.bytes(), path, prefixes);
  void* handle = dlopen(file.loader_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    throw BlobError(kFailedPrecondition, "the loader refuses " + path + ": " + (why ? why : "no reason given"));
  }
  std::vector<void*> functions;
  for (const std::string& name : names) {
    functions.push_back(dlsym(handle, name.c_str()));
    if (functions.back() == nullptr) throw BlobError(kDataLoss, "the loader does not find " + name + " in " + path);
  }
  return functions;
}

}  // namespace hearth::blob
