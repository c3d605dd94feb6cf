// Planted mistakes: each stops the rewrite with its place, the alias and what is nearest.
#include <catch2/catch.hpp>

#include "miniatures.h"

using Catch::Contains;
using namespace hearth::blobs;
using namespace hearth::blobs::test;

namespace {

std::string rewrite_error(const RewriteInput& input) {
  const auto out = rewrite_dispatcher(input);
  CHECK_FALSE(out.ok());
  return std::string(out.status().message());
}

}  // namespace

TEST_CASE("a type that no blob is for: site, alias and the nearest blobs are named") {
  const std::string text = rewrite_error(with(fwd_2024(), "32/2", "32/4"));
  CHECK_THAT(text, Contains("gen/fmha_fwd_api.cpp:10") && Contains("trait_") &&
                       Contains("fmha_fwd_traits_<32,FmhaFwdFp16,false,128,8,") &&
                       Contains("fmha_fwd_d32_batch (argument 5 is 16 instead of 8)"));
  // The nearest comes first.
  CHECK(text.find("fmha_fwd_d32_batch") < text.find("fmha_fwd_d32_group"));
}

TEST_CASE("a blob that is missing") {
  RewriteInput input = bwd_2024();
  input.blobs.pop_back();
  CHECK_THAT(rewrite_error(input), Contains("fmha_bwd_api.cpp:20") && Contains("convert_dq_trait_") &&
                                       Contains("none of the 2 blobs is for a fmha_bwd_convert_dq_traits_"));
  input.blobs.clear();
  CHECK_THAT(rewrite_error(input), Contains("dot_do_o_trait_") && Contains("there are no blobs"));
}

TEST_CASE("another architecture is another type") {
  CHECK_THAT(rewrite_error(with(fwd_2026(), "trait_, ck_tile::gfx942_t", "trait_, ck_tile::gfx950_t")),
             Contains("fmha_fwd_api.cpp:10") &&
                 Contains("the architecture is ck_tile::gfx942_t instead of ck_tile::gfx950_t"));
  CHECK_THAT(rewrite_error(with(fwd_2026(), "trait_, ck_tile::gfx942_t", "trait_")),
             Contains("the architecture is ck_tile::gfx942_t instead of absent"));
}

TEST_CASE("two blobs for one type") {
  RewriteInput input = fwd_2024();
  input.blobs.push_back({"fmha_fwd_d32_copy", input.blobs[1].text});
  CHECK_THAT(rewrite_error(input),
             Contains("gen/fmha_fwd_api.cpp:10") && Contains("fmha_fwd_d32_batch and fmha_fwd_d32_copy"));
  CHECK_THAT(rewrite_error(input), Contains("more than one blob is for this function and type"));
  input.blobs.push_back({"fmha_fwd_d32_copy", input.blobs[1].text});
  CHECK_THAT(rewrite_error(input), Contains("fmha_fwd_d32_copy is given twice"));
}

TEST_CASE("an alias that is defined twice, or not at all") {
  CHECK_THAT(
      rewrite_error(with(fwd_2024(), "return fmha_fwd_<trait_>", "using trait_ = int; return fmha_fwd_<trait_>")),
      Contains("gen/fmha_fwd_api.cpp:10") && Contains("alias trait_ is int, but line 9"));
  CHECK_THAT(rewrite_error(with(fwd_2024(), "return fmha_fwd_<trait_>", "return fmha_fwd_<trait_0_>")),
             Contains("gen/fmha_fwd_api.cpp:10") && Contains("trait_0_ is not defined"));
  CHECK_THAT(rewrite_error(with(bwd_2024(), "using convert_dq_trait_", "using other_trait_")),
             Contains("fmha_bwd_api.cpp:20") && Contains("convert_dq_trait_ is not defined"));
  // An alias ends with its block.
  CHECK_THAT(rewrite_error(with(fwd_2024(), "return r;", "return fmha_fwd_<trait_>(s, a);")),
             Contains(":18: fmha_fwd_<…>: alias trait_"));
  CHECK_THAT(rewrite_error(with_blob(fwd_2024(), "fmha_fwd_d32_batch",
                                     "using trait_0 = ", "using trait_0 = int;\nusing trait_0 = ")),
             Contains("fmha_fwd_d32_batch.cpp:7") && Contains("alias trait_0"));
  CHECK_THAT(rewrite_error(with_blob(fwd_2024(), "fmha_fwd_d32_batch", "using trait_0 = ", "using other_0 = ")),
             Contains("fmha_fwd_d32_batch.cpp") && Contains("trait_0 is not an alias"));
}

TEST_CASE("an alias whose meaning depends on an #if") {
  CHECK_THAT(rewrite_error(
                 with(fwd_2024(), "return fmha_fwd_<trait_>",
                      "\n#if X\nusing m_ = A;\n#else\nusing m_ = B;\n#endif\nusing trait_1 = fmha_fwd_traits_<32, m_>;"
                      "\nreturn fmha_fwd_<trait_1>")),
             Contains("gen/fmha_fwd_api.cpp:17") && Contains("m_ has two meanings under #if, at lines 12 and 14"));
}

TEST_CASE("a leaf that its blob does not define") {
  CHECK_THAT(rewrite_error(with(bwd_2026(), "needs_zero_ = fmha_bwd_dq_dk_dv_needs_zero_dq_acc_<dq_dk_dv_trait_",
                                "needs_zero_ = fmha_bwd_dq_dk_dv_needs_zero_dq_acc_<dot_do_o_trait_")),
             Contains("fmha_bwd_api.cpp:16") && Contains("fmha_bwd_dot_do_o_d32_gfx942 does not define"));
}

TEST_CASE("a blob that exports nothing, or one name for two types") {
  RewriteInput input = fwd_2024();
  input.blobs.push_back({"host", "int main() { return 0; }\n"});
  CHECK_THAT(rewrite_error(input), Contains("host.cpp") && Contains("no explicit specialisation"));
  input = fwd_2024();
  input.blobs[0].text +=
      "using trait_1 = fmha_fwd_traits_<1>;\ntemplate<> float fmha_fwd_<trait_1>(int s) { return 1; }\n";
  CHECK_THAT(rewrite_error(input), Contains("fmha_fwd_d32_group.cpp:15") && Contains("specialised twice"));
}

TEST_CASE("truncated and unbalanced texts") {
  const RewriteInput whole = fwd_2024();
  // Cut anywhere inside of the function: never taken for the whole.
  const std::size_t begin = whole.source.find("{"), end = whole.source.rfind("}");
  for (std::size_t size = begin + 1; size <= end; ++size) {
    RewriteInput input = whole;
    input.source.resize(size);
    INFO(size);
    CHECK_FALSE(rewrite_dispatcher(input).ok());
  }
  CHECK_THAT(rewrite_error(with(whole, "fmha_fwd_<trait_>(s, a);", "fmha_fwd_<trait_(s, a);")),
             Contains("gen/fmha_fwd_api.cpp:10") && Contains("have no end"));
  CHECK_THAT(rewrite_error(with(whole, "fmha_fwd_<trait_>", "fmha_fwd_<>")),
             Contains("gen/fmha_fwd_api.cpp:10") && Contains("no template arguments"));
  CHECK_THAT(rewrite_error(with(whole, "(s, a);", "(s, a];")), Contains("gen/fmha_fwd_api.cpp:10"));
  RewriteInput cut = whole;
  cut.blobs[0].text.resize(cut.blobs[0].text.size() - 3);
  CHECK_THAT(rewrite_error(cut), Contains("fmha_fwd_d32_group.cpp") && Contains("not closed"));
}

TEST_CASE("texts made to be slow or deep are answered") {
  RewriteInput input = fwd_2024();
  std::string doubling = "using a0 = p<int, int>;\n";
  for (int i = 1; i < 200; ++i)
    doubling +=
        "using a" + std::to_string(i) + " = p<a" + std::to_string(i - 1) + ", a" + std::to_string(i - 1) + ">;\n";
  input.source = doubling + "float f() { using trait_ = fmha_fwd_traits_<a199>; return fmha_fwd_<trait_>(s, a); }\n";
  CHECK_THAT(rewrite_error(input), Contains("longer than"));
  input.source = "int x = ";
  for (int i = 0; i < 100000; ++i) input.source += "a<";
  input.source += "0;\n";
  CHECK(rewrite_dispatcher(input).ok());
  input.source = "void f() {";
  for (int i = 0; i < 50000; ++i) input.source += "if constexpr (true) ";
  input.source += "x(); }\n";
  CHECK(rewrite_dispatcher(input).ok());
}

TEST_CASE("a changed character gives an error or sites with a place and a blob") {
  const RewriteInput whole = fwd_2024();
  for (std::size_t at = 0; at < whole.source.size(); ++at) {
    for (const char c : {'<', '>', '(', '}', '"', '#', '\\', '/', '\0', '\xff'}) {
      RewriteInput input = whole;
      input.source[at] = c;
      const auto out = rewrite_dispatcher(input);
      if (!out.ok()) continue;
      for (const RewriteSite& site : out->sites) {
        CHECK(site.line > 0);
        CHECK(out->exports.contains(site.stem));
      }
    }
  }
}
