// Small text helpers of the command line: hex, sizes, times, tables of columns. Pure functions.
//
//   std::cout << human_bytes(153977) << "\n";   // 150.4 KiB
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hearth::cli {

std::string hex(std::string_view bytes);
std::string human_bytes(double bytes);
std::string human_time(double microseconds);  // "41.2 us", "3.0 ms", "1.2 s"
std::string fixed(double value, int digits);
std::string shape_text(const std::vector<std::int64_t>& shape);
// Columns padded to their widest cell, two blanks apart; the first row is the heading.
std::string table(const std::vector<std::vector<std::string>>& rows);
// A name as a file name: everything but letters, digits, '.', '-' becomes '_'.
std::string file_name(std::string_view name);

}  // namespace hearth::cli
