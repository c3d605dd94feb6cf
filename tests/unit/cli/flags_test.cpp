// Formats, seeded values and flags shared by the subcommands.
#include <catch2/catch.hpp>
#include <cstring>

#include "client/cli/format.h"
#include "client/cli/kernel_rows.h"
#include "client/cli/model_flags.h"
#include "client/cli/replay_inputs.h"
#include "client/cli/shell_text.h"
#include "client/cli/table.h"

using namespace hearth;
using namespace hearth::cli;

TEST_CASE("sizes, times, tables, names") {
  CHECK(hex(std::string("\x00\xab", 2)) == "00ab");
  CHECK(human_bytes(512) == "512 B");
  CHECK(human_bytes(153977) == "150.4 KiB");
  CHECK(human_time(41.23) == "41.2 us");
  CHECK(human_time(3000) == "3.0 ms");
  CHECK(human_time(1.2e6) == "1.20 s");
  CHECK(shape_text({}) == "[]");
  CHECK(shape_text({2, 3}) == "[2, 3]");
  CHECK(table({{"a", "long"}, {"bb", "c"}}) == "a   long\nbb  c\n");
}

TEST_CASE("files are named after outputs: letters of any language stay, what a file name must not hold does not") {
  CHECK(file_name("model/layer:0.out") == "model_layer_0.out");
  CHECK(file_name("выход") == "выход");
  CHECK(file_name("出力_é-2") == "出力_é-2");
  CHECK(file_name("..") == "__");
  CHECK(file_name("../../etc/passwd") == "___.._etc_passwd");
  CHECK(file_name(".hidden") == "_hidden");
  CHECK(file_name("-rf") == "_rf");
  CHECK(file_name("") == "_");
  CHECK(file_name("a\n\x1b[2J\u202eb\xff") == "a___2J_b_");
  std::string most(199, 'x'), longer = most;
  longer.append("выход");
  CHECK(file_name(longer) == most);  // not half of a letter
}

TEST_CASE("values of inputs not given are seeded and uniform") {
  const std::string bytes = uniform_bytes("x", DType::kF32, 10000, 0);
  CHECK(bytes == uniform_bytes("x", DType::kF32, 10000, 0));
  CHECK(bytes != uniform_bytes("x", DType::kF32, 10000, 1));
  CHECK(bytes != uniform_bytes("y", DType::kF32, 10000, 0));
  REQUIRE(bytes.size() == 40000);
  std::vector<float> values(10000);
  std::memcpy(values.data(), bytes.data(), bytes.size());
  double sum = 0;
  for (float value : values) {
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    sum += static_cast<double>(value);
  }
  CHECK(sum / 10000 == Approx(0.5).margin(0.02));
  for (unsigned char c : uniform_bytes("b", DType::kBool, 100, 0)) CHECK(c <= 1);
  CHECK(uniform_bytes("i", DType::kI64, 3, 0).size() == 24);
}

TEST_CASE("flags become a prepare configuration") {
  ModelFlags flags;
  flags.timeout_s = 1.5;
  flags.threads = 3;
  flags.device = "null";
  flags.opt_level = 1;
  flags.fast_math = flags.direct_convolutions = true;
  const absl::StatusOr<client::PrepareConfig> config = flags.prepare_config();
  REQUIRE(config.ok());
  CHECK(config->deadline == std::chrono::milliseconds(1500));
  CHECK(config->threads == 3);
  CHECK(config->device == "null");
  CHECK((config->opt_level == 1 && config->fast_math && config->direct_convolutions));
  CHECK_FALSE(config->subnormals);
  flags.subnormals = Subnormals::kAll;
  CHECK(flags.prepare_config()->subnormals == Subnormals::kAll);
}

TEST_CASE("dimensions of flags: lengths, ranges, ranges in parts, expressions") {
  using Values = std::vector<std::int64_t>;
  ModelFlags flags;
  flags.dims = {"batch=4", "time=1:512", "rows=2,4,8", "seq=1:8@1,4", "total=past + seq", "same=past"};
  hearth::onnx::ImportOptions options;
  REQUIRE(flags.add_dims_to(options).ok());
  const auto& ranges = options.dims;
  CHECK((ranges.at("batch").min == 4 && ranges.at("batch").max == 4));
  CHECK((ranges.at("time").min == 1 && ranges.at("time").max == 512));
  CHECK((ranges.at("rows").min == 1 && ranges.at("rows").max == 8 && ranges.at("rows").parts.ends == Values{2, 4, 8}));
  CHECK((ranges.at("seq").min == 1 && ranges.at("seq").max == 8 && ranges.at("seq").parts.points == Values{1, 4}));
  CHECK(options.dim_expressions == std::map<std::string, std::string>{{"total", "past + seq"}, {"same", "past"}});
  for (const char* wrong : {"batch", "batch=", "=4", "time=1:", "time=1:x", "time=2*", "time=1,x", "time=4,2",
                            "time=3@1", "time=1:4@5", "time=past,seq"}) {
    CAPTURE(wrong);
    flags.dims = {"batch=4", wrong};
    hearth::onnx::ImportOptions refused;
    CHECK_FALSE(flags.add_dims_to(refused).ok());
  }
}

TEST_CASE("words that are copied into a shell stay one word") {
  CHECK(shell_word("model.onnx") == "model.onnx");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("a b") == "'a b'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("$HOME") == "'$HOME'");
  CHECK(shell_word("a\nb\x1b") == "$'a\\x0ab\\x1b'");
  CHECK(shell_word("модель.onnx") == "модель.onnx");
  CHECK(shell_path("-x") == "./-x");
}

TEST_CASE("counts have decimal prefixes, and what is not known or not measured has no rate") {
  CHECK(human_count(0) == "0");
  CHECK(human_count(340, "FLOP") == "340 FLOP");
  CHECK(human_count(1234567, "FLOP") == "1.2 MFLOP");
  CHECK(human_count(524288) == "524 k");
  KernelRow row;
  row.launches = 2;
  row.ops = 500;
  row.bytes = 1000;
  CHECK((row.gflops() < 0 && row.gbytes() < 0));
  row.time_us = 10;
  CHECK(row.gflops() == Approx(0.1));
  CHECK(row.gbytes() == Approx(0.2));
  row.ops = 0;
  CHECK(row.gflops() < 0);
}
