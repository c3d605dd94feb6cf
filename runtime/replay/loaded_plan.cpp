#include "runtime/replay/loaded_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/cancellation.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "runtime/plan/plan_loops.h"
#include "runtime/weights/device_weights.h"

namespace hearth::runtime {
namespace {

BufferKind kind_of(const PlanBuffer& buffer) {
  switch (buffer.kind) {
    case v1::PlanBuffer::INPUT:
      return BufferKind::kInput;
    case v1::PlanBuffer::OUTPUT:
      return BufferKind::kOutput;
    case v1::PlanBuffer::PARAMETER:
      return BufferKind::kParameter;
    case v1::PlanBuffer::CONSTANT:
      return BufferKind::kConstant;
    case v1::PlanBuffer::PERSISTENT:
      return BufferKind::kPersistent;
    case v1::PlanBuffer::VIEW:
      return BufferKind::kView;
    default:
      return BufferKind::kIntermediate;
  }
}

// A smaller block is not worth asking anybody for. Parameters in anonymous memory are hashed by every process, which
// takes about as long as packing them.
constexpr std::size_t kMinSharedBytes = std::size_t{1} << 20;
constexpr std::size_t kMinHashedBytes = std::size_t{16} << 20;
// Of a device's memory that the host does not see, at a time.
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;

bool is_aligned(std::string_view bytes, DType dtype) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % dtype_bytes(dtype) == 0;
}

}  // namespace

absl::Status LoadedPlan::bind_parameters(const std::map<std::string, ParameterBytes>& parameters) {
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
    if (device_->reaches_host_memory()) addresses_[i] = const_cast<void*>(given.data);
    if (given.owner) owners_.push_back(given.owner);
  }
  return absl::OkStatus();
}

ParameterFit LoadedPlan::fit_of(std::uint32_t buffer) const {
  if (given_[buffer].size() < plan_.buffers[buffer].max_bytes) return ParameterFit::kShort;
  return device_->reaches_host_memory() && is_aligned(given_[buffer], plan_.buffers[buffer].dtype)
             ? ParameterFit::kFits
             : ParameterFit::kUnusable;
}

// Whether other processes may have the same block, or want it, and which it is.
WeightOffer LoadedPlan::ask(WeightSharing& sharing) const {
  if (layout_.bytes < kMinSharedBytes) return {};
  std::vector<std::string_view> sources;
  for (const std::uint32_t source : layout_.sources) sources.push_back(given_[source]);
  const auto is_mapped = [](std::string_view bytes) {
    return bytes.size() < WeightLayout::kMinBytes || MappedFile::containing(bytes);
  };
  if (layout_.bytes < kMinHashedBytes && !std::all_of(sources.begin(), sources.end(), is_mapped)) return {};
  const absl::StatusOr<std::vector<Digest>> digests = sharing.digests(sources);
  if (!digests.ok()) return {};
  return sharing.take(weight_key(plan_, layout_, *digests), layout_.bytes);
}

// What the block's sources are, as long as this plan lives: where they lie in a file, or in memory, which their owner
// keeps as it is until then.
std::vector<Digest> LoadedPlan::identities() const {
  std::vector<Digest> all;
  for (const std::uint32_t source : layout_.sources) {
    const std::string_view bytes = given_[source];
    const auto file = MappedFile::containing(bytes);
    std::string where = str_cat("memory ", reinterpret_cast<std::uintptr_t>(bytes.data()));
    if (file) {
      const files::FileStamp& stamp = file->stamp();
      where = str_cat("file ", stamp.device, " ", stamp.inode, " ", stamp.size_bytes, " ", stamp.modified_ns, " ",
                      stamp.changed_ns, " ", bytes.data() - file->bytes().data());
    }
    all.push_back(sha256(str_cat(where, " ", bytes.size())));
  }
  return all;
}

// The block is another process's, or is made here: in a memory file when somebody may want it.
absl::Status LoadedPlan::bind_block(int threads, WeightSharing* sharing) {
  std::vector<ParameterFit> fits(plan_.buffers.size(), ParameterFit::kFits);
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    if (plan_.buffers[i].kind == v1::PlanBuffer::PARAMETER) fits[i] = fit_of(i);
  }
  const bool is_host = device_->reaches_host_memory();
  layout_ = weight_layout(plan_, fits, is_host ? WeightLayout::kMinBytes : 0);
  weights_.block_bytes = layout_.bytes;
  WeightOffer offer = sharing && is_host ? ask(*sharing) : WeightOffer{};
  absl::StatusOr<WeightBlock> block = absl::NotFoundError("");
  if (offer.kind == WeightOffer::kFound) block = WeightBlock::map(std::move(offer.file), layout_.bytes);
  weights_.found = block.ok();
  if (offer.kind == WeightOffer::kMake) block = WeightBlock::create_shareable(layout_.bytes);
  const bool is_ours_to_give = offer.kind == WeightOffer::kMake && block.ok();
  std::optional<Digest> key;  // of a block that other plans of this process may use
  if (!is_host) {
    key = weight_key(plan_, layout_, identities());
    block_ = find_device_weights(*device_, *key);
    weights_.found = block_ != nullptr;
  }
  if (!block_) {
    if (!block.ok()) block = private_block();
    if (!block.ok()) return block.status();
    block_ = std::make_shared<WeightBlock>(*std::move(block));
  }
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    if (layout_.offsets[i] != WeightLayout::kNone) {
      addresses_[i] = static_cast<char*>(block_->address()) + layout_.offsets[i];
    }
  }
  if (absl::Status copied = copy_to_memory(/*block_too=*/!weights_.found); !copied.ok()) return copied;
  if (!weights_.found) {
    if (absl::Status ran = run_once_launches(threads); !ran.ok()) return ran;
    if (key) add_device_weights(*device_, *key, block_);
  }
  if (!is_host) return absl::OkStatus();
  const absl::Status sealed = is_ours_to_give ? block_->seal() : absl::UnavailableError("");
  if (absl::IsResourceExhausted(sealed)) return sealed;  // the memory is gone
  weights_.shared = weights_.found;
  if (sealed.ok()) {
    WeightReceipt receipt = sharing->give(block_->fd());
    weights_.shared = receipt.is_shared;
    // Where it cannot be mapped this process keeps the bytes that it has.
    if (receipt.same) block_->replace_file(std::move(receipt.same)).IgnoreError();
  }
  block_->close_fd();
  if (weights_.shared) hold_ = sharing->hold();
  return absl::OkStatus();
}

absl::StatusOr<WeightBlock> LoadedPlan::private_block() const {
  if (device_->reaches_host_memory()) return WeightBlock::allocate(layout_.bytes);
  absl::StatusOr<Buffer> buffer = device_->allocate(layout_.bytes, "the plan's weights", MemoryUse::kDevice);
  if (!buffer.ok()) return buffer.status();
  return WeightBlock::of(*std::move(buffer));
}

// To `host`, or where that is null to `to` from `offset` on. Bytes of a mapped file may be gone.
absl::Status LoadedPlan::copy_into(const Buffer* to, std::size_t offset, void* host, std::string_view bytes) const {
  if (host != nullptr) return copy_mapped(bytes.data(), bytes.size(), host);
  std::vector<char> piece(std::min(bytes.size(), kPieceBytes));
  for (std::size_t at = 0; at < bytes.size(); at += kPieceBytes) {
    const std::size_t size = std::min(bytes.size() - at, kPieceBytes);
    if (absl::Status copied = copy_mapped(bytes.data() + at, size, piece.data()); !copied.ok()) return copied;
    if (absl::Status written = device_->write(*to, offset + at, piece.data(), size); !written.ok()) return written;
  }
  return absl::OkStatus();
}

// Constants, and parameters that kernels cannot use where they are: large ones to the block, others each to its own.
absl::Status LoadedPlan::copy_to_memory(bool block_too) {
  for (std::uint32_t i = 0; i < plan_.buffers.size(); ++i) {
    PlanBuffer& buffer = plan_.buffers[i];
    if (!layout_.is_copied[i]) continue;
    const bool is_constant = buffer.kind == v1::PlanBuffer::CONSTANT,
               is_alone = layout_.offsets[i] == WeightLayout::kNone;
    const std::string what = is_constant ? str_cat("constant buffer ", i) : str_cat("parameter '", buffer.name, "'");
    if (is_alone) {
      absl::StatusOr<Buffer> own = Buffer::allocate(buffer.max_bytes, what);
      if (!own.ok()) return own.status();
      addresses_[i] = own->data();
      copies_[i] = *std::move(own);
    }
    const std::string_view bytes = is_constant ? std::string_view(buffer.data) : given_[i];
    if (is_alone || block_too) {
      char* const block = static_cast<char*>(block_->data());
      void* const host = is_alone ? addresses_[i] : block == nullptr ? nullptr : block + layout_.offsets[i];
      const absl::Status copied = copy_into(&block_->buffer(), layout_.offsets[i], host, bytes);
      if (!copied.ok()) return absl::Status(copied.code(), str_cat(what, ": ", copied.message()));
      release_pages(i);
    }
    if (is_constant) buffer.data = std::string();
  }
  return absl::OkStatus();
}

// Pages of a mapped file that replay does not read; they come back from the page cache when somebody does.
void LoadedPlan::release_pages(std::uint32_t buffer) const {
  const bool is_read_in_place = layout_.used_by_replay[buffer] && !layout_.is_copied[buffer];
  if (is_read_in_place || given_[buffer].size() < WeightLayout::kMinBytes) return;
  if (const auto file = MappedFile::containing(given_[buffer])) file->release(given_[buffer]);
}

absl::StatusOr<const void*> LoadedPlan::host_address(std::uint32_t buffer) const {
  const bool is_parameter = plan_.buffers[buffer].kind == v1::PlanBuffer::PARAMETER;
  const bool is_host = device_->reaches_host_memory();
  if (is_host && (!is_parameter || layout_.is_copied[buffer])) return addresses_[buffer];
  if (is_parameter && is_aligned(given_[buffer], plan_.buffers[buffer].dtype)) return given_[buffer].data();
  if (block_->data() != nullptr && layout_.offsets[buffer] != WeightLayout::kNone)
    return static_cast<const char*>(block_->data()) + layout_.offsets[buffer];
  const std::lock_guard lock(copies_mutex_);
  const auto known = copies_.find(buffer);
  if (known != copies_.end()) return known->second.data();
  absl::StatusOr<Buffer> copy = copy_for_host(buffer);
  if (!copy.ok()) return copy.status();
  return (copies_[buffer] = *std::move(copy)).data();
}

// Of what the device holds, or of a parameter as it was given.
absl::StatusOr<Buffer> LoadedPlan::copy_for_host(std::uint32_t buffer) const {
  const std::size_t offset = layout_.offsets[buffer];
  const bool is_in_block = offset != WeightLayout::kNone;
  const std::string what =
      is_in_block ? str_cat("buffer ", buffer) : str_cat("parameter '", plan_.buffers[buffer].name, "'");
  const std::size_t size = is_in_block ? plan_.buffers[buffer].max_bytes : given_[buffer].size();
  absl::StatusOr<Buffer> copy = Buffer::allocate(size, what);
  if (!copy.ok()) return copy.status();
  const absl::Status copied = is_in_block ? device_->read(block_->buffer(), offset, copy->data(), size)
                                          : copy_mapped(given_[buffer].data(), size, copy->data());
  if (!copied.ok()) return absl::Status(copied.code(), str_cat(what, ": ", copied.message()));
  return copy;
}

// Of a parameter, for `once` launches.
absl::StatusOr<Buffer> LoadedPlan::copy_for_kernels(std::uint32_t buffer) const {
  const std::string what = str_cat("parameter '", plan_.buffers[buffer].name, "'");
  absl::StatusOr<Buffer> copy = device_->allocate(given_[buffer].size(), what, MemoryUse::kDevice);
  if (!copy.ok()) return copy.status();
  const absl::Status copied = copy_into(&*copy, 0, copy->data(), given_[buffer]);
  if (!copied.ok()) return absl::Status(copied.code(), str_cat(what, ": ", copied.message()));
  return copy;
}

std::size_t LoadedPlan::shared_bytes() const {
  std::size_t bytes = plan_.persistent_bytes;
  for (const PlanBuffer& buffer : plan_.buffers) {
    const bool alone = buffer.kind == v1::PlanBuffer::PARAMETER || buffer.kind == v1::PlanBuffer::CONSTANT;
    if (alone) bytes += buffer.max_bytes;
  }
  return bytes;
}

void LoadedPlan::describe_buffers() {
  for (const PlanBuffer& buffer : plan_.buffers) {
    BufferInfo info;
    info.id = static_cast<std::uint32_t>(buffers_.size());
    info.kind = kind_of(buffer);
    info.name = buffer.name;
    info.dtype = buffer.dtype;
    info.max_bytes = buffer.max_bytes;
    for (const Expr& length : buffer.shape) info.max_shape.push_back(length.max());
    if (info.kind == BufferKind::kInput || info.kind == BufferKind::kOutput) {
      std::vector<ValueInfo>& values = info.kind == BufferKind::kInput ? inputs_ : outputs_;
      values.push_back({info.name, info.dtype, info.max_shape, info.max_bytes});
      for (const Expr& length : buffer.shape) values.back().lengths.push_back(length.to_text(plan_.vars));
    }
    buffers_.push_back(std::move(info));
  }
  // What a kernel is the first to use was not there before: it is what the kernel makes.
  for (const PlanLaunch& launch : plan_.launches) {
    std::vector<std::uint32_t> used = launch.buffers;
    if (!used.empty() && plan_.buffers[used[0]].view) {  // what is stored to
      const std::vector<std::uint32_t> memory = memory_of(plan_, used[0]);
      used.insert(used.end(), memory.begin(), memory.end());
    }
    for (const std::uint32_t id : used) {
      BufferInfo& info = buffers_[id];
      const bool is_made = info.kind == BufferKind::kOutput || info.kind == BufferKind::kIntermediate ||
                           info.kind == BufferKind::kPersistent;
      if (is_made && info.kernel.empty()) info.kernel = plan_.kernels[launch.kernel].symbol;
    }
  }
}

absl::Status LoadedPlan::run_once(Rows& rows, int threads) const {
  if (absl::Status fits = rows.set_values({}); !fits.ok()) return fits;
  rows.place();
  absl::StatusOr<std::unique_ptr<Program>> program = executable_->program(rows, threads);
  return program.ok() ? (*program)->run() : program.status();
}

// A parameter's pages, and the copy of one that kernels cannot use where it is, are let go after the last launch that
// reads it.
absl::Status LoadedPlan::run_once_launches(int threads) {
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
        absl::StatusOr<Buffer> copy = copy_for_kernels(buffer);
        if (!copy.ok()) return copy.status();
        staged[buffer] = *std::move(copy);
      }
      rows.memory[buffer] = is_staged ? staged[buffer].address() : addresses_[buffer];
    }
    if (launch.grid.max() > 0) {
      if (absl::Status ran = run_once(rows, threads); !ran.ok()) return ran;
      ++weights_.once_launches;
    }
    for (const std::uint32_t buffer : launch.buffers) {
      if (layout_.last_reader[buffer] != i || plan_.buffers[buffer].kind != v1::PlanBuffer::PARAMETER) continue;
      staged.erase(buffer);
      release_pages(buffer);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const LoadedPlan>> LoadedPlan::create(const LoadRequest& request,
                                                                     WeightSharing* sharing) {
  absl::StatusOr<Plan> plan = parse_plan(request.plan);
  if (!plan.ok()) return plan.status();
  std::shared_ptr<LoadedPlan> loaded(new LoadedPlan);
  loaded->plan_ = *std::move(plan);
  loaded->device_ = request.device;
  if (loaded->device_ == nullptr) {
    const absl::StatusOr<const Device*> device = find_device(loaded->plan_.target.device());
    if (!device.ok()) return device.status();
    loaded->device_ = *device;
  }
  absl::StatusOr<std::unique_ptr<Executable>> executable = loaded->device_->load(loaded->plan_, request.artifacts);
  if (!executable.ok()) return executable.status();
  loaded->executable_ = *std::move(executable);
  loaded->addresses_.assign(loaded->plan_.buffers.size(), nullptr);
  loaded->given_.assign(loaded->plan_.buffers.size(), {});
  if (absl::Status status = loaded->bind_parameters(request.parameters); !status.ok()) return status;
  if (absl::Status status = loaded->bind_block(request.threads, sharing); !status.ok()) return status;
  loaded->describe_buffers();
  for (const PlanVariable& variable : loaded->plan_.vars) {
    loaded->variables_.push_back({variable.name, variable.min, variable.max, variable.unit});
  }
  return std::shared_ptr<const LoadedPlan>(std::move(loaded));
}

}  // namespace hearth::runtime
