#include "runtime/weights/host_weights.h"

#include "base/status_macros.h"
#include "runtime/weights/shared_block.h"

namespace hearth::runtime {
namespace {

class HostWeights final : public WeightPlace {
 public:
  explicit HostWeights(WeightSharing* sharing) : sharing_(sharing) {}
  bool reads_in_place() const override { return true; }
  std::size_t least_bytes() const override { return WeightLayout::kMinBytes; }

  absl::StatusOr<Taken> take(const WeightSource& source) override {
    WeightOffer offer = offer_of(source, {sharing_, /*device=*/""});
    absl::StatusOr<WeightBlock> block = absl::NotFoundError("");
    if (offer.kind == WeightOffer::kFound) block = WeightBlock::map(std::move(offer.file), source.layout.bytes);
    const bool is_found = block.ok();
    if (offer.kind == WeightOffer::kMake) block = WeightBlock::create_shareable(source.layout.bytes);
    is_ours_to_give_ = offer.kind == WeightOffer::kMake && block.ok();
    if (!block.ok()) block = WeightBlock::allocate(source.layout.bytes);
    HEARTH_RETURN_IF_ERROR(block.status());
    return Taken{std::make_shared<WeightBlock>(*std::move(block)), is_found};
  }

  absl::StatusOr<std::shared_ptr<const void>> give(const std::shared_ptr<WeightBlock>& block,
                                                   WeightFacts& facts) override {
    const absl::Status sealed = is_ours_to_give_ ? block->seal() : absl::UnavailableError("");
    if (absl::IsResourceExhausted(sealed)) return sealed;
    facts.shared = facts.found;
    if (sealed.ok()) {
      WeightReceipt receipt = sharing_->give(block->fd());
      facts.shared = receipt.is_shared;
      // Where it cannot be mapped this process keeps the bytes that it has.
      if (receipt.same) block->replace_file(std::move(receipt.same)).IgnoreError();
    }
    block->close_fd();
    return facts.shared ? sharing_->hold() : nullptr;
  }

 private:
  WeightSharing* const sharing_;
  bool is_ours_to_give_ = false;
};

}  // namespace

std::unique_ptr<WeightPlace> host_weights(WeightSharing* sharing) { return std::make_unique<HostWeights>(sharing); }

}  // namespace hearth::runtime
