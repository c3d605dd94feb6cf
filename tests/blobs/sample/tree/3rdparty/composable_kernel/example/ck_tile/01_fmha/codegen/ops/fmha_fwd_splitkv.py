"""Attention split over the keys: blobs of the split and of the combining step, and fmha_fwd_splitkv_api.cpp."""
import itertools
from dataclasses import dataclass

from codegen.common import (BIAS, BIAS_CHECK, BOOL, FWD_DTYPE, HEADER, IS_2026, LAYOUT, MASK, MASK_CHECK, MASK_NAME,
                            MODE, NO_MASK, arch_argument, arch_suffix, dispatch, guarded, make_kernel, padding)
from codegen.sample_config import ARCHS, BLOBS

# hdim: (bm0, bn0, bk0, bn1, bk1, bk0max)
TILES = {32: (32, 64, 16, 32, 32, 32), 64: (64, 64, 32, 64, 32, 64), 128: (64, 128, 32, 128, 32, 128),
         256: (64, 128, 32, 256, 32, 256)}
COMBINE_COLUMNS = 32

BLOB = """#include "ck_tile/ops/fmha/block/variants.hpp"
#include "ck_tile/ops/fmha/kernel/fmha_fwd_splitkv_kernel.hpp"
#include "ck_tile/ops/fmha/pipeline/block_fmha_fwd_splitkv_pipeline.hpp"
#include "fmha_fwd.hpp"

#include <iostream>

"""

BODY = """using fmha_dtype_0 = {dtype};
using fmha_variant_0 = ck_tile::ComposedAttention<{logits} * ck_tile::LOGITS_SOFT_CAP, CK_TILE_FMHA_FWD_FAST_EXP2>;
using fmha_mask_0 = {mask};

namespace {{
template <bool kHasUnevenSplits>
struct instance {{
using fmha_block_tile = ck_tile::sequence<{tile}>;
using fmha_shape = ck_tile::TileFmhaShape<fmha_block_tile,
                                          ck_tile::sequence<4, 1, 1>,
                                          ck_tile::sequence<16, 16, 16>,
                                          ck_tile::sequence<4, 1, 1>,
                                          ck_tile::sequence<16, 16, 16>,
                                          {vlayout}>;
using fmha_trait = ck_tile::TileFmhaFwdSplitKVTraits<{spad}, {skpad}, {dpad}, {dvpad}, {logits}, {bias},
                                                     /*kHasBiasGrad=*/false, true, false, {paged},
                                                     kHasUnevenSplits, -1>;
using fmha_pipeline_problem = ck_tile::BlockFmhaPipelineProblem<FmhaFwdTypeConfig<fmha_dtype_0>, fmha_shape, {mode},
                                                                fmha_variant_0, fmha_mask_0, fmha_trait>;
using fmha_pipeline = ck_tile::BlockFmhaFwdSplitKVPipelineQRKSVS<fmha_pipeline_problem>;
using fmha_epilogue =
    ck_tile::Default2DEpilogue<ck_tile::Default2DEpilogueProblem<typename FmhaFwdTypeConfig<{dtype}>::OaccDataType,
                                                                 typename FmhaFwdTypeConfig<{dtype}>::OaccDataType,
                                                                 false, false>>;
using fmha_kernel = ck_tile::FmhaFwdSplitKVKernel<fmha_pipeline, fmha_epilogue>;

static void run(const ck_tile::stream_config& s, fmha_fwd_splitkv_args a)
{{
    using k_ = fmha_kernel;
    auto [kargs, grids] = fmha_fwd_splitkv_create_kargs_and_grids<k_>(a);
    constexpr dim3 blocks                  = k_::BlockSize();
    constexpr ck_tile::index_t kBlockPerCu = k_::kBlockPerCu;
    {make_kernel}(k_{{}}, grids, blocks, 0, kargs)(ck_tile::stream_config{{s.stream_id_}});
}}
}};
}}

using trait_0 = fmha_fwd_splitkv_traits_<{hdim}, {dtype}, {mode}, {tile}, {vlayout},
                        ck_tile::BlockFmhaPipelineEnum::QRKSVS, {logits}, fmha_mask_0, {bias}, true, false, {paged}, \
{sink}{spad}, {skpad}, {dpad},
                        {dvpad}>;

template<>
void fmha_fwd_splitkv_oneshot_<trait_0{arch_arg}>(const ck_tile::stream_config& s, fmha_fwd_splitkv_args a)
{{
    if constexpr({mode} == false) {{ // batch mode
        if (a.seqlen_k_ptr == nullptr && a.seqlen_k % (a.num_splits * {bn0}) == 0) {{
            instance</*kHasUnevenSplits=*/false>::run(s, a);
            return;
        }}
    }}
    instance</*kHasUnevenSplits=*/true>::run(s, a);
}}

template<>
std::string fmha_fwd_splitkv_get_name_<trait_0{arch_arg}>()
{{
    using k_ = instance<true>::fmha_kernel;
    return k_::GetName();
}}
"""

COMBINE_BLOB = """#include "ck_tile/ops/fmha/kernel/fmha_fwd_splitkv_combine_kernel.hpp"
#include "fmha_fwd.hpp"

#include <iostream>

"""

COMBINE_BODY = """using fmha_dtype_0 = {dtype};

namespace {{
template <ck_tile::index_t kLogMaxSplits>
struct instance {{
using fmha_trait = ck_tile::TileFmhaFwdSplitKVCombineTraits<{spad}, {dvpad}, {lse}, false, kLogMaxSplits, -1>;
using fmha_pipeline_problem =
    ck_tile::BlockFmhaSplitKVCombinePipelineProblem<FmhaFwdTypeConfig<fmha_dtype_0>, {hdim}, {mode}, {rows}, \
fmha_trait>;
using fmha_epilogue =
    ck_tile::Default2DEpilogue<ck_tile::Default2DEpilogueProblem<typename FmhaFwdTypeConfig<{dtype}>::OaccDataType,
                                                                 typename FmhaFwdTypeConfig<{dtype}>::ODataType,
                                                                 false, false>>;
using fmha_kernel = ck_tile::FmhaFwdSplitKVCombineKernel<fmha_pipeline_problem, fmha_epilogue>;

static void run(const ck_tile::stream_config& s, fmha_fwd_splitkv_args a)
{{
    using k_ = fmha_kernel;
    auto [kargs, grids] = fmha_fwd_splitkv_combine_create_kargs_and_grids<k_>(a);
    constexpr dim3 blocks                  = k_::BlockSize();
    constexpr ck_tile::index_t kBlockPerCu = k_::kBlockPerCu;
    {make_kernel}(k_{{}}, grids, blocks, 0, kargs)(ck_tile::stream_config{{s.stream_id_}});
}}
}};
}}

using trait_0 = fmha_fwd_splitkv_combine_traits_<{hdim}, {dtype}, {mode}, {tile},
                        {lse}, false, {spad}, {dvpad}>;

template<>
void fmha_fwd_splitkv_combine_oneshot_<trait_0{arch_arg}>(const ck_tile::stream_config& s, fmha_fwd_splitkv_args a)
{{
    if (a.num_splits <= 8) {{
        instance<3>::run(s, a);
    }} else if (a.num_splits <= 128) {{
        instance<7>::run(s, a);
    }}
}}

template<>
std::string fmha_fwd_splitkv_combine_get_name_<trait_0{arch_arg}>()
{{
    using k_ = instance<7>::fmha_kernel;
    return k_::GetName();
}}
"""

API = """#include "ck_tile/ops/fmha/pipeline/block_fmha_fwd_splitkv_pipeline.hpp"
#include "fmha_fwd.hpp"

#include <iostream>

template<typename fmha_fwd_splitkv_traits_, typename fmha_fwd_splitkv_combine_traits_{arch_typename}>
float fmha_fwd_splitkv_(const ck_tile::stream_config& s, fmha_fwd_splitkv_args a)
{{
    if(s.log_level_ > 0)
    std::cout
    << ", " << fmha_fwd_splitkv_get_name_<fmha_fwd_splitkv_traits_{arch}>()
    << ", " << fmha_fwd_splitkv_combine_get_name_<fmha_fwd_splitkv_combine_traits_{arch}>()
    << std::flush;

    return ck_tile::launch_kernel(s,
        [=](const ck_tile::stream_config& s_){{ fmha_fwd_splitkv_oneshot_<fmha_fwd_splitkv_traits_{arch}>(s_, a); }},
        [=](const ck_tile::stream_config& s_){{ \
fmha_fwd_splitkv_combine_oneshot_<fmha_fwd_splitkv_combine_traits_{arch}>(s_, a); }}
    );
}}

float fmha_fwd_splitkv(fmha_fwd_splitkv_traits t, fmha_fwd_splitkv_args a, const ck_tile::stream_config& s){{
    float r = -1;
    [[maybe_unused]] const std::string device_name = ck_tile::get_device_name();
{dispatch}
    return r;
}}
"""

CASE = """({check}) {{
                using traits_ = fmha_fwd_splitkv_traits_<{hdim}, {dtype}, {mode}, {tile}, {vlayout}, \
ck_tile::BlockFmhaPipelineEnum::QRKSVS, {logits}, {mask}, {bias}, true, false, {paged},{sink} {spad}, {skpad}, \
{dpad}, {dvpad}>;

                // the combining step pads as this one does
                using OaccDataType = typename FmhaFwdTypeConfig<{dtype}>::OaccDataType;
                constexpr ck_tile::index_t kM0 = ck_tile::BlockFmhaSplitKVCombinePipelineTileSizes<OaccDataType, \
/*F_bn1=*/32>::kM0;
                static_assert({bm0} % kM0 == 0);
                static_assert({bn1} % 32 == 0);

                if (t.has_lse) {{
                    using traits2_ = fmha_fwd_splitkv_combine_traits_<{hdim}, {dtype}, {mode}, {combine}, true, \
false, {spad}, {dvpad}>;

                    return fmha_fwd_splitkv_<traits_, traits2_{arch_arg}>(s, a);
                }} else {{
                    using traits2_ = fmha_fwd_splitkv_combine_traits_<{hdim}, {dtype}, {mode}, {combine}, false, \
false, {spad}, {dvpad}>;

                    return fmha_fwd_splitkv_<traits_, traits2_{arch_arg}>(s, a);
                }}
            }}
"""


@dataclass(frozen=True)
class SplitKernel:
    arch: str
    hdim: int
    dtype: str
    mode: str
    vlayout: str
    pads: str  # s, sk, d, dv
    logits: str
    bias: str
    mask: str
    paged: str

    @property
    def name(self):
        tile = TILES[self.hdim]
        text = f"fmha_fwd_splitkv_d{self.hdim}_{self.dtype}_{self.mode}_b{'x'.join(map(str, tile))}"
        text += f"_r4x1x1_r4x1x1_w16x16x16_w16x16x16_qr_v{self.vlayout[0]}"
        text += "_" + (padding(("s", "sk", "d", "dv"), self.pads) or "npad")
        text += ("_logits" if self.logits == "t" else "_nlogits")
        text += (f"_{self.bias}" if self.bias != "no" else "_nbias") + f"_{MASK_NAME[self.mask]}_lse_nsquant"
        text += "_pagedkv" if self.paged == "t" else "_npagedkv"
        return text + arch_suffix(self.arch)

    def values(self):
        tile = TILES[self.hdim]
        spad, skpad, dpad, dvpad = (BOOL[p] for p in self.pads)
        return dict(hdim=self.hdim, dtype=FWD_DTYPE[self.dtype], mode=MODE[self.mode], tile=", ".join(map(str, tile)),
                    vlayout=LAYOUT[self.vlayout], logits=BOOL[self.logits], bias=BIAS[self.bias], mask=MASK[self.mask],
                    paged=BOOL[self.paged], sink="false, " if IS_2026 else "", spad=spad, skpad=skpad, dpad=dpad,
                    dvpad=dvpad, bm0=tile[0], bn0=tile[1], bn1=tile[3], arch_arg=arch_argument(self.arch),
                    make_kernel=make_kernel(self.arch),
                    # 2024 halves the tile in the dispatcher and leaves the sum to the compiler
                    combine=f"/*F_bn1=*/{COMBINE_COLUMNS}" if IS_2026 else f"{tile[0]}/2, {tile[3]}/2")

    def blob(self):
        return HEADER + BLOB + guarded(self.arch, BODY.format(**self.values()))

    def check(self):
        tile = TILES[self.hdim]
        spad, skpad, dpad, dvpad = self.pads
        if self.mode == "group":
            rows, keys = "true/*group mode spad always true*/", "true/*group mode skpad always true*/"
        else:
            rows = f"true /*a.seqlen_q % {tile[0]} != 0*/" if spad == "t" else f"a.seqlen_q % {tile[0]} == 0"
            keys = f"true /*a.seqlen_k % {tile[1]} != 0*/" if skpad == "t" else f"a.seqlen_k % {tile[1]} == 0"
        depth = "a.hdim_q % 8 == 0" if dpad == "t" else f"a.hdim_q % {tile[5]} == 0"
        width = "a.hdim_v % 8 == 0" if dvpad == "t" else f"a.hdim_v % {tile[3]} == 0"
        sink = " && (t.has_sink == false)" if IS_2026 else ""
        return (f"(t.is_group_mode == {MODE[self.mode]}) && (t.is_v_rowmajor == {LAYOUT[self.vlayout]}) && "
                f"(t.has_logits_soft_cap == {BOOL[self.logits]}) && ({MASK_CHECK[self.mask]}) && "
                f"(t.bias_type == {BIAS_CHECK[self.bias]}) && (t.do_fp8_static_quant == false) &&\n"
                f"                        ((a.block_table_ptr != nullptr) == {BOOL[self.paged]}){sink} && "
                f"({rows}) && ({keys}) && ({depth}) && ({width})")

    def case(self):
        return CASE.format(check=self.check(), **self.values())

    def combines(self):
        return [CombineKernel(self.arch, self.hdim, self.dtype, self.mode, self.pads[0], self.pads[3], lse)
                for lse in "tf"]


@dataclass(frozen=True)
class CombineKernel:
    arch: str
    hdim: int
    dtype: str
    mode: str
    spad: str
    dvpad: str
    lse: str

    @property
    def tile(self):
        bm0, _, _, bn1, _, _ = TILES[self.hdim]
        return (COMBINE_COLUMNS,) if IS_2026 else (bm0 // 2, bn1 // 2)

    @property
    def name(self):
        text = f"fmha_fwd_splitkv_combine_d{self.hdim}_{self.dtype}_{self.mode}_b{'x'.join(map(str, self.tile))}_unused"
        text += "_" + (padding(("s", "dv"), self.spad + self.dvpad) or "npad")
        return text + ("_lse" if self.lse == "t" else "_nlse") + "_nsquant" + arch_suffix(self.arch)

    def blob(self):
        values = dict(dtype=FWD_DTYPE[self.dtype], hdim=self.hdim, mode=MODE[self.mode], spad=BOOL[self.spad],
                      dvpad=BOOL[self.dvpad], lse=BOOL[self.lse], tile=", ".join(map(str, self.tile)),
                      rows=8 if IS_2026 else self.tile[0], arch_arg=arch_argument(self.arch),
                      make_kernel=make_kernel(self.arch))
        return HEADER + COMBINE_BLOB + guarded(self.arch, COMBINE_BODY.format(**values))


def small(kernel):
    if kernel.arch != ARCHS[0] or (kernel.hdim, kernel.dtype, kernel.vlayout) != (64, "fp16", "row"):
        return False
    if kernel.bias != "no" or kernel.logits == "t":
        return False
    if kernel.mode == "group":
        return kernel.mask == NO_MASK and kernel.paged == "f"
    if kernel.pads == "ffff":
        return False
    return kernel.paged == "f" and kernel.mask != "generic" or kernel.mask == NO_MASK


def kernels(keep):
    result = []
    for arch, dtype, hdim, mode, mask, bias, paged in itertools.product(ARCHS, FWD_DTYPE, TILES, MODE, MASK, BIAS,
                                                                        "tf"):
        for logits, vlayout, pads in itertools.product("tf", ("row", "col"), ("ffff", "tttt")):
            if (logits == "t" and bias != "no") or (mode == "group" and pads[0] == "f"):
                continue
            kernel = SplitKernel(arch, hdim, dtype, mode, vlayout, pads, logits, bias, mask, paged)
            wanted = (vlayout == "row" and logits == "f" and bias != "alibi") if BLOBS == "full" else small(kernel)
            if wanted and keep(kernel.name):
                result.append(kernel)
    return result


def files(keep=lambda name: True):
    members = kernels(keep)
    combines = sorted({combine for kernel in members for combine in kernel.combines()}, key=lambda k: k.name)
    api = HEADER + API.format(arch_typename=", typename Arch" if IS_2026 else "", arch=", Arch" if IS_2026 else "",
                              dispatch=dispatch(members, lambda k: (k.hdim, TILES[k.hdim][3]), SplitKernel.case))
    return [(k.name + ".cpp", k.blob()) for k in members + combines] + [("fmha_fwd_splitkv_api.cpp", api)]
