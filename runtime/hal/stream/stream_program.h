// A plan's launches as one graph, made once: each node reads what it works on from its row in the device's memory
// (base/kernel_abi.h), so that other addresses, values and counts change no node. A run is one launch of the graph, after
// one copy of the rows where they changed. Used by one thread at a time.
#pragma once
#include <memory>
#include <vector>

#include "runtime/hal/gpu/launch_rows.h"
#include "runtime/hal/program.h"
#include "runtime/hal/stream/stream_context.h"
#include "runtime/hal/stream/stream_memory.h"

namespace hearth::runtime {

class StreamExecutable;

class StreamProgram final : public Program {
 public:
  // Both outlive it, as do the rows. Errors: RESOURCE_EXHAUSTED for rows or nodes that find no room.
  static absl::StatusOr<std::unique_ptr<StreamProgram>> make(std::shared_ptr<const StreamContext> context,
                                                             const std::shared_ptr<StreamMemory>& memory,
                                                             const StreamExecutable& executable, Rows& rows);
  ~StreamProgram() override;
  absl::Status run() override;
  absl::Status queue_on(void* stream) override;
  absl::Status wait() override;
  absl::Status run_profiled(Profile& profile) override;
  absl::Status rows_changed() override;

 private:
  StreamProgram(std::shared_ptr<const StreamContext> context, const StreamExecutable& executable, Rows& rows,
                LaunchRows launches);
  absl::Status allocate(StreamMemory& memory);
  absl::Status make_graph();
  absl::StatusOr<bool> add_nodes(void* graph);
  StreamLaunch launch_of(std::size_t launch) const;
  // The rows are on their way to the device.
  absl::Status copy_rows(void* stream);
  absl::Status queue(void* stream);
  absl::Status queue_timed();
  absl::Status ended(absl::Status ran);
  absl::Status launch_alone(std::size_t launch, void* stream);
  // One after the other; `checks`: waits for each, so that an error names it.
  absl::Status run_in_order(void* stream, bool checks);
  // `stream` comes behind what was queued on another one.
  absl::Status come_after_last(void* stream);
  absl::Status make_events();

  const std::shared_ptr<const StreamContext> context_;
  const StreamExecutable& executable_;
  Rows& rows_;
  LaunchRows launches_;
  const bool checks_;   // HEARTH_DEVICE_CHECKS=1
  Buffer host_rows_;    // pinned
  Buffer device_rows_;  // what the nodes were given
  bool rows_changed_ = true;
  Stream stream_;
  StreamEvent rows_copied_, last_;  // of what was queued on streams of others
  bool is_queued_ = false;          // and was not waited for
  StreamGraphExecutable graph_;     // null: the driver makes no nodes of a module's functions (HIP 5.1)
  std::vector<StreamEvent> events_;
};

}  // namespace hearth::runtime
