// LogFields: what the lines that this thread logs are about, as keys of their own where the log is JSON; as text they
// are in the message already. They hold until the object is destroyed, and stand in for those of one around it. Names
// are the log's interface: call, user, plan, outcome, ms, kernels_compiled, cache_hits, error.
//
//   const LogFields fields({{"user", std::int64_t{1000}}, {"outcome", "miss"}, {"ms", 12.5}});
//   spdlog::info("prepare …");
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hearth::daemon {

class LogFields {
 public:
  using Value = std::variant<std::int64_t, double, std::string>;
  using Fields = std::vector<std::pair<std::string, Value>>;

  explicit LogFields(Fields fields) : fields_(std::move(fields)), around_(current_) { current_ = this; }
  ~LogFields() { current_ = around_; }
  LogFields(const LogFields&) = delete;
  LogFields& operator=(const LogFields&) = delete;

  // The fields of this thread; null: none.
  static const Fields* current() { return current_ == nullptr ? nullptr : &current_->fields_; }

 private:
  static inline thread_local const LogFields* current_ = nullptr;
  const Fields fields_;
  const LogFields* const around_;
};

}  // namespace hearth::daemon
