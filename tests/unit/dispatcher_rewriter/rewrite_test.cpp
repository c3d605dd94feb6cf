// Where the sites of a dispatcher lead, and what is written in their place.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "blobs/tools/list_digest.h"
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

// The same dispatcher and blobs under the name of another API.
RewriteInput renamed(RewriteInput input, const std::string& from, const std::string& to) {
  const auto rename = [&](std::string* text) {
    for (std::size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size()))
      text->replace(at, from.size(), to);
  };
  rename(&input.path);
  rename(&input.source);
  for (BlobSource& blob : input.blobs) {
    rename(&blob.stem);
    rename(&blob.text);
  }
  return input;
}

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

TEST_CASE("the rules do not depend on the name of the API") {
  for (const std::string api : {"fmha_batch_prefill", "fmha_fwd_pagedkv", "fmha_fwd_v3"}) {
    const RewrittenDispatcher out = rewritten(renamed(fwd_2026(), "fmha_fwd", api));
    INFO(api);
    REQUIRE(out.sites.size() == 4);
    CHECK(out.sites[0].stem == api + "_d64_gfx942");
    CHECK(out.sites[1].stem == api + "_d64_gfx9");
    CHECK(out.exports.at(api + "_d64_gfx9") == Lines{"_Z" + std::to_string(api.size() + 1) + api + "_I"});
  }
  CHECK(sites(renamed(splitkv_2026(), "splitkv", "batch_prefill")).size() == 2);
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
  CHECK_THAT(out,
             Contains("return (*reinterpret_cast<decltype(&fmha_fwd_<trait_>)>(::hearth_sites[::hearth_blob<0, trait_>"
                      "::row][::hearth_blob<0, trait_>::export_fmha_fwd_].get()))(s, a);"));
  CHECK_THAT(out, Contains("{{&hearth_dispatcher, 0, 0}},  // fmha_fwd_d32_batch") &&
                      Contains("{{&hearth_dispatcher, 1, 0}},  // fmha_fwd_d32_group"));
  // What the numbers mean: the list that the manifest has, too.
  CHECK_THAT(
      out, Contains("hearth_dispatcher{&hearth_blob_library, " + list_digest_literal(rewritten(input).exports) + "};"));
  // After the last #line, the source goes on line by line.
  const std::string mark = "#line 4 \"gen/fmha_fwd_api.cpp\"\n";
  REQUIRE(out.find(mark) != std::string::npos);
  const std::string rest = out.substr(out.find(mark) + mark.size());
  const auto breaks = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  CHECK(breaks(rest) == breaks(input.source) - 3);
}

// fwd_2024() with a function of another family, and its own blob, for the same type; and a call of each.
RewriteInput with_prefill() {
  RewriteInput input = with(fwd_2024(), "return fmha_fwd_<trait_>(s, a);",
                            "return a.paged ? fmha_batch_prefill_<trait_>(s, a) : fmha_fwd_<trait_>(s, a);");
  for (const BlobSource& blob : fwd_2024().blobs) {
    input.blobs.push_back(blob);
    input.blobs.back().stem = "fmha_batch_prefill" + blob.stem.substr(8);
    input = with_blob(input, input.blobs.back().stem, "float fmha_fwd_<", "float fmha_batch_prefill_<");
  }
  return input;
}

TEST_CASE("blobs of two functions for one type live side by side") {
  const RewrittenDispatcher out = rewritten(with_prefill());
  std::set<std::pair<std::string, std::string>> first;  // leaf and blob, of the line with both
  for (const RewriteSite& site : out.sites)
    if (site.line == out.sites[0].line) first.emplace(site.leaf, site.stem);
  CHECK(first == std::set<std::pair<std::string, std::string>>{
                     {"fmha_fwd_", "fmha_fwd_d32_batch"}, {"fmha_batch_prefill_", "fmha_batch_prefill_d32_batch"}});
}

// bwd_2024() with `count` calls of its helper.
RewriteInput with_calls(int count) {
  const std::string call = "    r = fmha_bwd_<dot_do_o_trait_, dq_dk_dv_trait_, convert_dq_trait_>(s, a);\n";
  std::string calls;
  for (int i = 0; i < count; ++i) calls += call;
  return with(bwd_2024(), call, calls);
}

std::size_t occurrences(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST_CASE("a helper whose types only name blobs is instantiated once for all calls") {
  const std::string out = rewritten(with_calls(3)).source;
  CHECK_THAT(
      out,
      Contains("float hearth_fmha_bwd_(const ::hearth::blob::SiteGroup* hearth_group_of_call, "
               "const ck_tile::stream_config& s, fmha_bwd_args a)") &&
          Contains("hearth_group_of_call->site(1, ::hearth_blob<3, dq_dk_dv_trait_>::"
                   "export_fmha_bwd_dq_dk_dv_oneshot_).get()))(s_, a)") &&
          Contains("(::hearth_group<::hearth_blob<6, dot_do_o_trait_>::row, ::hearth_blob<3, dq_dk_dv_trait_>::row, "
                   "::hearth_blob<0, convert_dq_trait_>::row>, s, a);"));
  CHECK(occurrences(out,
                    "::hearth_call<&hearth_fmha_bwd_<fmha_bwd_dot_do_o_traits_<32,FmhaBwdFp16,false>, "
                    "fmha_bwd_dq_dk_dv_traits_<32,FmhaBwdFp16,ck_tile::NoMask>, "
                    "fmha_bwd_convert_dq_traits_<32,FmhaBwdFp16,true>>>(") == 3);
}

TEST_CASE("a helper that could tell types apart is left as it is") {
  struct Row {
    const char *from, *to;
  };
  const Row rows[] = {
      {"if (s.log_level_ > 0)", "if (s.log_level_ > dq_dk_dv_trait_::kLevel)"},  // another use of a type
      {"if (s.log_level_ > 0)", "if (std::is_same_v<dq_dk_dv_trait_, int>)"},    // a question about one
      {"s, [=](const ck_tile::stream_config& s_) { fmha_bwd_dot",
       "s, [a](const ck_tile::stream_config& s_) { fmha_bwd_dot"},
      {"typename convert_dq_trait_>", "typename convert_dq_trait_, int kDepth = 1>"},  // parameters that are no types
      {"float r = -1;", "float r = -1; auto* f = &fmha_bwd_<A, B, C>;"},               // its address
      {"convert_dq_trait_>(s, a);\n    return", "convert_dq_trait_>({0}, a);\n    return"},  // an argument in braces
      {"fmha_bwd_convert_dq_oneshot_<convert_dq_trait_>(s_, a)",
       "fmha_bwd_convert_dq_oneshot_<wrapped<convert_dq_trait_>>(s_, a)"},
  };
  for (const Row& row : rows) {
    INFO(row.to);
    CHECK_THAT(rewritten(with(bwd_2024(), row.from, row.to)).source, !Contains("hearth_fmha_bwd_"));
  }
  // Two blobs whose functions differ, and two with functions in another order.
  RewriteInput second = with(bwd_2024(), "  return r;\n}\n",
                             "  using other_ = fmha_bwd_dq_dk_dv_traits_<64, FmhaBwdFp16, ck_tile::NoMask>;\n"
                             "  using dot_ = fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, false>;\n"
                             "  using convert_ = fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, true>;\n"
                             "  r = fmha_bwd_<dot_, other_, convert_>(s, a);\n  return r;\n}\n");
  BlobSource other = second.blobs[1];
  other.stem = "fmha_bwd_d64";
  second.blobs.push_back(other);
  second = with_blob(second, "fmha_bwd_d64", "_traits_<32,", "_traits_<64,");
  CHECK_THAT(rewritten(second).source, Contains("hearth_fmha_bwd_"));
  CHECK_THAT(
      rewritten(with_blob(second, "fmha_bwd_d64", "fmha_bwd_args a)\n{ (void)s; }", "fmha_bwd_args& a)\n{ (void)s; }"))
          .source,
      !Contains("hearth_fmha_bwd_"));
}

TEST_CASE("a call of a header's helper asks for all of its blobs at once") {
  const std::string out = rewritten(bwd_2026()).source;
  CHECK_THAT(out,
             Contains("return (::hearth_group<::hearth_blob<7, dot_do_o_trait_, ck_tile::gfx942_t>::row, "
                      "::hearth_blob<3, dq_dk_dv_trait_, ck_tile::gfx942_t>::row>.want(), "
                      "fmha_bwd_<dot_do_o_trait_, dq_dk_dv_trait_, std::conditional_t<false, convert_dq_trait_, void>, "
                      "ck_tile::gfx942_t>(s, a));"));
  // this->init<…>(t) only makes a launcher, and a group cannot stand before a member's name.
  CHECK_THAT(out, Contains("this->init<dot_do_o_trait_, dq_dk_dv_trait_,"));
}

TEST_CASE("a function of very many sites is compiled without optimisation, and only that one") {
  const std::string few = rewritten(with_calls(600)).source, many = rewritten(with_calls(700)).source;
  CHECK_THAT(few, !Contains("clang optimize"));  // 1,800 sites
  const std::size_t off =
      many.find("#pragma clang optimize off\n#endif\n#line 13 \"fmha_bwd_api.cpp\"\ntemplate <>\nfloat fmha_bwd<2>");
  REQUIRE(off != std::string::npos);
  CHECK(many.find("#pragma clang optimize on", off) != std::string::npos);
  CHECK(occurrences(many, "clang optimize") == 2);
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
