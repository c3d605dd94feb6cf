// Checks of option values that CLI11 lacks; what they refuse is a usage error.
//
//   command->add_option("--seed", seed, "…")->check(whole_number());
//   command->add_option("--dim", dims, "…")->each(unique_name("--dim"));
#pragma once
#include <functional>
#include <string>

namespace CLI {
class Validator;
}

namespace hearth::cli {

// 0 to 2^64 - 1. CLI11 takes -1 for an unsigned number, as C does.
CLI::Validator whole_number();
// Anything but "", which is what an unset variable of a shell gives.
CLI::Validator not_empty();
// A number from `least` to `greatest`. CLI11's own Range takes nan.
CLI::Validator number_in(double least, double greatest);
// For options NAME=VALUE that are given several times: a name that was given before is an error that shows both.
std::function<void(std::string)> unique_name(const std::string& option);

}  // namespace hearth::cli
