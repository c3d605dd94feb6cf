// Reads what clang embeds for HIP: the bundle of code objects, and in each the arguments of its kernels. Every offset
// is checked: a broken bundle gives what could be read and an error text, never a crash. No state; thread-safe.
//
//   std::string error;
//   for (const BundleEntry& entry : read_bundle(bytes, size, &error)) read_kernels(entry.data, entry.size, &error);
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace hip_stand_in {

struct BundleEntry {
  std::string id;  // "hipv4-amdgcn-amd-amdhsa--gfx942"
  const unsigned char* data;
  std::size_t size;
};

// `size` may be an upper bound: a registered binary does not say how long it is. Then entries are trusted, as the HIP
// runtime does.
std::vector<BundleEntry> read_bundle(const void* bytes, std::size_t size, std::string* error);

// The target of an entry's id, e.g. "gfx942" or "gfx90a:xnack-"; empty for the host's.
std::string target_of(const std::string& id);

// Sizes in bytes of the arguments that a launch passes (not the hidden ones), by the kernel's name.
using KernelArguments = std::map<std::string, std::vector<std::size_t>>;
KernelArguments read_kernels(const unsigned char* code_object, std::size_t size, std::string* error);

}  // namespace hip_stand_in
