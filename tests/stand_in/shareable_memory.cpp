// The stand-in's memory that other processes can have: a memory file, mapped where addresses were reserved.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "tests/stand_in/memory.h"
#include "tests/stand_in/objects.h"

namespace hearth::stand_in {
namespace {

constexpr std::size_t kUnit = std::size_t{2} << 20;

struct MemoryHandle : Object {
  ~MemoryHandle() override { close(file); }
  int file = -1;
  std::size_t size_bytes = 0;
};

struct Reserved {
  std::size_t size_bytes = 0;
  int file = -1;  // that is mapped there
};

std::map<char*, Reserved>& all_reserved() {
  static auto& all = *new std::map<char*, Reserved>;
  return all;
}

Reserved& reserved_at(const char* entry, void* address, std::size_t size_bytes) {
  const auto found = all_reserved().find(static_cast<char*>(address));
  if (found == all_reserved().end() || found->second.size_bytes != size_bytes)
    broken(entry, "these addresses were not reserved as a whole");
  return found->second;
}

void check_properties(const char* entry, const MemoryProperties& properties) {
  if (properties.type != 1 || properties.location_type != 1) broken(entry, "it is no pinned memory of a device");
  if (properties.location >= num_devices()) broken(entry, "there is no such device");
}

}  // namespace

int memory_granularity(std::size_t* size_bytes, const MemoryProperties* properties) {
  check_properties("the granularity of memory", *properties);
  *size_bytes = kUnit;
  return kSuccess;
}

int memory_create(void** handle, std::size_t size_bytes, const MemoryProperties* properties) {
  check_properties("creating memory", *properties);
  if (size_bytes == 0 || size_bytes % kUnit != 0) return kInvalidValue;
  if (properties->handle_type != 1) return kInvalidValue;
  auto made = std::make_unique<MemoryHandle>();
  made->file = memfd_create("memory of a GPU", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  made->size_bytes = size_bytes;
  if (made->file < 0 || ftruncate(made->file, static_cast<off_t>(size_bytes)) != 0) return kOutOfMemory;
  const auto locked = lock();
  *handle = add(std::move(made));
  return kSuccess;
}

int memory_export(int* file, void* handle) {
  const auto locked = lock();
  *file = fcntl(of<MemoryHandle>("exporting memory", handle).file, F_DUPFD_CLOEXEC, 0);
  return *file < 0 ? kOutOfMemory : kSuccess;
}

int memory_import(void** handle, int file) {
  struct stat info = {};
  if (fcntl(file, F_GET_SEALS) < 0 || fstat(file, &info) != 0) return kInvalidValue;
  auto made = std::make_unique<MemoryHandle>();
  made->file = fcntl(file, F_DUPFD_CLOEXEC, 0);
  made->size_bytes = static_cast<std::size_t>(info.st_size);
  const auto locked = lock();
  *handle = add(std::move(made));
  return kSuccess;
}

int memory_release(void* handle) {
  const auto locked = lock();
  of<MemoryHandle>("releasing memory", handle);
  remove(handle);
  return kSuccess;
}

int address_reserve(void** address, std::size_t size_bytes) {
  if (size_bytes == 0 || size_bytes % kUnit != 0) return kInvalidValue;
  void* const mapping = mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return kOutOfMemory;
  const auto locked = lock();
  all_reserved()[static_cast<char*>(mapping)] = {size_bytes, -1};
  *address = mapping;
  return kSuccess;
}

int address_free(void* address, std::size_t size_bytes) {
  const auto locked = lock();
  if (reserved_at("freeing addresses", address, size_bytes).file >= 0)
    broken("freeing addresses", "memory is mapped there");
  munmap(address, size_bytes);
  all_reserved().erase(static_cast<char*>(address));
  return kSuccess;
}

int memory_map(void* address, std::size_t size_bytes, std::size_t offset, void* handle) {
  const auto locked = lock();
  Reserved& reserved = reserved_at("mapping memory", address, size_bytes);
  if (reserved.file >= 0) broken("mapping memory", "some is mapped there");
  const MemoryHandle& memory = of<MemoryHandle>("mapping memory", handle);
  if (offset != 0 || memory.size_bytes != size_bytes) return kInvalidValue;
  // It stays where its handle goes.
  reserved.file = fcntl(memory.file, F_DUPFD_CLOEXEC, 0);
  return kSuccess;
}

int memory_access(void* address, std::size_t size_bytes, const MemoryAccess* access, std::size_t count) {
  const auto locked = lock();
  const Reserved& reserved = reserved_at("giving access", address, size_bytes);
  if (reserved.file < 0) broken("giving access", "no memory is mapped there");
  if (count != 1 || access->location_type != 1 || (access->flags != 1 && access->flags != 3)) return kInvalidValue;
  const int protection = access->flags == 1 ? PROT_READ : PROT_READ | PROT_WRITE;
  if (mmap(address, size_bytes, protection, MAP_SHARED | MAP_FIXED, reserved.file, 0) == MAP_FAILED)
    return kOutOfMemory;
  add_mapped(address, size_bytes, access->location, protection);
  return kSuccess;
}

int memory_unmap(void* address, std::size_t size_bytes) {
  const auto locked = lock();
  Reserved& reserved = reserved_at("unmapping memory", address, size_bytes);
  if (reserved.file < 0) broken("unmapping memory", "none is mapped there");
  for (Stream* const stream : all_streams()) run_all(*stream);
  remove_mapped(address);
  mmap(address, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  close(reserved.file);
  reserved.file = -1;
  return kSuccess;
}

}  // namespace hearth::stand_in
