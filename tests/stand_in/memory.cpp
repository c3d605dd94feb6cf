// The stand-in's memory: of the device, with a page behind each block that nobody may touch, and pinned memory.
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/stand_in/memory.h"
#include "tests/stand_in/objects.h"

namespace hearth::stand_in {
namespace {

constexpr std::size_t kPage = 4096;

struct Block {
  std::size_t size_bytes = 0;
  char* mapping = nullptr;
  std::size_t mapping_bytes = 0;  // without the page behind
  bool is_pinned = false;
  int device = 0;
  int protection = PROT_READ | PROT_WRITE;  // while something runs
  bool is_elsewhere = false;                // mapped by somebody else
};

std::map<const char*, Block>& blocks() {
  static auto& all = *new std::map<const char*, Block>;
  return all;
}

int num_touches = 0;
int (*current_device)() = nullptr;

bool protects() {
  static const char* const text = std::getenv("HEARTH_STAND_IN_PROTECT");
  return text != nullptr && text[0] == '1';
}

void protect_all(bool is_reached) {
  if (!protects()) return;
  for (const auto& [address, block] : blocks()) {
    if (!block.is_pinned) mprotect(block.mapping, block.mapping_bytes, is_reached ? block.protection : PROT_NONE);
  }
}

const Block* block_of(const void* address, const char** begin) {
  auto after = blocks().upper_bound(static_cast<const char*>(address));
  if (after == blocks().begin()) return nullptr;
  --after;
  *begin = after->first;
  return static_cast<const char*>(address) < after->first + after->second.size_bytes ? &after->second : nullptr;
}

constexpr std::size_t kMemory = std::size_t{16} << 30;  // what this GPU has

int make(void** address, std::size_t size_bytes, bool is_pinned, std::size_t most = kMemory) {
  if (size_bytes == 0) return kInvalidValue;
  if (size_bytes > most) return kOutOfMemory;
  const auto locked = lock();
  Block block = {size_bytes, nullptr, (size_bytes + kPage - 1) / kPage * kPage, is_pinned, current_device()};
  void* const mapping = mmap(nullptr, block.mapping_bytes + kPage, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return kOutOfMemory;
  block.mapping = static_cast<char*>(mapping);
  mprotect(block.mapping + block.mapping_bytes, kPage, PROT_NONE);
  // Ends where the page does, as far as an alignment of 512 bytes lets it.
  char* const begin = block.mapping + (block.mapping_bytes - size_bytes) / 512 * 512;
  std::memset(begin, 0xFF, size_bytes < (std::size_t{1} << 20) ? size_bytes : std::size_t{1} << 20);  // NaNs
  if (!is_pinned && protects() && num_touches == 0) mprotect(block.mapping, block.mapping_bytes, PROT_NONE);
  blocks()[begin] = block;
  *address = begin;
  return kSuccess;
}

void unmake(const char* begin) {
  const Block& block = blocks().at(begin);
  munmap(block.mapping, block.mapping_bytes + kPage);
  blocks().erase(begin);
}

}  // namespace

Touch::Touch() {
  if (num_touches++ == 0) protect_all(true);
}

Touch::~Touch() {
  if (--num_touches == 0) protect_all(false);
}

void add_mapped(void* address, std::size_t size_bytes, int device, int protection) {
  Block block = {size_bytes, static_cast<char*>(address), size_bytes, false, device, protection, true};
  blocks()[block.mapping] = block;
  if (protects() && num_touches == 0) mprotect(block.mapping, size_bytes, PROT_NONE);
}

void remove_mapped(void* address) { blocks().erase(static_cast<const char*>(address)); }

void set_current_device(int (*which)()) { current_device = which; }

std::uint64_t num_blocks() { return blocks().size(); }

void check_range(const char* entry, const void* address, std::size_t size_bytes) {
  const char* begin = nullptr;
  const Block* const block = block_of(address, &begin);
  if (block == nullptr) broken(entry, "the address is in no memory of the device");
  if (static_cast<const char*>(address) + size_bytes > begin + block->size_bytes)
    broken(entry, "it goes beyond the end of its memory");
}

int allocate(void** address, std::size_t size_bytes) { return make(address, size_bytes, false); }
int allocate_managed(void** address, std::size_t size_bytes) { return make(address, size_bytes, false, 4 * kMemory); }
int allocate_host(void** data, std::size_t size_bytes, unsigned flags) {
  if (flags != 3) broken("allocating pinned memory", "it is to be portable and mapped");
  return make(data, size_bytes, true);
}

int free(void* address) {
  const auto locked = lock();
  const auto found = blocks().find(static_cast<const char*>(address));
  if (found == blocks().end() || found->second.is_pinned || found->second.is_elsewhere)
    broken("freeing memory", "it is not what was allocated");
  for (Stream* const stream : all_streams()) run_all(*stream);  // as drivers do
  unmake(found->first);
  return kSuccess;
}

int free_host(void* data) {
  const auto locked = lock();
  const auto found = blocks().find(static_cast<const char*>(data));
  if (found == blocks().end() || !found->second.is_pinned) broken("freeing memory", "it is not what was pinned");
  for (Stream* const stream : all_streams()) {
    for (const Operation& operation : stream->queue) {
      const auto* const host = static_cast<const char*>(operation.host);
      if (host >= found->first && host < found->first + found->second.size_bytes)
        broken("freeing pinned memory", "a copy that is queued still uses it");
    }
  }
  unmake(found->first);
  return kSuccess;
}

int address_range(void** begin, std::size_t* size_bytes, void* address) {
  const auto locked = lock();
  const char* first = nullptr;
  const Block* const block = block_of(address, &first);
  if (block == nullptr || block->is_pinned) return kInvalidValue;
  *begin = const_cast<char*>(first);
  *size_bytes = block->size_bytes;
  return kSuccess;
}

int device_of(int* device, void* address) {
  const auto locked = lock();
  const char* begin = nullptr;
  const Block* const block = block_of(address, &begin);
  if (block == nullptr) return kInvalidValue;
  *device = block->device;
  return kSuccess;
}

int host_address(void** address, void* data) {
  const auto locked = lock();
  const char* begin = nullptr;
  const Block* const block = block_of(data, &begin);
  if (block == nullptr || !block->is_pinned) broken("the address of pinned memory", "it is not pinned");
  *address = data;
  return kSuccess;
}

}  // namespace hearth::stand_in
