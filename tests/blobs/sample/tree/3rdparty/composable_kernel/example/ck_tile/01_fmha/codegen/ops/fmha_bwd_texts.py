"""The C++ of fmha_bwd.py: what each step's blob includes and says, and the dispatchers of both generations."""

INCLUDES = {"bwd": '#include "ck_tile/ops/fmha/kernel/fmha_bwd_kernel.hpp"\n#include "fmha_bwd.hpp"\n\n'
                   '#include <iostream>\n\n',
            "dot": '#include "ck_tile/ops/fmha/kernel/fmha_bwd_helper_kernels.hpp"\n#include "fmha_bwd.hpp"\n\n'
                   '#include <iostream>\n\n'}
INCLUDES["convert"] = INCLUDES["dot"]

BODY = {"bwd": """using fmha_dtype_0 = {dtype};

using fmha_block_tile_0 = ck_tile::
    sequence<{tile}>;
using fmha_block_warps0_0 = ck_tile::sequence<1, 4, 1>;
using fmha_warp_tile0_0   = ck_tile::sequence<16, 16, 32>;
using fmha_bwd_shape_0    = ck_tile::TileFmhaBwdShape<fmha_block_tile_0, fmha_block_warps0_0, fmha_warp_tile0_0>;
using fmha_bwd_trait_0    = ck_tile::TileFmhaBwdTraits<{bias}, {dbias}, 1>;
using fmha_mask_0         = {mask};
using fmha_dropout_0      = {dropout};

using fmha_bwd_pipeline_problem_0 =
    ck_tile::BlockFmhaBwdPipelineProblem<FmhaBwdTypeConfig<fmha_dtype_0>, fmha_bwd_shape_0, {mode}, {deterministic},
                                         fmha_mask_0, fmha_dropout_0, fmha_bwd_trait_0>;
using fmha_bwd_pipeline_0 = {pipeline}<fmha_bwd_pipeline_problem_0>;

using fmha_bwd_dk_epilogue_0 = ck_tile::Default2DEpilogue<
    ck_tile::Default2DEpilogueProblem<typename FmhaBwdTypeConfig<{dtype}>::AccDataType,
                                      typename FmhaBwdTypeConfig<{dtype}>::KGradDataType, {skpad}, {dpad}>>;
using fmha_bwd_dv_epilogue_0 = ck_tile::Default2DEpilogue<
    ck_tile::Default2DEpilogueProblem<typename FmhaBwdTypeConfig<{dtype}>::AccDataType,
                                      typename FmhaBwdTypeConfig<{dtype}>::VGradDataType, {skpad}, {dvpad}>>;

using fmha_bwd_dq_dk_dv_kernel_0 =
    ck_tile::FmhaBwdDQDKDVKernel<fmha_bwd_pipeline_0, fmha_bwd_dk_epilogue_0, fmha_bwd_dv_epilogue_0>;

using dq_dk_dv_trait_0 = {alias};
""", "dot": """using fmha_dtype_0 = {dtype};

using fmha_bwd_dot_do_o_kernel_0 =
    ck_tile::FmhaBwdOGradDotOKernel<FmhaBwdTypeConfig<fmha_dtype_0>, /* BlockSize = */ 64, {hdim}, {mode}>;

using dot_do_o_trait_0 =
    {alias};
""", "convert": """using fmha_dtype_0 = {dtype};

using fmha_bwd_convert_dq_kernel_0 =
    ck_tile::FmhaBwdConvertQGradKernel<FmhaBwdTypeConfig<fmha_dtype_0>, /* BlockSize = */ 256, {rows}, {keys}, {hdim},
                                       {mode}, {deterministic}>;

using convert_dq_trait_0 = {alias};
"""}

EXPORTS = """
template <>
float {family}_<{trait}{arch_arg}>(const ck_tile::stream_config& s, fmha_bwd_args a)
{{
    using k_ = {kernel};
    if(s.log_level_ > 0)
        std::cout << ", " << k_::GetName() << std::flush;
    auto [kargs, grids]                    = {family}_create_kargs_and_grids<k_>(a);
    constexpr dim3 blocks                  = k_::BlockSize();
    constexpr ck_tile::index_t kBlockPerCu = k_::kBlockPerCu;
    return ck_tile::launch_kernel(s, {make_kernel}(k_{{}}, grids, blocks, 0, kargs));
}}

template <>
void {family}_oneshot_<{trait}{arch_arg}>(const ck_tile::stream_config& s, fmha_bwd_args a)
{{
    using k_                               = {kernel};
    auto [kargs, grids]                    = {family}_create_kargs_and_grids<k_>(a);
    constexpr dim3 blocks                  = k_::BlockSize();
    constexpr ck_tile::index_t kBlockPerCu = k_::kBlockPerCu;
    {make_kernel}(k_{{}}, grids, blocks, 0, kargs)(ck_tile::stream_config{{s.stream_id_}});
}}

template <>
std::string {family}_get_name_<{trait}{arch_arg}>()
{{
    using k_ = {kernel};
    return k_::GetName();
}}
"""

CALL = """({check}) {{
                using dot_do_o_trait_ = {dot};
                using dq_dk_dv_trait_ = {bwd};
                using convert_dq_trait_ = {convert_alias};
                r = fmha_bwd_<dot_do_o_trait_, dq_dk_dv_trait_, {convert}{arch_arg}>(s, a);
                return r;
            }}
"""

API = {"2024": """#include "fmha_bwd.hpp"

#include <iostream>

template <typename dot_do_o_trait_, typename dq_dk_dv_trait_, typename convert_dq_trait_>
float fmha_bwd_(const ck_tile::stream_config& s, fmha_bwd_args a)
{{
    if(s.log_level_ > 0)
        std::cout << ", " << fmha_bwd_dot_do_o_get_name_<dot_do_o_trait_>() << ", " << \
fmha_bwd_dq_dk_dv_get_name_<dq_dk_dv_trait_>() << ", " << fmha_bwd_convert_dq_get_name_<convert_dq_trait_>() << \
std::flush;
    return ck_tile::launch_kernel(s,
        [=](const ck_tile::stream_config& s_){{ fmha_bwd_dot_do_o_oneshot_<dot_do_o_trait_>(s_, a); }},
        [=](const ck_tile::stream_config& s_){{ fmha_bwd_dq_dk_dv_oneshot_<dq_dk_dv_trait_>(s_, a); }},
        [=](const ck_tile::stream_config& s_){{ fmha_bwd_convert_dq_oneshot_<convert_dq_trait_>(s_, a); }}
    );
}}

float fmha_bwd(fmha_bwd_traits t, fmha_bwd_args a, const ck_tile::stream_config& s){{
    float r = -1;
{dispatch}
    return r;
}}
""", "2026": """#include "fmha_bwd.hpp"

#include <iostream>

template <typename dot_do_o_trait_, typename dq_dk_dv_trait_, typename convert_dq_trait_, typename Arch>
float fmha_bwd_(const ck_tile::stream_config& s, fmha_bwd_args a)
{{
    if constexpr(!std::is_same_v<convert_dq_trait_, void>)
    {{
        if(s.log_level_ > 0)
            std::cout << ", " << fmha_bwd_dot_do_o_get_name_<dot_do_o_trait_, Arch>() << "@" << \
fmha_bwd_convert_dq_get_name_<convert_dq_trait_, Arch>() << "@" << fmha_bwd_dq_dk_dv_get_name_<dq_dk_dv_trait_, \
Arch>() << std::flush;
        return ck_tile::launch_kernel(s,
            [=](const ck_tile::stream_config& s_){{ fmha_bwd_dot_do_o_oneshot_<dot_do_o_trait_, Arch>(s_, a); }},
            [=](const ck_tile::stream_config& s_){{ fmha_bwd_dq_dk_dv_oneshot_<dq_dk_dv_trait_, Arch>(s_, a); }},
            [=](const ck_tile::stream_config& s_){{ fmha_bwd_convert_dq_oneshot_<convert_dq_trait_, Arch>(s_, a); }}
        );
    }}
    else
    {{
        if(s.log_level_ > 0)
            std::cout << ", " << fmha_bwd_dot_do_o_get_name_<dot_do_o_trait_, Arch>() << "@" << \
fmha_bwd_dq_dk_dv_get_name_<dq_dk_dv_trait_, Arch>() << std::flush;
        return ck_tile::launch_kernel(s,
            [=](const ck_tile::stream_config& s_){{ fmha_bwd_dot_do_o_oneshot_<dot_do_o_trait_, Arch>(s_, a); }},
            [=](const ck_tile::stream_config& s_){{ fmha_bwd_dq_dk_dv_oneshot_<dq_dk_dv_trait_, Arch>(s_, a); }}
        );
    }}
}}

template <>
float fmha_bwd<2>(fmha_bwd_traits t, fmha_bwd_args a, const ck_tile::stream_config& s){{
    float r = -1;
    [[maybe_unused]] const std::string device_name = ck_tile::get_device_name();
{dispatch}
    return r;
}}
"""}
