// Where the sites of a dispatcher lead, and what is written in their place.
#include <algorithm>
#include <catch2/catch.hpp>

#include "miniatures.h"

using Catch::Contains;
using namespace hearth::blobs;
using namespace hearth::blobs::test;

namespace {

RewrittenDispatcher rewritten(const RewriteInput& input) {
  auto out = rewrite_dispatcher(input);
  INFO(std::string(out.status().message()));
  REQUIRE(out.ok());
  return *std::move(out);
}

// "line alias stem leaf" of each site.
std::vector<std::string> sites(const RewriteInput& input) {
  std::vector<std::string> out;
  for (const RewriteSite& site : rewritten(input).sites)
    out.push_back(std::to_string(site.line) + " " + site.alias + " " + site.stem + " " + site.leaf);
  return out;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("fwd: each site leads to the blob of its type") {
  CHECK(sites(fwd_2024()) == Lines{"10 trait_ fmha_fwd_d32_batch fmha_fwd_", "13 trait_ fmha_fwd_d32_group fmha_fwd_"});
  CHECK(sites(fwd_2026()) == Lines{"10 trait_ fmha_fwd_d64_gfx942 fmha_fwd_", "15 trait_ fmha_fwd_d64_gfx9 fmha_fwd_",
                                   "26 trait_ fmha_fwd_d64_gfx942 fmha_fwd_", "31 trait_ fmha_fwd_d64_gfx9 fmha_fwd_"});
}

TEST_CASE("splitkv: a site leads to two blobs, discarded branches to none") {
  CHECK(sites(splitkv_2024()) == Lines{"17 traits_ fmha_fwd_splitkv_d64 fmha_fwd_splitkv_",
                                       "17 traits2_ fmha_fwd_splitkv_combine_d64 fmha_fwd_splitkv_"});
  CHECK(sites(splitkv_2026()) == Lines{"28 traits_ fmha_fwd_splitkv_d64_gfx942 fmha_fwd_splitkv_",
                                       "28 traits2_ fmha_fwd_splitkv_combine_d64_gfx942 fmha_fwd_splitkv_"});
}

TEST_CASE("a branch is only discarded when its condition is known") {
  // Of another type the branch is compiled, and its blob is missing.
  const auto out = rewrite_dispatcher(
      with(splitkv_2026(), "std::is_same_v<FmhaFwdFp8, FmhaFwdFp8>", "std::is_same_v<FmhaFwdFp16, FmhaFwdFp8>"));
  REQUIRE_FALSE(out.ok());
  CHECK_THAT(std::string(out.status().message()), Contains("splitkv_api.cpp:24") && Contains("traits2_"));
  for (const char* unknown : {"kSomething", "!std::is_same_v<FmhaFwdFp8, FmhaFwdFp8> || kSomething"})
    CHECK_FALSE(rewrite_dispatcher(with(splitkv_2026(), "std::is_same_v<FmhaFwdFp8, FmhaFwdFp8>", unknown)).ok());
  CHECK(rewrite_dispatcher(with(splitkv_2026(), "std::is_same_v<FmhaFwdFp8, FmhaFwdFp8>", "(2 > 1)")).ok());
}

TEST_CASE("appendkv and bwd") {
  CHECK(sites(appendkv_2024()) == Lines{"6 trait_ fmha_fwd_appendkv_d32 fmha_fwd_appendkv_"});
  CHECK(sites(appendkv_2026()) == Lines{"6 trait_ fmha_fwd_appendkv_d32_gfx9 fmha_fwd_appendkv_"});
  CHECK(sites(bwd_2024()) == Lines{"20 dot_do_o_trait_ fmha_bwd_dot_do_o_d32 fmha_bwd_",
                                   "20 dq_dk_dv_trait_ fmha_bwd_d32 fmha_bwd_",
                                   "20 convert_dq_trait_ fmha_bwd_convert_dq_d32 fmha_bwd_"});
  CHECK(sites(bwd_2026()) ==
        Lines{"7 dot_do_o_trait_ fmha_bwd_dot_do_o_d32_gfx942 init", "7 dq_dk_dv_trait_ fmha_bwd_d32_det_gfx942 init",
              "7 std::conditional_t<true,convert_dq_trait_,void> fmha_bwd_convert_dq_d32_gfx942 init",
              "14 dot_do_o_trait_ fmha_bwd_dot_do_o_d32_gfx942 fmha_bwd_",
              "14 dq_dk_dv_trait_ fmha_bwd_d32_gfx942 fmha_bwd_",
              "16 dq_dk_dv_trait_ fmha_bwd_d32_gfx942 fmha_bwd_dq_dk_dv_needs_zero_dq_acc_"});
}

TEST_CASE("exports are the mangled prefixes of each blob's specialisations, in order") {
  CHECK(rewritten(fwd_2024()).exports == std::map<std::string, Lines>{{"fmha_fwd_d32_batch", {"_Z9fmha_fwd_I"}},
                                                                      {"fmha_fwd_d32_group", {"_Z9fmha_fwd_I"}}});
  const auto bwd = rewritten(bwd_2026()).exports;
  CHECK(bwd.at("fmha_bwd_dot_do_o_d32_gfx942") ==
        Lines{"_Z18fmha_bwd_dot_do_o_I", "_Z26fmha_bwd_dot_do_o_oneshot_I", "_Z27fmha_bwd_dot_do_o_get_name_I"});
  CHECK(bwd.at("fmha_bwd_d32_gfx942").size() == 4);
  CHECK(bwd.at("fmha_bwd_d32_gfx942")[1] == "_Z26fmha_bwd_dq_dk_dv_oneshot_I");
}

TEST_CASE("functions in namespaces are exported under them, hidden ones are not") {
  RewriteInput input = fwd_2024();
  input.blobs.push_back({"extra", R"text(
                           using trait_0 = fmha_fwd_traits_<1>;
                           namespace a::b {
                           template <>
                           int f_<trait_0>() {
                             return 1;
                           }
                           namespace {
                           template <>
                           int g_<trait_0>() {
                             return 1;
                           }
                           }  // namespace
                           }  // namespace a::b
                           template <>
                           static int h_<trait_0>() {
                             return 1;
                           }
                           template <>
                           inline int i_<trait_0>() {
                             return 1;
                           }
                           template <>
                           int j_<trait_0>();
                           template <>
                           struct k_<trait_0> {
                             int x;
                           };
                           template <>
                           std::vector<int> a::l_<trait_0>(std::pair<int, int> x) noexcept {
                             return {};
                           }
                           extern "C++" {
                           template <>
                           int m_<trait_0>() {
                             return 1;
                           }
                           }
                         )text"});
  CHECK(rewritten(input).exports.at("extra") == Lines{"_ZN1a1b2f_I", "_ZN1a2l_I", "_Z2m_I"});
}

TEST_CASE("a call is made through its site with the function's own type; lines stay where they are") {
  const RewriteInput input = fwd_2024();
  const std::string out = rewritten(input).source;
  CHECK_THAT(
      out,
      Contains(
          "return (*reinterpret_cast<decltype(&fmha_fwd_<trait_>)>(::hearth_blob_site<trait_>::fmha_fwd_.get()))(s, "
          "a);"));
  CHECK_THAT(out, Contains("static inline ::hearth::blob::Site fmha_fwd_{&hearth_blob_library, 0, 0};") &&
                      Contains("static inline ::hearth::blob::Site fmha_fwd_{&hearth_blob_library, 1, 0};"));
  // After the last #line, the source goes on line by line.
  const std::string mark = "#line 4 \"gen/fmha_fwd_api.cpp\"\n";
  REQUIRE(out.find(mark) != std::string::npos);
  const std::string rest = out.substr(out.find(mark) + mark.size());
  const auto breaks = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  CHECK(breaks(rest) == breaks(input.source) - 3);
}

TEST_CASE("the order in which blobs are given makes no difference") {
  RewriteInput input = bwd_2026();
  const std::string first = rewritten(input).source;
  std::reverse(input.blobs.begin(), input.blobs.end());
  CHECK(rewritten(input).source == first);
}

TEST_CASE("helpers that are not in the dispatcher find definitions of what they call") {
  CHECK_THAT(rewritten(bwd_2026()).source,
             Contains("fmha_bwd_convert_dq_oneshot_(const ck_tile::stream_config& hearth_0, fmha_bwd_args hearth_1)"));
}

TEST_CASE("a dispatcher without sites stays as it is") {
  RewriteInput input = fwd_2024();
  input.source = "#include \"fmha_fwd.hpp\"\nfloat fmha_fwd() { return a < b && c > (d) ? x<int>(1) : -1; }\n";
  const RewrittenDispatcher out = rewritten(input);
  CHECK(out.sites.empty());
  CHECK(out.source == "#line 1 \"gen/fmha_fwd_api.cpp\"\n" + input.source);
}

TEST_CASE("traits that the dispatcher defines for itself are none of ours") {
  CHECK(rewrite_dispatcher(
            with(bwd_2024(), "template <>\nfloat fmha_bwd<2>",
                 "template <int D> struct fmha_bwd_v3_traits_ {};\n"
                 "inline float v3(fmha_bwd_args a) { using t_ = fmha_bwd_v3_traits_<3>; return fmha_bwd_v3_<t_>(a); }\n"
                 "template <>\nfloat fmha_bwd<2>"))
            .ok());
}

TEST_CASE("aliases of aliases, conditional compilation and typedef-like spellings lead to the same type") {
  CHECK(sites(with(fwd_2024(), "using trait_ = fmha_fwd_traits_<32, FmhaFwdFp16, false, 128, 32/2,",
                   "using dtype_ = ::FmhaFwdFp16; using base_ = dtype_;\n"
                   "#if defined(X)\nusing other_ = int;\n#else\nusing other_ = int;\n#endif\n"
                   "using trait_ = fmha_fwd_traits_<(16 + 16), base_, !true, 0x80, 1 << 4,"))
            .size() == 2);
}
