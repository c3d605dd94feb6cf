#include "tests/stand_in/objects.h"

#include <map>

#include "tests/stand_in/control.h"

namespace hearth::stand_in {
namespace {

std::map<void*, std::unique_ptr<Object>>& objects() {
  static auto& all = *new std::map<void*, std::unique_ptr<Object>>;
  return all;
}

Stream& default_stream() {
  static Stream& stream = *new Stream;
  return stream;
}

}  // namespace

std::unique_lock<std::recursive_mutex> lock() {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;
  return std::unique_lock(mutex);
}

void* add(std::unique_ptr<Object> object) {
  void* const handle = object.get();
  objects()[handle] = std::move(object);
  return handle;
}

Object* find(void* handle) {
  const auto found = objects().find(handle);
  return found == objects().end() ? nullptr : found->second.get();
}

void remove(void* handle) { objects().erase(handle); }

std::uint64_t num_objects() {
  std::uint64_t count = 0;
  for (const auto& [handle, object] : objects()) {
    count += dynamic_cast<Node*>(object.get()) == nullptr && dynamic_cast<Function*>(object.get()) == nullptr ? 1 : 0;
  }
  return count;
}

Stream& stream_of(const char* entry, void* handle) {
  return handle == nullptr ? default_stream() : of<Stream>(entry, handle);
}

std::vector<Stream*> all_streams() {
  std::vector<Stream*> all = {&default_stream()};
  for (const auto& [handle, object] : objects()) {
    if (auto* const stream = dynamic_cast<Stream*>(object.get())) all.push_back(stream);
  }
  return all;
}

}  // namespace hearth::stand_in

extern "C" __attribute__((visibility("default"))) std::uint64_t hearth_stand_in_live() {
  const auto locked = hearth::stand_in::lock();
  return hearth::stand_in::num_objects() + hearth::stand_in::num_blocks();
}
