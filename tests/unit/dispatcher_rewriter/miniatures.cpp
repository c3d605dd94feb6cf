#include "miniatures.h"

#include <stdexcept>

namespace hearth::blobs::test {
namespace {

std::string fwd_blob(const std::string& alias, const std::string& type, const std::string& arch) {
  return "// generated\n#include \"fmha_fwd.hpp\"\nusing fmha_dtype_0 = FmhaFwdFp16;\n"
         "using fmha_mask_0 = ck_tile::SimplifiedGenericAttentionMask<false>;\n"
         "using fmha_shape_0 = ck_tile::TileFmhaShape<ck_tile::sequence<128, 64>, ck_tile::sequence<4, 1, 1>>;\n"
         "using " +
         alias + " = " + type + ";\n#include <iostream>\ntemplate<>\nfloat fmha_fwd_<" + alias + arch +
         ">(const ck_tile::stream_config& s, fmha_fwd_args a)\n{\n    using k_ = fmha_kernel_0;\n    return k_::run(s, "
         "a);\n}\n";
}

// A function of three exports, after one_shot, get_name and the plain form of bwd.
std::string bwd_blob(const std::string& leaf, const std::string& type, const std::string& arch) {
  std::string text = "#include \"fmha_bwd.hpp\"\nusing mask = ck_tile::NoMask;\nusing the_trait_0 = " + type + ";\n";
  text += "template <>\nfloat " + leaf + "<the_trait_0" + arch +
          ">(const ck_tile::stream_config& s, fmha_bwd_args a)\n{ return 1; }\n";
  text += "template <>\nvoid " + leaf + "oneshot_<the_trait_0" + arch +
          ">(const ck_tile::stream_config& s,\n   fmha_bwd_args a)\n{ (void)s; }\n";
  text += "template <>\nstd::string " + leaf + "get_name_<the_trait_0" + arch + ">()\n{ return \"x\"; }\n";
  return text;
}

std::string splitkv_blob(const std::string& leaf, const std::string& type, const std::string& arch) {
  return "#include \"fmha_fwd.hpp\"\nusing fmha_mask_0 = FmhaMasks::NoMask;\nnamespace {\n"
         "template <bool kHasUnevenSplits>\nstruct instance {\n  using fmha_mask_0 = int;\n  static void run() "
         "{}\n};\n}\n"
         "using trait_0 = " +
         type + ";\ntemplate<>\nvoid " + leaf + "oneshot_<trait_0" + arch +
         ">(const ck_tile::stream_config& s, fmha_fwd_splitkv_args a)\n{ instance<true>::run(); }\n"
         "template<>\nstd::string " +
         leaf + "get_name_<trait_0" + arch + ">()\n{ return \"\"; }\n";
}

std::string appendkv_blob(const std::string& alias, const std::string& type, const std::string& arch) {
  return "using " + alias + " = " + type + ";\ntemplate<>\nfloat fmha_fwd_appendkv_<" + alias + arch +
         ">(const ck_tile::stream_config& s, fmha_fwd_appendkv_args a) { return 0; }\n";
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("the miniature has no \"" + from + "\"");
  return std::string(text).replace(at, from.size(), to);
}

}  // namespace

RewriteInput fwd_2024() {
  return {"gen/fmha_fwd_api.cpp",
          R"text(// generated
#include "fmha_fwd.hpp"

float fmha_fwd(fmha_fwd_traits t, fmha_fwd_args a, const ck_tile::stream_config& s) {
  float r = -1;
  if (t.data_type.compare("fp16") == 0) {
    if (t.hdim_q <= 32 && t.hdim_v <= 32) {
      if ((t.is_group_mode == false) && (true /*fall < back*/)) {
        using trait_ = fmha_fwd_traits_<32, FmhaFwdFp16, false, 128, 32/2, ck_tile::SimplifiedGenericAttentionMask<false>, true>;
        return fmha_fwd_<trait_>(s, a);
      } else if ((t.is_group_mode == true) && (a.seqlen_q < 3 && a.seqlen_k > (2))) {
        using trait_ = fmha_fwd_traits_<32, FmhaFwdFp16, true, 128,16, ck_tile::SimplifiedGenericAttentionMask<false>, true>;
        return fmha_fwd_<
            trait_ /* here */>(s, a);
      }
    }
  }
  return r;
}
)text",
          {{"fmha_fwd_d32_group",
            fwd_blob("trait_0", "fmha_fwd_traits_<32, fmha_dtype_0, true, 128,16, fmha_mask_0, true>", "")},
           {"fmha_fwd_d32_batch",
            fwd_blob("trait_0", "fmha_fwd_traits_<32, FmhaFwdFp16, false,128, 16,\n    fmha_mask_0, true>", "")}}};
}

RewriteInput fwd_2026() {
  const std::string function = R"text(
if (device_name.compare(0, 6, "gfx942") == 0) {
  if ((t.is_group_mode == false)) {
    using trait_ = fmha_fwd_traits_<64, FmhaFwdFp16, false, (8 > 0), ck_tile::SimplifiedGenericAttentionMask<false>>;
    r = fmha_fwd_<trait_, ck_tile::gfx942_t>(s, a);
  }
} else if (device_name.compare(0, 4, "gfx9") == 0) {
  if ((t.is_group_mode == false)) {
    using trait_ = fmha_fwd_traits_<64, FmhaFwdFp16, false, true, ck_tile::SimplifiedGenericAttentionMask<false>>;
    r = fmha_fwd_<trait_, ck_tile::gfx9_t>(s, a);
  }
}
)text";
  const std::string type = "fmha_fwd_traits_<64, fmha_dtype_0, false, true, fmha_mask_0>";
  return {"fmha_fwd_api.cpp",
          "#include <cstdio>\n#include \"fmha_fwd.hpp\"\nnamespace {\nfloat fmha_fwd_v2(fmha_fwd_traits t, "
          "fmha_fwd_args a, const "
          "ck_tile::stream_config& s) {\n  float r = -1;\n" +
              function + "  return r;\n}\n}\nvoid fmha_fwd_all() {\n" + function + "}\n",
          {{"fmha_fwd_d64_gfx942", fwd_blob("trait", type, ", ck_tile::gfx942_t")},
           {"fmha_fwd_d64_gfx9", fwd_blob("trait", type, ", ck_tile::gfx9_t")}}};
}

RewriteInput splitkv_2024() {
  return {"fmha_fwd_splitkv_api.cpp",
          R"text(#include <iostream>
#include "fmha_fwd.hpp"
template <typename fmha_fwd_splitkv_traits_, typename fmha_fwd_splitkv_combine_traits_>
float fmha_fwd_splitkv_(const ck_tile::stream_config& s, fmha_fwd_splitkv_args a) {
  if (s.log_level_ > 0) std::cout << ", " << fmha_fwd_splitkv_get_name_<fmha_fwd_splitkv_traits_>() << std::flush;
  return ck_tile::launch_kernel(
      s,
      [=](const ck_tile::stream_config& s_) { fmha_fwd_splitkv_oneshot_<fmha_fwd_splitkv_traits_>(s_, a); },
      [=](const ck_tile::stream_config& s_) {
        fmha_fwd_splitkv_combine_oneshot_<fmha_fwd_splitkv_combine_traits_>(s_, a);
      });
}
float fmha_fwd_splitkv(fmha_fwd_splitkv_traits t, fmha_fwd_splitkv_args a, const ck_tile::stream_config& s) {
  if ((t.is_group_mode == false)) {
    using traits_ = fmha_fwd_splitkv_traits_<64, FmhaFwdFp16, FmhaMasks::NoMask>;
    using traits2_ = fmha_fwd_splitkv_combine_traits_<64, FmhaFwdFp16, 64/2>;
    return fmha_fwd_splitkv_<traits_, traits2_>(s, a);
  }
  return -1;
}
)text",
          {{"fmha_fwd_splitkv_d64",
            splitkv_blob("fmha_fwd_splitkv_", "fmha_fwd_splitkv_traits_<64, FmhaFwdFp16, fmha_mask_0>", "")},
           {"fmha_fwd_splitkv_combine_d64",
            splitkv_blob("fmha_fwd_splitkv_combine_", "fmha_fwd_splitkv_combine_traits_<64, FmhaFwdFp16, 32>", "")}}};
}

RewriteInput splitkv_2026() {
  return {"fmha_fwd_splitkv_api.cpp",
          R"text(#include <iostream>
#include "fmha_fwd.hpp"
template <typename fmha_fwd_splitkv_traits_, typename fmha_fwd_splitkv_combine_traits_, typename Arch>
float fmha_fwd_splitkv_(const ck_tile::stream_config& s, fmha_fwd_splitkv_args a) {
  return ck_tile::launch_kernel(
      s,
      [=](const ck_tile::stream_config& s_) {
        fmha_fwd_splitkv_oneshot_<fmha_fwd_splitkv_traits_, Arch>(s_, a);
      },
      [=](const ck_tile::stream_config& s_) {
        fmha_fwd_splitkv_combine_oneshot_<fmha_fwd_splitkv_combine_traits_, Arch>(s_, a);
      });
}
float fmha_fwd_splitkv(fmha_fwd_splitkv_traits t, fmha_fwd_splitkv_args a, const ck_tile::stream_config& s) {
  if ((t.is_group_mode == false)) {
    using traits_ = fmha_fwd_splitkv_traits_<64, FmhaFwdFp8, FmhaMasks::NoMask>;
    using OaccDataType = typename FmhaFwdTypeConfig<FmhaFwdFp8>::OaccDataType;
    static_assert(64 % ck_tile::Sizes<OaccDataType, 32>::kM0 == 0);
    if (t.has_lse) {
      if constexpr (std::is_same_v<FmhaFwdFp8, FmhaFwdFp8>) {
        return -1;
      } else {
        using traits2_ = fmha_fwd_splitkv_combine_traits_<64, FmhaFwdFp8, true>;
        return fmha_fwd_splitkv_<traits_, traits2_, ck_tile::gfx942_t>(s, a);
      }
    } else {
      using traits2_ = fmha_fwd_splitkv_combine_traits_<64, FmhaFwdFp8, false>;
      return fmha_fwd_splitkv_<traits_, traits2_, ck_tile::gfx942_t>(s, a);
    }
  }
  return -1;
}
)text",
          {{"fmha_fwd_splitkv_d64_gfx942",
            splitkv_blob("fmha_fwd_splitkv_", "fmha_fwd_splitkv_traits_<64, FmhaFwdFp8, fmha_mask_0>",
                         ", ck_tile::gfx942_t")},
           {"fmha_fwd_splitkv_combine_d64_gfx942",
            splitkv_blob("fmha_fwd_splitkv_combine_", "fmha_fwd_splitkv_combine_traits_<64, FmhaFwdFp8, false>",
                         ", ck_tile::gfx942_t")}}};
}

RewriteInput appendkv_2024() {
  return {"fmha_fwd_appendkv_api.cpp",
          R"text(#include "fmha_fwd.hpp"
float fmha_fwd_appendkv(fmha_fwd_appendkv_traits t, fmha_fwd_appendkv_args a,
                        const ck_tile::stream_config& s) {
  if ((t.rope_type == 0)) {
    using trait_ = fmha_fwd_appendkv_traits_<32, FmhaFwdFp16, 64, ck_tile::RotaryEmbeddingEnum::NONE>;
    return fmha_fwd_appendkv_<trait_>(s, a);
  }
  return -1;
}
)text",
          {{"fmha_fwd_appendkv_d32",
            appendkv_blob("trait_0",
                          "fmha_fwd_appendkv_traits_<32, FmhaFwdFp16, 64, ck_tile::RotaryEmbeddingEnum::NONE>", "")}}};
}

RewriteInput appendkv_2026() {
  RewriteInput input = with(appendkv_2024(), "<trait_>(s", "<trait_, ck_tile::gfx9_t>(s");
  input.blobs = {
      {"fmha_fwd_appendkv_d32_gfx9",
       appendkv_blob("trait", "fmha_fwd_appendkv_traits_<32, FmhaFwdFp16, 64, ck_tile::RotaryEmbeddingEnum::NONE>",
                     ", ck_tile::gfx9_t")}};
  return input;
}

RewriteInput bwd_2024() {
  return {"fmha_bwd_api.cpp",
          R"text(#include <iostream>
#include "fmha_bwd.hpp"
template <typename dot_do_o_trait_, typename dq_dk_dv_trait_, typename convert_dq_trait_>
float fmha_bwd_(const ck_tile::stream_config& s, fmha_bwd_args a) {
  if (s.log_level_ > 0)
    std::cout << ", " << fmha_bwd_dot_do_o_get_name_<dot_do_o_trait_>() << "@"
              << fmha_bwd_dq_dk_dv_get_name_<dq_dk_dv_trait_>();
  return ck_tile::launch_kernel(
      s, [=](const ck_tile::stream_config& s_) { fmha_bwd_dot_do_o_oneshot_<dot_do_o_trait_>(s_, a); },
      [=](const ck_tile::stream_config& s_) { fmha_bwd_dq_dk_dv_oneshot_<dq_dk_dv_trait_>(s_, a); },
      [=](const ck_tile::stream_config& s_) { fmha_bwd_convert_dq_oneshot_<convert_dq_trait_>(s_, a); });
}
template <>
float fmha_bwd<2>(fmha_bwd_traits t, fmha_bwd_args a, const ck_tile::stream_config& s) {
  float r = -1;
  if ((t.is_group_mode == false)) {
    using dot_do_o_trait_ = fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, false>;
    using dq_dk_dv_trait_ = fmha_bwd_dq_dk_dv_traits_<32, FmhaBwdFp16, ck_tile::NoMask>;
    using convert_dq_trait_ = fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, true>;
    r = fmha_bwd_<dot_do_o_trait_, dq_dk_dv_trait_, convert_dq_trait_>(s, a);
    return r;
  }
  return r;
}
)text",
          {{"fmha_bwd_dot_do_o_d32",
            bwd_blob("fmha_bwd_dot_do_o_", "fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, false>", "")},
           {"fmha_bwd_d32", bwd_blob("fmha_bwd_dq_dk_dv_", "fmha_bwd_dq_dk_dv_traits_<32, FmhaBwdFp16, mask>", "")},
           {"fmha_bwd_convert_dq_d32",
            bwd_blob("fmha_bwd_convert_dq_", "fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, true>", "")}}};
}

RewriteInput bwd_2026() {
  const std::string arch = ", ck_tile::gfx942_t";
  RewriteInput input{"fmha_bwd_api.cpp",
                     R"text(#include "fmha_bwd.hpp"
fmha_bwd_launcher::fmha_bwd_launcher(const fmha_bwd_traits& t) {
  if ((t.is_deterministic == true)) {
    using dot_do_o_trait_ = fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, (8 > 0)>;
    using dq_dk_dv_trait_ = fmha_bwd_dq_dk_dv_traits_<32, FmhaBwdFp16, ck_tile::NoMask, true>;
    using convert_dq_trait_ = fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, (0 > 0)>;
    this->init<dot_do_o_trait_, dq_dk_dv_trait_, std::conditional_t<true, convert_dq_trait_, void>, ck_tile::gfx942_t>(t);
    return;
  } else {
    using dot_do_o_trait_ = fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, (8 > 0)>;
    using dq_dk_dv_trait_ = fmha_bwd_dq_dk_dv_traits_<32, FmhaBwdFp16, ck_tile::NoMask, false>;
    using convert_dq_trait_ = fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, (1 > 0)>;
    run = [](fmha_bwd_args a, const ck_tile::stream_config& s) {
      return fmha_bwd_<dot_do_o_trait_, dq_dk_dv_trait_, std::conditional_t<false, convert_dq_trait_, void>, ck_tile::gfx942_t>(s, a);
    };
    needs_zero_ = fmha_bwd_dq_dk_dv_needs_zero_dq_acc_<dq_dk_dv_trait_, ck_tile::gfx942_t>();
  }
}
)text",
                     {{"fmha_bwd_dot_do_o_d32_gfx942",
                       bwd_blob("fmha_bwd_dot_do_o_", "fmha_bwd_dot_do_o_traits_<32, FmhaBwdFp16, true>", arch)},
                      {"fmha_bwd_d32_det_gfx942",
                       bwd_blob("fmha_bwd_dq_dk_dv_", "fmha_bwd_dq_dk_dv_traits_<32, FmhaBwdFp16, mask, true>", arch)},
                      {"fmha_bwd_d32_gfx942",
                       bwd_blob("fmha_bwd_dq_dk_dv_", "fmha_bwd_dq_dk_dv_traits_<32, FmhaBwdFp16, mask, false>", arch)},
                      {"fmha_bwd_convert_dq_d32_gfx942",
                       bwd_blob("fmha_bwd_convert_dq_", "fmha_bwd_convert_dq_traits_<32, FmhaBwdFp16, false>", arch)}}};
  for (BlobSource& blob : input.blobs)
    if (blob.stem.starts_with("fmha_bwd_d32"))
      blob.text +=
          "template <>\nbool fmha_bwd_dq_dk_dv_needs_zero_dq_acc_<the_trait_0" + arch + ">() { return true; }\n";
  return input;
}

RewriteInput with(RewriteInput input, const std::string& from, const std::string& to) {
  input.source = replaced(input.source, from, to);
  return input;
}

RewriteInput with_blob(RewriteInput input, const std::string& stem, const std::string& from, const std::string& to) {
  for (BlobSource& blob : input.blobs)
    if (blob.stem == stem) blob.text = replaced(blob.text, from, to);
  return input;
}

}  // namespace hearth::blobs::test
