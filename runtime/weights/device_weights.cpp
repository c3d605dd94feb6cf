#include "runtime/weights/device_weights.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/mapped_file.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "runtime/weights/shared_block.h"

namespace hearth::runtime {
namespace {

// The blocks of all plans of this process, by what a block is made of.
struct Blocks {
  std::mutex mutex;
  std::map<std::pair<const Device*, Digest>, std::weak_ptr<WeightBlock>> all;
};

Blocks& blocks() {
  static Blocks& instance = *new Blocks;  // never destroyed: plans may be released during exit
  return instance;
}

// What the block's sources are, as long as the plan lives: where they lie in a file, or in memory, which their owner
// keeps as it is until then.
std::vector<Digest> identities(const WeightSource& source) {
  std::vector<Digest> all;
  for (const std::uint32_t id : source.layout.sources) {
    const std::string_view bytes = source.given[id];
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

class DeviceWeights final : public WeightPlace {
 public:
  DeviceWeights(const Device& device, WeightSharing* sharing)
      : device_(device), sharing_(device.shares_weights() ? sharing : nullptr) {}
  bool reads_in_place() const override { return false; }
  std::size_t least_bytes() const override { return 0; }

  absl::StatusOr<Taken> take(const WeightSource& source) override {
    key_ = weight_key(source.plan, source.layout, identities(source));
    {
      const std::lock_guard lock(blocks().mutex);
      const auto found = blocks().all.find({&device_, key_});
      if (found != blocks().all.end()) {
        if (std::shared_ptr<WeightBlock> block = found->second.lock()) {
          is_of_process_ = true;
          return Taken{std::move(block), true};
        }
      }
    }
    const std::size_t size_bytes = source.layout.bytes;
    WeightOffer offer = offer_of(source, {sharing_, device_.weights_device()});
    if (offer.kind == WeightOffer::kFound) {
      absl::StatusOr<Buffer> theirs = device_.import_memory(offer.file.get(), size_bytes, kWhat);
      if (theirs.ok()) return Taken{std::make_shared<WeightBlock>(WeightBlock::of(*std::move(theirs))), true};
    }
    if (offer.kind == WeightOffer::kMake) {
      absl::StatusOr<ShareableBuffer> ours = device_.allocate_shareable(size_bytes, kWhat);
      if (ours.ok()) {
        file_ = std::move(ours->file);
        return Taken{std::make_shared<WeightBlock>(WeightBlock::of(std::move(ours->buffer))), false};
      }
    }
    HEARTH_ASSIGN_OR_RETURN(Buffer memory, device_.allocate(size_bytes, kWhat, MemoryUse::kDevice));
    return Taken{std::make_shared<WeightBlock>(WeightBlock::of(std::move(memory))), false};
  }

  absl::StatusOr<std::shared_ptr<const void>> give(const std::shared_ptr<WeightBlock>& block,
                                                   WeightFacts& facts) override {
    if (is_of_process_) return nullptr;
    facts.shared = facts.found || (file_ && sharing_->give(file_.get()).is_shared);
    file_.reset();
    // The block's, whichever plan of this process is its last.
    if (facts.shared) block->keep(sharing_->hold());
    const std::lock_guard lock(blocks().mutex);
    std::erase_if(blocks().all, [](const auto& entry) { return entry.second.expired(); });
    blocks().all[{&device_, key_}] = block;
    return nullptr;
  }

 private:
  static constexpr const char* kWhat = "the plan's weights";

  const Device& device_;
  WeightSharing* const sharing_;
  Digest key_{};
  bool is_of_process_ = false;  // another plan's of this process
  UniqueFd file_;               // of what is to be given
};

}  // namespace

std::unique_ptr<WeightPlace> device_weights(const Device& device, WeightSharing* sharing) {
  return std::make_unique<DeviceWeights>(device, sharing);
}

}  // namespace hearth::runtime
