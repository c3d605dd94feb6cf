#include "runtime/hal/stream/stream_program.h"

#include <cstdlib>
#include <string_view>

#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/hal/stream/stream_error.h"
#include "runtime/hal/stream/stream_executable.h"

namespace hearth::runtime {
namespace {

// What every device takes in the first dimension; a kernel's invocations take their units in steps of all.
constexpr std::int64_t kMaxGroups = std::int64_t{1} << 20;

bool wants_checks() {
  const char* const text = std::getenv("HEARTH_DEVICE_CHECKS");
  return text != nullptr && std::string_view(text) == "1";
}

}  // namespace

StreamProgram::StreamProgram(std::shared_ptr<const StreamContext> context, const StreamExecutable& executable,
                             Rows& rows, LaunchRows launches)
    : context_(std::move(context)),
      executable_(executable),
      rows_(rows),
      launches_(std::move(launches)),
      checks_(wants_checks()) {}

absl::StatusOr<std::unique_ptr<StreamProgram>> StreamProgram::make(std::shared_ptr<const StreamContext> context,
                                                                   const std::shared_ptr<StreamMemory>& memory,
                                                                   const StreamExecutable& executable, Rows& rows) {
  HEARTH_RETURN_IF_ERROR(context->check_usable());
  HEARTH_ASSIGN_OR_RETURN(LaunchRows launches, LaunchRows::of(rows));
  std::unique_ptr<StreamProgram> program(new StreamProgram(std::move(context), executable, rows, std::move(launches)));
  HEARTH_RETURN_IF_ERROR(program->allocate(*memory));
  HEARTH_RETURN_IF_ERROR(program->make_graph());
  HEARTH_RETURN_IF_ERROR(program->rows_changed());
  return program;
}

absl::Status StreamProgram::allocate(StreamMemory& memory) {
  const std::size_t bytes = launches_.num_words() * sizeof(std::uint64_t);
  HEARTH_ASSIGN_OR_RETURN(host_rows_, memory.allocate(bytes, "the launches' rows", MemoryUse::kWritten));
  HEARTH_ASSIGN_OR_RETURN(device_rows_, memory.allocate(bytes, "the launches' rows", MemoryUse::kDevice));
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  HEARTH_ASSIGN_OR_RETURN(stream_, make_stream(context_));
  for (StreamEvent* const event : {&rows_copied_, &last_}) {
    void* made = nullptr;
    const int error = context_->api().event_create(&made, kEventWithoutTime);
    HEARTH_RETURN_IF_ERROR(context_->check(error, Entry::event_create));
    *event = StreamEvent(context_, made);
  }
  return absl::OkStatus();
}

StreamProgram::~StreamProgram() {
  if (!is_queued_ || !context_->check_usable().ok()) return;
  const StreamContext::Current current(*context_);
  if (current.status().ok()) (void)context_->wait_for_event(last_.get());  // what it uses is freed next
}

StreamLaunch StreamProgram::launch_of(std::size_t launch) const {
  const std::uint32_t kernel = launches_.step(launch).kernel;
  return {.function = executable_.function(kernel),
          .groups = static_cast<unsigned>(launches_.groups(launch, kMaxGroups)),
          .invocations = static_cast<unsigned>(rows_.plan->kernels[kernel].workgroup_size),
          .row = static_cast<const std::uint64_t*>(device_rows_.address()) + launches_.first_word(launch)};
}

// Launches that wait for all before them begin a front; those of a front wait for all of the front before. False where
// the driver makes no nodes of a module's functions.
absl::StatusOr<bool> StreamProgram::add_nodes(void* graph) {
  const StreamApi& api = context_->api();
  std::vector<void*> before, front;
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    if (launches_.waits(i) && !front.empty()) {
      before = std::exchange(front, {});
      const bool next_is_single = i + 1 == launches_.size() || launches_.waits(i + 1);
      if (before.size() > 1 && !next_is_single) {  // n + m edges in the place of n * m
        void* joined = nullptr;
        HEARTH_RETURN_IF_ERROR(
            context_->check(api.graph_add_empty(&joined, graph, before.data(), before.size()), Entry::graph_add_empty));
        before = {joined};
      }
    }
    const StreamLaunch launch = launch_of(i);
    if (launch.groups == 0) continue;  // no values of the variables give it units
    void* node = nullptr;
    const int error = api.graph_add_kernel(&node, graph, before, launch);
    if (error == kInvalidDeviceFunction) return false;
    HEARTH_RETURN_IF_ERROR(context_->check(error, Entry::graph_add_kernel));
    front.push_back(node);
  }
  return true;
}

absl::Status StreamProgram::make_graph() {
  const StreamApi& api = context_->api();
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  void* made = nullptr;
  HEARTH_RETURN_IF_ERROR(context_->check(api.graph_create(&made, 0), Entry::graph_create));
  const StreamGraph graph(context_, made);
  HEARTH_ASSIGN_OR_RETURN(const bool takes_functions, add_nodes(made));
  if (!takes_functions) return absl::OkStatus();
  void* executable = nullptr;
  HEARTH_RETURN_IF_ERROR(context_->check(api.graph_instantiate(&executable, made, 0), Entry::graph_instantiate));
  graph_ = StreamGraphExecutable(context_, executable);
  return absl::OkStatus();
}

absl::Status StreamProgram::rows_changed() {
  if (is_queued_) {  // its copy of the rows may not have begun
    const StreamContext::Current current(*context_);
    HEARTH_RETURN_IF_ERROR(current.status());
    HEARTH_RETURN_IF_ERROR(context_->wait_for_event(rows_copied_.get()));
  }
  launches_.write(static_cast<std::uint64_t*>(host_rows_.data()));
  rows_changed_ = true;
  return absl::OkStatus();
}

absl::Status StreamProgram::copy_rows(void* stream) {
  if (!rows_changed_ || host_rows_.size_bytes() == 0) return absl::OkStatus();
  const int error = context_->api().copy_in(device_rows_.address(), host_rows_.data(), host_rows_.size_bytes(), stream);
  HEARTH_RETURN_IF_ERROR(context_->check(error, Entry::copy_in));
  rows_changed_ = false;
  if (stream == stream_.get()) return absl::OkStatus();
  return context_->check(context_->api().event_record(rows_copied_.get(), stream), Entry::event_record);
}

absl::Status StreamProgram::launch_alone(std::size_t launch, void* stream) {
  StreamLaunch one = launch_of(launch);
  if (one.groups == 0) return absl::OkStatus();
  void* parameters[] = {&one.row};
  return context_->check(
      context_->api().launch(one.function, one.groups, 1, 1, one.invocations, 1, 1, 0, stream, parameters, nullptr),
      Entry::launch);
}

absl::Status StreamProgram::run_in_order(void* stream, bool checks) {
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    absl::Status ran = launch_alone(i, stream);
    if (ran.ok() && checks) ran = context_->wait(stream);
    if (ran.ok()) continue;
    const std::string& symbol = rows_.plan->kernels[launches_.step(i).kernel].symbol;
    return absl::Status(ran.code(), str_cat("launch ", i, ", kernel '", symbol, "': ", ran.message()));
  }
  return absl::OkStatus();
}

absl::Status StreamProgram::run() {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  absl::Status queued = come_after_last(stream_.get());
  if (queued.ok()) queued = queue(stream_.get());
  return ended(context_->wait_for(queued, stream_.get()));
}

// After a run that was waited for. The rows of one that failed may not have arrived.
absl::Status StreamProgram::ended(absl::Status ran) {
  if (ran.ok()) is_queued_ = false;
  if (!ran.ok()) rows_changed_ = true;
  return ran;
}

absl::Status StreamProgram::queue_on(void* stream) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  HEARTH_RETURN_IF_ERROR(come_after_last(stream));
  absl::Status queued = queue(stream);
  if (queued.ok()) queued = context_->check(context_->api().event_record(last_.get(), stream), Entry::event_record);
  // A part of what failed half way may run: it is waited for here, since no event says when.
  if (!queued.ok()) return ended(context_->wait_for(queued, stream));
  is_queued_ = true;
  return absl::OkStatus();
}

absl::Status StreamProgram::wait() {
  if (!is_queued_) return absl::OkStatus();
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  return ended(context_->wait_for_event(last_.get()));
}

absl::Status StreamProgram::come_after_last(void* stream) {
  if (!is_queued_) return absl::OkStatus();
  return context_->check(context_->api().stream_wait_event(stream, last_.get(), 0), Entry::stream_wait_event);
}

absl::Status StreamProgram::queue(void* stream) {
  HEARTH_RETURN_IF_ERROR(copy_rows(stream));
  if (checks_ || graph_.get() == nullptr) return run_in_order(stream, checks_);
  return context_->check(context_->api().graph_launch(graph_.get(), stream), Entry::graph_launch);
}

absl::Status StreamProgram::make_events() {
  if (!events_.empty()) return absl::OkStatus();
  std::vector<StreamEvent> events;
  for (std::size_t i = 0; i <= launches_.size(); ++i) {
    void* event = nullptr;
    HEARTH_RETURN_IF_ERROR(context_->check(context_->api().event_create(&event, kEventWithTime), Entry::event_create));
    events.emplace_back(context_, event);
  }
  events_ = std::move(events);
  return absl::OkStatus();
}

absl::Status StreamProgram::queue_timed() {
  HEARTH_RETURN_IF_ERROR(come_after_last(stream_.get()));
  HEARTH_RETURN_IF_ERROR(copy_rows(stream_.get()));
  const auto record = [&](std::size_t place) {
    const int error = context_->api().event_record(events_[place].get(), stream_.get());
    return context_->check(error, Entry::event_record);
  };
  HEARTH_RETURN_IF_ERROR(record(0));
  for (std::size_t i = 0; i < launches_.size(); ++i) {
    HEARTH_RETURN_IF_ERROR(launch_alone(i, stream_.get()));
    HEARTH_RETURN_IF_ERROR(record(i + 1));
  }
  return absl::OkStatus();
}

absl::Status StreamProgram::run_profiled(Profile& profile) {
  HEARTH_RETURN_IF_ERROR(context_->check_usable());
  const StreamContext::Current current(*context_);
  HEARTH_RETURN_IF_ERROR(current.status());
  HEARTH_RETURN_IF_ERROR(make_events());
  HEARTH_RETURN_IF_ERROR(ended(context_->wait_for(queue_timed(), stream_.get())));
  const StreamApi& api = context_->api();
  std::vector<std::uint64_t> ticks;  // of nanoseconds
  for (const StreamEvent& event : events_) {
    float ms = 0;
    const int error = api.event_elapsed_ms(&ms, events_.front().get(), event.get());
    HEARTH_RETURN_IF_ERROR(context_->check(error, Entry::event_elapsed_ms));
    ticks.push_back(static_cast<std::uint64_t>(static_cast<double>(ms) * 1e6));
  }
  launches_.add_times(ticks, 1.0, profile);
  return absl::OkStatus();
}

}  // namespace hearth::runtime
