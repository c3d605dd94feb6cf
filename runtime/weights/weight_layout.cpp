#include "runtime/weights/weight_layout.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/sha256_stream.h"
#include "runtime/plan/plan_loops.h"

namespace hearth::runtime {
namespace {

// Writes numbers and texts so that no two lists of them give the same bytes.
class KeyWriter {
 public:
  void number(std::uint64_t value) {
    char bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
    stream_.update({bytes, sizeof bytes});
  }
  void text(std::string_view value) {
    number(value.size());
    stream_.update(value);
  }
  void digest(const Digest& value) { text({reinterpret_cast<const char*>(value.data()), value.size()}); }
  Digest finish() { return stream_.digest(); }

 private:
  Sha256Stream stream_;
};

}  // namespace

WeightLayout weight_layout(const Plan& plan, const std::vector<ParameterFit>& fits, std::size_t least_bytes,
                           std::vector<bool> loses_subnormals) {
  WeightLayout layout;
  layout.offsets.assign(plan.buffers.size(), WeightLayout::kNone);
  layout.last_reader.assign(plan.buffers.size(), WeightLayout::kNone);
  layout.used_by_replay.assign(plan.buffers.size(), false);
  layout.is_copied.assign(plan.buffers.size(), false);
  layout.loses_subnormals = std::move(loses_subnormals);
  layout.loses_subnormals.resize(plan.buffers.size());
  for (std::size_t i = 0; i < plan.launches.size(); ++i) {
    for (const std::uint32_t buffer : plan.launches[i].buffers) {
      if (plan.launches[i].once) layout.last_reader[buffer] = i;
      if (plan.launches[i].once) continue;
      layout.used_by_replay[buffer] = true;
      if (!plan.buffers[buffer].view) continue;
      for (const std::uint32_t seen : memory_of(plan, buffer)) layout.used_by_replay[seen] = true;
    }
  }
  layout.bytes = aligned_size(plan.persistent_bytes);
  for (std::uint32_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan.buffers[i];
    const bool is_parameter = buffer.kind == v1::PlanBuffer::PARAMETER;
    if (buffer.kind == v1::PlanBuffer::PERSISTENT) layout.offsets[i] = buffer.offset;
    // A `once` launch reads such a parameter from a copy that is gone afterwards.
    const bool is_unusable =
        fits[i] == ParameterFit::kShort || (fits[i] == ParameterFit::kUnusable && layout.used_by_replay[i]);
    layout.is_copied[i] = buffer.kind == v1::PlanBuffer::CONSTANT || (is_parameter && is_unusable);
    const bool is_in_block = layout.is_copied[i] && buffer.max_bytes >= least_bytes;
    if (is_in_block) {
      layout.offsets[i] = layout.bytes;
      layout.bytes += aligned_size(buffer.max_bytes);
    }
    if (is_parameter && (is_in_block || layout.last_reader[i] != WeightLayout::kNone)) layout.sources.push_back(i);
  }
  return layout;
}

Digest weight_key(const Plan& plan, const WeightLayout& layout, const std::vector<Digest>& digests) {
  KeyWriter key;
  key.text("hearth weight block 1");
  key.number(layout.bytes);
  std::map<std::uint32_t, const Digest*> content;
  for (std::size_t i = 0; i < layout.sources.size(); ++i) content[layout.sources[i]] = &digests[i];
  const auto add_buffer = [&](std::uint32_t id) {
    const PlanBuffer& buffer = plan.buffers[id];
    key.number(buffer.kind);
    key.number(static_cast<std::uint64_t>(buffer.dtype));
    key.number(buffer.max_bytes);
    key.number(layout.offsets[id]);
    if (layout.loses_subnormals[id]) key.text("without subnormal values");
    if (buffer.kind == v1::PlanBuffer::CONSTANT) key.text(buffer.data);
    if (buffer.kind == v1::PlanBuffer::PARAMETER) key.digest(*content.at(id));
  };
  for (const PlanLaunch& launch : plan.launches) {
    if (!launch.once) continue;
    key.text(plan.kernels[launch.kernel].artifact);
    key.text(plan.kernels[launch.kernel].symbol);
    key.number(static_cast<std::uint64_t>(launch.grid.max()));
    key.number(launch.buffers.size());
    for (const std::uint32_t buffer : launch.buffers) add_buffer(buffer);
  }
  for (std::uint32_t i = 0; i < plan.buffers.size(); ++i) {  // copies and constants
    if (layout.offsets[i] != WeightLayout::kNone && plan.buffers[i].kind != v1::PlanBuffer::PERSISTENT) add_buffer(i);
  }
  return key.finish();
}

}  // namespace hearth::runtime
