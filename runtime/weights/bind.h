// BoundWeights: a plan's parameters, constants and what its `once` launches make, where its kernels read them. Immutable
// once bound; thread-safe. Errors name the parameter or constant: INVALID_ARGUMENT for one that is missing or of another
// size, DATA_LOSS where a mapped file lost its bytes, CANCELLED, and the device's.
//
//   absl::StatusOr<std::unique_ptr<BoundWeights>> weights =
//       BoundWeights::bind(parameters, {&plan, device, *executable, {.threads = 4}, /*sharing=*/nullptr});
//   void* address = (*weights)->address(buffer);
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/hal/device.h"
#include "runtime/weights/weight_place.h"
#include "runtime/weights/weight_sharing.h"

namespace hearth::runtime {

// `owner` (may be empty) keeps `data` alive; without one the caller does, as long as the plan lives.
struct ParameterBytes {
  const void* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<const void> owner;
};

// Told of bytes of weights that are made and of all there are to make, after each part, on the binding thread; of less
// than kLeastReported not at all.
using PackingProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;
inline constexpr std::uint64_t kLeastReported = std::uint64_t{16} << 20;

class BoundWeights {
 public:
  // All but `sharing` outlive what is bound.
  struct To {
    Plan* plan;  // whose constants' bytes are let go
    const Device& device;
    const Executable& executable;
    HostWork host;                     // of the `once` launches; weights lose subnormal values but with kKeep
    WeightSharing* sharing = nullptr;  // asked for the plan's weights, and given what this process makes of them
    PackingProgress progress = {};
  };
  static absl::StatusOr<std::unique_ptr<BoundWeights>> bind(const std::map<std::string, ParameterBytes>& parameters,
                                                            const To& to);

  const WeightFacts& facts() const { return facts_; }
  // Where kernels see a parameter, constant or persistent buffer; null for what is an instance's, and where
  // the device does not reach it, for what only `once` launches read.
  void* address(std::uint32_t buffer) const { return addresses_[buffer]; }
  // As the host reads it, aligned to its element: a copy where need be, which stays.
  absl::StatusOr<const void*> host_address(std::uint32_t buffer) const;

 private:
  BoundWeights(const To& to, std::unique_ptr<WeightPlace> place);
  absl::Status bind_parameters(const std::map<std::string, ParameterBytes>& parameters);
  absl::Status bind_block();
  absl::Status copy_to_memory();
  absl::Status copy_into(const Buffer* to, std::size_t offset, void* host, std::string_view bytes) const;
  absl::StatusOr<WeightLayout> layout() const;
  absl::Status run_once_launches();
  absl::Status run_once(Rows& rows) const;
  void lose_subnormals() const;
  std::uint64_t bytes_to_make() const;
  void made(std::uint64_t bytes);
  ParameterFit fit_of(std::uint32_t buffer) const;
  absl::StatusOr<Buffer> copy_for_kernels(std::uint32_t buffer) const;
  absl::StatusOr<Buffer> copy_for_host(std::uint32_t buffer) const;
  void release_pages(std::uint32_t buffer) const;

  Plan& plan_;
  const Device& device_;
  const Executable& executable_;
  const HostWork host_;
  std::unique_ptr<WeightPlace> place_;  // until all is bound
  const bool is_in_place_;
  std::vector<void*> addresses_;
  std::vector<std::string_view> given_;  // parameters' bytes as the caller has them, by buffer
  std::vector<std::shared_ptr<const void>> owners_;
  WeightLayout layout_;
  std::shared_ptr<WeightBlock> block_;
  std::shared_ptr<const void> hold_;  // keeps the block for other processes
  WeightFacts facts_;
  const PackingProgress progress_;
  std::uint64_t made_ = 0, to_make_ = 0;  // bytes
  mutable std::mutex copies_mutex_;
  // Small constants and copies of parameters; also copies that tools asked for.
  mutable std::map<std::uint32_t, Buffer> copies_;
};

}  // namespace hearth::runtime
