#include "client/cli/checks.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/strings/numbers.h"
#include "base/text.h"

namespace hearth::cli {

CLI::Validator whole_number() {
  return CLI::Validator(
      [](const std::string& text) {
        std::uint64_t value = 0;
        const bool is_number = text.find_first_not_of("0123456789") == std::string::npos;
        if (is_number && absl::SimpleAtoi(text, &value)) return std::string();
        return str_cat("'", text, "' is not a whole number from 0 to 18446744073709551615");
      },
      "");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& text) { return text.empty() ? std::string("the value is empty") : std::string(); }, "");
}

CLI::Validator number_in(double least, double greatest) {
  return CLI::Validator(
      [least, greatest](const std::string& text) {
        double value = 0;
        if (absl::SimpleAtod(text, &value) && value >= least && value <= greatest) return std::string();
        return str_cat("'", text, "' is not a number from ", least, " to ", greatest);
      },
      "");
}

std::function<void(std::string)> unique_name(const std::string& option) {
  const auto given = std::make_shared<std::map<std::string, std::string>>();
  return [option, given](const std::string& text) {
    const auto [first, fresh] = given->emplace(text.substr(0, text.find('=')), text);
    if (fresh) return;
    throw CLI::ValidationError(str_cat(first->second, " and ", text, " both give '", first->first, "'"));
  };
}

}  // namespace hearth::cli
