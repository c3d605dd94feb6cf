// StreamApi: a driver whose devices run graphs of launches in streams, as CUDA's and HIP's do: its entry points, found in
// its library when a device is first asked for (nothing links it), and what differs between the two. Its calls return
// 0 or an error, whose numbers both share (stream_error.h). Made once a process; immutable; thread-safe.
//
//   absl::StatusOr<const StreamApi*> api = cuda_api();
//   if (int error = (*api)->stream_create(&stream, kStreamNonBlocking)) return check(error, Entry::stream_create);
#pragma once
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/hal/driver.h"
#include "runtime/hal/gpu/device_state.h"

namespace hearth::runtime {

// By what errors name them.
enum class Entry {
#define HEARTH_ENTRY_POINT(name, cuda, hip, ...) name,
#include "runtime/hal/stream/entry_points.def"
#undef HEARTH_ENTRY_POINT
  enter,  // the context or device that calls are meant for
  module_load,
  graph_add_kernel,
  describe,
};

// Flags of stream_create, event_create, allocate_host and allocate_managed, in both CUDA and HIP.
inline constexpr unsigned kStreamNonBlocking = 1, kEventWithTime = 0, kEventWithoutTime = 2, kHostPortableMapped = 3,
                          kManagedGlobal = 1;
inline constexpr int kPointerDevice = 9;  // of pointer_attribute: the number of the device whose memory it is

// What memory is made of that other processes can have, and who may use it: CUmemAllocationProp and CUmemAccessDesc, and
// HIP's of the same shape (from 6.0 on).
struct StreamMemoryPlace {
  int type = 1;  // a device
  int device = 0;
};
struct StreamMemoryProperties {
  int type = 1;         // pinned
  int handle_type = 1;  // a file descriptor
  StreamMemoryPlace place;
  void* metadata = nullptr;
  unsigned char flags[8] = {};
};
struct StreamMemoryAccess {
  StreamMemoryPlace place;
  int flags = 0;
};
inline constexpr int kHandleIsFile = 1, kLeastGranularity = 0, kMayRead = 1, kMayReadAndWrite = 3;

// One launch of a kernel whose only argument is its row's address.
struct StreamLaunch {
  void* function = nullptr;
  unsigned groups = 0;
  unsigned invocations = 0;  // of a workgroup
  const void* row = nullptr;
};

struct StreamDeviceInfo : DeviceInfo {
  int ordinal = 0;
  bool shares_memory = false;  // with other processes, by file descriptors
};

class StreamApi {
 public:
  virtual ~StreamApi() = default;

#define HEARTH_ENTRY_POINT(name, cuda, hip, parameters) int(*name) parameters = nullptr;
#include "runtime/hal/stream/entry_points.def"
#undef HEARTH_ENTRY_POINT

  // As its users call it: "CUDA".
  virtual std::string_view title() const = 0;
  // As v1::Target has it: "cuda".
  virtual std::string_view name() const = 0;
  virtual std::string_view entry_name(Entry entry) const = 0;
  // A literal, as "CUDA_ERROR_OUT_OF_MEMORY".
  virtual const char* error_name(int error) const = 0;

  // Calls of this thread are of that device from now on; `previous` for leave(). What the program around us had chosen
  // stays as it was.
  virtual int enter(int ordinal, void** previous) const = 0;
  virtual void leave(void* previous) const = 0;
  // `log`: what the driver says of code that it does not take.
  virtual int module_load(void** module, const std::string& code, std::string* log) const = 0;
  virtual int graph_add_kernel(void** node, void* graph, const std::vector<void*>& after,
                               const StreamLaunch& launch) const = 0;
  // All but `device`, `driver` and what is the same for both.
  virtual absl::Status describe(int ordinal, StreamDeviceInfo& info) const = 0;
  // Whether code that was compiled for `arch` runs on `own`.
  virtual bool runs(std::string_view arch, std::string_view own) const = 0;

  // What stands in for the driver in tests: its modules are this host's code, compiled for a GPU's record with this
  // host's triple. Never true of a driver.
  bool takes_host_code = false;

  // memory_import: HIP wants the address of the descriptor, until 7.1.
  bool takes_file_by_address = false;

  // FAILED_PRECONDITION in a process that was forked from the one that opened it.
  absl::Status check_usable() const { return state_->check_usable(); }

 protected:
  // From the first of `libraries` that there is. NOT_FOUND names the first and `remedy`; FAILED_PRECONDITION the entry
  // point that it lacks, and `least`, what has it.
  absl::Status open(const std::vector<std::string>& libraries, std::string_view remedy, std::string_view least);
  // Another entry point of that library, by the first of `symbols` that it has; false: it has none of them.
  template <typename Function>
  bool take(Function& function, std::initializer_list<const char*> symbols) const {
    for (const char* const symbol : symbols) {
      if (function == nullptr) function = reinterpret_cast<Function>(find(symbol));
    }
    return function != nullptr;
  }

 private:
  void* find(const char* symbol) const;

  void* library_ = nullptr;
  std::unique_ptr<const DeviceState> state_;
};

}  // namespace hearth::runtime
