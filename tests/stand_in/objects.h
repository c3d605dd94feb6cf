// What the stand-in's handles mean. All of it is used under lock().
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/kernel_abi.h"
#include "tests/stand_in/stand_in.h"

namespace hearth::stand_in {

std::unique_lock<std::recursive_mutex> lock();

struct Object {
  virtual ~Object() = default;
};

struct Operation {
  std::function<int()> run;
  const void* host = nullptr;  // what it reads or writes there
};

struct Stream : Object {
  std::deque<Operation> queue;
  bool was_looked_at = false;
};

struct Event : Object {
  bool was_looked_at = false;
  std::uint64_t queued = 0, done = 0;  // records of it
  void* stream = nullptr;              // where it was last recorded
  std::chrono::steady_clock::time_point time;
};

struct Function : Object {
  hearth_simt_fn code = nullptr;
  const std::int64_t* shared_bytes = nullptr;  // of a workgroup; null: units are invocations
};

struct Module : Object {
  ~Module() override;
  void* library = nullptr;
  int file = -1;
  std::vector<void*> functions;  // handles
};

struct Node : Object {
  const Object* graph = nullptr;
  std::size_t place = 0;
  void* function = nullptr;  // null: an empty node
  Dimensions dimensions = {};
  const std::uint64_t* row = nullptr;
  std::vector<std::size_t> after;
};

struct Graph : Object {
  std::vector<void*> nodes;  // handles
};

struct Executable : Object {
  std::vector<Node> nodes;
};

void* add(std::unique_ptr<Object> object);
Object* find(void* handle);
void remove(void* handle);
std::uint64_t num_objects();

// Ends the process where `handle` is none of these.
template <typename T>
T& of(const char* entry, void* handle) {
  T* const found = dynamic_cast<T*>(find(handle));
  if (found == nullptr) broken(entry, "the handle is of another kind, or was destroyed");
  return *found;
}

// The driver's own for null.
Stream& stream_of(const char* entry, void* handle);
std::vector<Stream*> all_streams();
// All that is queued; the first error.
int run_all(Stream& stream);
// Now; checks that its row is in memory of the device.
int run_launch(const Function& function, const Dimensions& dimensions, const std::uint64_t* row);

std::uint64_t num_blocks();
// Ends the process where that is not in one block of the device's memory, or of pinned memory that the device reaches.
void check_range(const char* entry, const void* address, std::size_t size_bytes);
// The device's memory may be touched.
class Touch {
 public:
  Touch();
  ~Touch();
};

}  // namespace hearth::stand_in
