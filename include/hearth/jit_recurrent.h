// JitRecurrent: a wrapped model whose state (the h and c of an LSTM) is kept on the host from step to step. The model's
// output is one flat f32 block [head | h | c]; its length is checked once, when the JitRecurrent is made. One thread at
// a time. Errors: absl::Status with a JitErrorKind; a step that fails leaves the state as it was.
//
//   absl::Status pack_state(SileroJit::Prepared& jit, const LstmState& s) {
//     if (absl::Status packed = copy_into(jit.state_h_mut(), s.h); !packed.ok()) return packed;
//     return copy_into(jit.state_c_mut(), s.c);
//   }
//   auto vad = JitRecurrent<SileroJit::Prepared>::make(std::move(*jit), LstmState::zeros(128), 1);
//   auto head = vad->step([&](SileroJit::Prepared& jit) { return copy_into(jit.chunk_mut(), chunk); });
//   float probability = head->front();
//
// State that never leaves the plan's memory: Instance::carry (hearth/instance.h) feeds an output back as an input.
#pragma once
#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "hearth/error_kind.h"
#include "hearth/prepared_jit.h"

#pragma GCC visibility push(default)
namespace hearth::client {

struct LstmState {
  std::vector<float> h;
  std::vector<float> c;
  static LstmState zeros(std::size_t size) { return {std::vector<float>(size, 0), std::vector<float>(size, 0)}; }
};

// How long the parts of a step took.
struct StepTiming {
  std::chrono::nanoseconds pack{};     // the caller's inputs and the state
  std::chrono::nanoseconds execute{};  // the replay
  std::chrono::nanoseconds read{};     // splitting the output
};

// The output as `head + size of the state` floats; OutputLayoutMismatch (FailedPrecondition) otherwise.
absl::StatusOr<std::span<const float>> recurrent_output(const absl::StatusOr<ConstView>& output, std::size_t head,
                                                        const LstmState& state);

// What JitRecurrent needs of a wrapper, beside the function
//   absl::Status pack_state(Jit& jit, const LstmState& state)
// in the wrapper's namespace, which copies the state into the wrapper's state inputs.
template <typename Jit>
concept RecurrentJit = requires(Jit& jit, const LstmState& state) {
  { pack_state(jit, state) } -> std::same_as<absl::Status>;
  { jit.execute() } -> std::same_as<absl::Status>;
  { jit.output() } -> std::same_as<absl::StatusOr<ConstView>>;
};

template <typename Jit>
class JitRecurrent {
 public:
  // `head_size` in elements. NotPrepared; OutputLayoutMismatch when the output has not head + h + c elements of f32.
  static absl::StatusOr<JitRecurrent> make(Jit jit, LstmState state, std::size_t head_size)
    requires RecurrentJit<Jit>
  {
    const auto output = recurrent_output(jit.output(), head_size, state);
    if (!output.ok()) return output.status();
    return JitRecurrent(std::move(jit), std::move(state), head_size);
  }

  // One step: `pack_inputs(jit)`, which returns a status, writes the step's other inputs; then the state is packed, the
  // plan replayed and the state taken from the output. The head is valid until the next step.
  template <typename F>
  absl::StatusOr<std::span<const float>> step(F&& pack_inputs) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    if (absl::Status packed = pack_inputs(jit_); !packed.ok()) return packed;
    if (absl::Status packed = pack_state(jit_, state_); !packed.ok()) return packed;
    const Clock::time_point ready = Clock::now();
    if (absl::Status ran = jit_.execute(); !ran.ok()) return ran;
    const Clock::time_point done = Clock::now();
    const auto output = recurrent_output(jit_.output(), head_size_, state_);
    if (!output.ok()) return output.status();
    const auto h = output->subspan(head_size_, state_.h.size());
    std::copy(h.begin(), h.end(), state_.h.begin());
    const auto c = output->subspan(head_size_ + state_.h.size());
    std::copy(c.begin(), c.end(), state_.c.begin());
    timing_ = {ready - start, done - ready, Clock::now() - done};
    return output->first(head_size_);
  }

  // Zeroes the state for a new sequence; the plan is not touched.
  void reset() {
    std::fill(state_.h.begin(), state_.h.end(), 0.0F);
    std::fill(state_.c.begin(), state_.c.end(), 0.0F);
  }

  const LstmState& state() const { return state_; }
  const StepTiming& last_timing() const { return timing_; }
  Jit& jit() { return jit_; }

 private:
  JitRecurrent(Jit jit, LstmState state, std::size_t head_size)
      : jit_(std::move(jit)), state_(std::move(state)), head_size_(head_size) {}

  Jit jit_;
  LstmState state_;
  std::size_t head_size_;
  StepTiming timing_;
};

}  // namespace hearth::client
#pragma GCC visibility pop
