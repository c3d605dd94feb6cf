#include "runtime/weights/shared_block.h"

#include <algorithm>

#include "base/mapped_file.h"
#include "base/text.h"

namespace hearth::runtime {
namespace {

// A smaller block is not worth asking anybody for. Parameters in anonymous memory are hashed by every process, which
// takes about as long as packing them.
constexpr std::size_t kMinSharedBytes = std::size_t{1} << 20;
constexpr std::size_t kMinHashedBytes = std::size_t{16} << 20;

}  // namespace

WeightOffer offer_of(const WeightSource& source, const SharedBlock& block) {
  if (block.sharing == nullptr || source.layout.bytes < kMinSharedBytes) return {};
  std::vector<std::string_view> sources;
  for (const std::uint32_t id : source.layout.sources) sources.push_back(source.given[id]);
  const auto is_mapped = [](std::string_view bytes) {
    return bytes.size() < WeightLayout::kMinBytes || MappedFile::containing(bytes);
  };
  if (source.layout.bytes < kMinHashedBytes && !std::ranges::all_of(sources, is_mapped)) return {};
  const absl::StatusOr<std::vector<Digest>> digests = block.sharing->digests(sources);
  if (!digests.ok()) return {};
  const Digest key = weight_key(source.plan, source.layout, *digests);
  if (block.device.empty()) return block.sharing->take(key, source.layout.bytes, WeightMemory::kHost);
  return block.sharing->take(sha256(str_cat(to_bytes(key), block.device)), source.layout.bytes, WeightMemory::kDevice);
}

}  // namespace hearth::runtime
