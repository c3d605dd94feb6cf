#include "runtime/weights/bind.h"

#include <algorithm>
#include <utility>

#include "base/cancellation.h"
#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/weights/device_weights.h"
#include "runtime/weights/host_weights.h"
#include "runtime/weights/subnormal_weights.h"

namespace hearth::runtime {
namespace {

// How much of a device's memory that the host does not see is copied at a time.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

bool is_aligned(std::string_view bytes, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % dtype_bytes(dtype) == 0;
}

// What a launch stores: its first buffer.
std::uint64_t bytes_made(const Plan& plan, const PlanLaunch& launch) {
  return launch.buffers.empty() ? 0 : plan.buffers[launch.buffers[0]].max_bytes;
}

}  // namespace

BoundWeights::BoundWeights(const To& to, std::unique_ptr<WeightPlace> place)
    : plan_(*to.plan),
      device_(to.device),
      executable_(to.executable),
      host_(to.host),
      place_(std::move(place)),
      is_in_place_(place_->reads_in_place()),
      addresses_(plan_.buffers.size(), nullptr),
      given_(plan_.buffers.size()),
      progress_(to.progress) {}

absl::StatusOr<std::unique_ptr<BoundWeights>> BoundWeights::bind(
    const std::map<std::string, ParameterBytes>& parameters, const To& to) {
  std::unique_ptr<BoundWeights> bound(new BoundWeights(
      to, to.device.reaches_host_memory() ? host_weights(to.sharing) : device_weights(to.device, to.sharing)));
  HEARTH_RETURN_IF_ERROR(bound->bind_parameters(parameters));
  HEARTH_RETURN_IF_ERROR(bound->bind_block());
  bound->place_ = nullptr;
  return bound;
}

absl::Status BoundWeights::bind_parameters(const std::map<std::string, ParameterBytes>& parameters) {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan_.buffers[i];
    if (buffer.kind != v1::PlanBuffer::PARAMETER) continue;
    auto found = parameters.find(buffer.name);
    if (found == parameters.end()) {
      return absl::InvalidArgumentError(
          str_cat("parameter '", buffer.name, "' is not bound; the plan needs ", buffer.max_bytes, " bytes for it"));
    }
    const ParameterBytes& given = found->second;
    if (given.size != buffer.size_bytes(nullptr) || (given.size > 0 && !given.data)) {
      return absl::InvalidArgumentError(str_cat("parameter '", buffer.name, "' holds ", given.size,
                                                " bytes; the plan needs ", buffer.size_bytes(nullptr)));
    }
    given_[i] = {static_cast<const char*>(given.data), given.size};
    if (is_in_place_) addresses_[i] = const_cast<void*>(given.data);
    if (given.owner) owners_.push_back(given.owner);
  }
  return absl::OkStatus();
}

ParameterFit BoundWeights::fit_of(std::uint32_t buffer) const {
  if (given_[buffer].size() < plan_.buffers[buffer].max_bytes) return ParameterFit::kShort;
  return is_in_place_ && is_aligned(given_[buffer], plan_.buffers[buffer].dtype) ? ParameterFit::kFits
                                                                                 : ParameterFit::kUnusable;
}

absl::StatusOr<WeightLayout> BoundWeights::layout() const {
  // A device has its own way with subnormal values.
  std::vector<bool> loses = loses_subnormals(plan_, is_in_place_ ? host_.subnormals : Subnormals::kKeep);
  std::vector<ParameterFit> fits(plan_.buffers.size(), ParameterFit::kFits);
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    if (plan_.buffers[i].kind != v1::PlanBuffer::PARAMETER) continue;
    fits[i] = fit_of(i);
    if (fits[i] != ParameterFit::kFits || !loses[i]) continue;
    const absl::StatusOr<std::size_t> subnormals = count_subnormals(given_[i], plan_.buffers[i].dtype);
    if (!subnormals.ok()) {
      return absl::Status(subnormals.status().code(),
                          str_cat("parameter '", plan_.buffers[i].name, "': ", subnormals.status().message()));
    }
    if (*subnormals > 0) fits[i] = ParameterFit::kUnusable;
  }
  return weight_layout(plan_, fits, place_->least_bytes(), std::move(loses));
}

// Copies, and what `once` launches store.
std::uint64_t BoundWeights::bytes_to_make() const {
  std::uint64_t bytes = 0;
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    if (!layout_.is_copied[i]) continue;
    const PlanBuffer& buffer = plan_.buffers[i];
    bytes += buffer.kind == v1::PlanBuffer::CONSTANT ? buffer.data.size() : given_[i].size();
  }
  for (const PlanLaunch& launch : plan_.launches) bytes += launch.once ? bytes_made(plan_, launch) : 0;
  return bytes;
}

void BoundWeights::made(std::uint64_t bytes) {
  made_ += bytes;
  if (progress_ && to_make_ >= kLeastReported) progress_(made_, to_make_);
}

// The block is there already, or is made here.
absl::Status BoundWeights::bind_block() {
  HEARTH_ASSIGN_OR_RETURN(layout_, layout());
  facts_.block_bytes = layout_.bytes;
  HEARTH_ASSIGN_OR_RETURN(WeightPlace::Taken taken, place_->take({plan_, layout_, given_}));
  block_ = std::move(taken.block);
  facts_.found = taken.found;
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    if (layout_.offsets[i] != WeightLayout::kNone)
      addresses_[i] = static_cast<char*>(block_->address()) + layout_.offsets[i];
  }
  to_make_ = facts_.found ? 0 : bytes_to_make();
  HEARTH_RETURN_IF_ERROR(copy_to_memory());
  if (!facts_.found) {
    HEARTH_RETURN_IF_ERROR(run_once_launches());
  }
  lose_subnormals();
  HEARTH_ASSIGN_OR_RETURN(std::shared_ptr<const void> hold, place_->give(block_, facts_));
  hold_ = std::move(hold);
  return absl::OkStatus();
}

// To `host`, or where that is null to `to` from `offset` on. Bytes of a mapped file may be gone.
absl::Status BoundWeights::copy_into(const Buffer* to, std::size_t offset, void* host, std::string_view bytes) const {
  if (host != nullptr) return copy_mapped(bytes.data(), bytes.size(), host);
  std::vector<char> piece(std::min(bytes.size(), kPieceBytes));
  for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const std::size_t size = std::min(bytes.size() - at, kPieceBytes);
    HEARTH_RETURN_IF_ERROR(copy_mapped(bytes.data() + at, size, piece.data()));
    HEARTH_RETURN_IF_ERROR(device_.write(*to, offset + at, piece.data(), size));
  }
  return absl::OkStatus();
}

// Constants, and parameters that kernels cannot use where they are: large ones to the block, others each to its own.
absl::Status BoundWeights::copy_to_memory() {
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    PlanBuffer& buffer = plan_.buffers[i];
    if (!layout_.is_copied[i]) continue;
    const bool is_constant = buffer.kind == v1::PlanBuffer::CONSTANT,
               is_alone = layout_.offsets[i] == WeightLayout::kNone;
    const std::string what = is_constant ? str_cat("constant buffer ", i) : str_cat("parameter '", buffer.name, "'");
    if (is_alone) {
      HEARTH_ASSIGN_OR_RETURN(Buffer own, Buffer::allocate(buffer.max_bytes, what));
      addresses_[i] = own.data();
      copies_[i] = std::move(own);
    }
    const std::string_view bytes = is_constant ? std::string_view(buffer.data) : given_[i];
    if (is_alone || !facts_.found) {
      char* const block = static_cast<char*>(block_->data());
      void* const host = is_alone ? addresses_[i] : block == nullptr ? nullptr : block + layout_.offsets[i];
      const absl::Status copied = copy_into(&block_->buffer(), layout_.offsets[i], host, bytes);
      if (!copied.ok()) return absl::Status(copied.code(), str_cat(what, ": ", copied.message()));
      release_pages(i);
      made(bytes.size());
    }
    if (is_constant) buffer.data = std::string();
  }
  return absl::OkStatus();
}

// Pages of a mapped file that replay does not read; they come back from the page cache when somebody does.
void BoundWeights::release_pages(std::uint32_t buffer) const {
  const bool is_read_in_place = layout_.used_by_replay[buffer] && !layout_.is_copied[buffer];
  if (is_read_in_place || given_[buffer].size() < WeightLayout::kMinBytes) return;
  if (const auto file = MappedFile::containing(given_[buffer])) file->release(given_[buffer]);
}

absl::StatusOr<const void*> BoundWeights::host_address(std::uint32_t buffer) const {
  const bool is_parameter = plan_.buffers[buffer].kind == v1::PlanBuffer::PARAMETER;
  const bool is_host = is_in_place_;
  if (is_host && (!is_parameter || layout_.is_copied[buffer])) return addresses_[buffer];
  if (is_parameter && is_aligned(given_[buffer], plan_.buffers[buffer].dtype)) return given_[buffer].data();
  if (block_->data() != nullptr && layout_.offsets[buffer] != WeightLayout::kNone)
    return static_cast<const char*>(block_->data()) + layout_.offsets[buffer];
  const std::lock_guard lock(copies_mutex_);
  const auto known = copies_.find(buffer);
  if (known != copies_.end()) return known->second.data();
  HEARTH_ASSIGN_OR_RETURN(Buffer copy, copy_for_host(buffer));
  return (copies_[buffer] = std::move(copy)).data();
}

// A copy of what the device holds, or of a parameter as it was given.
absl::StatusOr<Buffer> BoundWeights::copy_for_host(std::uint32_t buffer) const {
  const std::size_t offset = layout_.offsets[buffer];
  const bool is_in_block = offset != WeightLayout::kNone;
  const std::string what =
      is_in_block ? str_cat("buffer ", buffer) : str_cat("parameter '", plan_.buffers[buffer].name, "'");
  const std::size_t size = is_in_block ? plan_.buffers[buffer].max_bytes : given_[buffer].size();
  absl::StatusOr<Buffer> copy = Buffer::allocate(size, what);
  HEARTH_RETURN_IF_ERROR(copy.status());
  const absl::Status copied = is_in_block ? device_.read(block_->buffer(), offset, copy->data(), size)
                                          : copy_mapped(given_[buffer].data(), size, copy->data());
  if (!copied.ok()) return absl::Status(copied.code(), str_cat(what, ": ", copied.message()));
  return copy;
}

// A copy of a parameter, for `once` launches.
absl::StatusOr<Buffer> BoundWeights::copy_for_kernels(std::uint32_t buffer) const {
  const std::string what = str_cat("parameter '", plan_.buffers[buffer].name, "'");
  absl::StatusOr<Buffer> copy = device_.allocate(given_[buffer].size(), what, MemoryUse::kDevice);
  HEARTH_RETURN_IF_ERROR(copy.status());
  const absl::Status copied = copy_into(&*copy, 0, copy->data(), given_[buffer]);
  if (!copied.ok()) return absl::Status(copied.code(), str_cat(what, ": ", copied.message()));
  return copy;
}

absl::Status BoundWeights::run_once(Rows& rows) const {
  HEARTH_RETURN_IF_ERROR(rows.set_values({}));
  rows.place();
  absl::StatusOr<std::unique_ptr<Program>> program = executable_.program(rows, host_);
  return program.ok() ? (*program)->run() : program.status();
}

// A parameter's pages, and the copy of one that kernels cannot use where it is, are let go after the last launch that
// reads it.
absl::Status BoundWeights::run_once_launches() {
  std::map<std::uint32_t, Buffer> staged;
  for (std::size_t i = 0; i < plan_.launches.size(); ++i) {
    const PlanLaunch& launch = plan_.launches[i];
    if (!launch.once) continue;
    if (is_cancelled()) return absl::CancelledError("the call was cancelled while weights were packed");
    Rows rows(plan_, static_cast<std::uint32_t>(i));
    for (const std::uint32_t buffer : launch.buffers) {
      const bool is_parameter = plan_.buffers[buffer].kind == v1::PlanBuffer::PARAMETER;
      const bool is_staged = is_parameter && !layout_.is_copied[buffer] && fit_of(buffer) != ParameterFit::kFits;
      if (is_staged && staged.count(buffer) == 0) {
        HEARTH_ASSIGN_OR_RETURN(Buffer copy, copy_for_kernels(buffer));
        staged[buffer] = std::move(copy);
      }
      rows.memory[buffer] = is_staged ? staged[buffer].address() : addresses_[buffer];
    }
    if (launch.grid.max() > 0) {
      HEARTH_RETURN_IF_ERROR(run_once(rows));
      ++facts_.once_launches;
    }
    made(bytes_made(plan_, launch));
    for (const std::uint32_t buffer : launch.buffers) {
      if (layout_.last_reader[buffer] != i || plan_.buffers[buffer].kind != v1::PlanBuffer::PARAMETER) continue;
      staged.erase(buffer);
      release_pages(buffer);
    }
  }
  return absl::OkStatus();
}

// A block that another process made has lost them already.
void BoundWeights::lose_subnormals() const {
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    if (!layout_.loses_subnormals[i]) continue;
    const bool is_in_block = layout_.offsets[i] != WeightLayout::kNone;
    if (is_in_block ? !facts_.found : layout_.is_copied[i])
      zero_subnormals(addresses_[i], plan_.buffers[i].max_bytes, plan_.buffers[i].dtype);
  }
}

}  // namespace hearth::runtime
