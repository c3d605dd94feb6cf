#include "runtime/hal/null/null_driver.h"

#include "runtime/hal/null/null_device.h"

namespace hearth::runtime {
namespace {

class NullDriver final : public Driver {
 public:
  std::string_view name() const override { return device_.name(); }
  KernelFormat format() const override { return {"uop", ".uop"}; }
  bool has_code() const override { return false; }
  std::vector<NamedTarget> targets() const override { return {{"null", device_.target(0)}}; }

  absl::StatusOr<std::vector<DeviceInfo>> devices() const override {
    DeviceInfo info;
    info.device = device_.name();
    info.target = device_.target(0);
    info.summary = "records launches, computes nothing";
    return std::vector<DeviceInfo>{std::move(info)};
  }

  absl::StatusOr<const Device*> find(std::string_view) const override { return &device_; }

 private:
  NullDevice device_;
};

}  // namespace

const Driver& null_driver() {
  static const NullDriver& driver = *new NullDriver;
  return driver;
}

}  // namespace hearth::runtime
