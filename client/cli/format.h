// Small text helpers of the command line: hex, sizes, times, shapes. Pure functions.
//
//   print_line(human_bytes(153977));   // 150.4 KiB
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

std::string hex(std::string_view bytes);
std::string human_bytes(double bytes);
std::string human_time(double microseconds);                        // "40 ns", "41.2 us", "3.0 ms", "1.2 s"
std::string counted(std::uint64_t count, const std::string& noun);  // "1 kernel", "2 kernels"
std::string fixed(double value, int digits);
std::string shape_text(const std::vector<std::int64_t>& shape);
// A name as a file's: letters and digits of any language, '.', '-' and '_' stay, all else becomes '_', also a '.' or '-'
// that it begins with. Different names may give the same; a long one is cut.
std::string file_name(std::string_view name);

}  // namespace hearth::cli
