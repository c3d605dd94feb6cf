"""Forward attention: one blob a variant, and the dispatcher fmha_fwd_api.cpp."""
import itertools
from dataclasses import dataclass

from codegen.common import (BIAS, BIAS_CHECK, BOOL, FWD_DTYPE, HEADER, IS_2026, LAYOUT, MASK, MASK_CHECK, MASK_NAME,
                            MODE, NO_MASK, arch_argument, arch_suffix, dispatch, guarded, make_kernel, padding)
from codegen.sample_config import ARCHS, BLOBS

PIPELINE = {"qr": ("ck_tile::BlockFmhaPipelineQRKSVS", "ck_tile::BlockFmhaPipelineEnum::QRKSVS",
                   "block_fmha_pipeline_qr_ks_vs.hpp"),
            "qr_async": ("ck_tile::BlockFmhaPipelineQRKSVSAsync", "ck_tile::BlockFmhaPipelineEnum::QRKSVS_ASYNC",
                         "block_fmha_pipeline_qr_ks_vs_async.hpp")}

# hdim: (bm0, bn0, bk0, bn1, bk1, bk0max), warps a block along the rows
TILES = {32: ((128, 64, 16, 32, 32, 32), 2), 64: ((128, 64, 32, 64, 32, 64), 4),
         128: ((128, 128, 32, 128, 32, 128), 4), 256: ((128, 128, 32, 256, 32, 256), 4)}

BLOB = """#include "ck_tile/ops/fmha/block/variants.hpp"
#include "ck_tile/ops/fmha/kernel/fmha_fwd_kernel.hpp"
#include "ck_tile/ops/fmha/pipeline/{header}"
#include "fmha_fwd.hpp"

#include <iostream>

"""

BODY = """using fmha_dtype{i} = {dtype};

using fmha_block_tile{i} = ck_tile::sequence<{tile}>;
using fmha_shape{i} = ck_tile::TileFmhaShape<fmha_block_tile{i},
                                         ck_tile::sequence<{warps}, 1, 1>,
                                         ck_tile::sequence<32, 32, 16>,
                                         ck_tile::sequence<{warps}, 1, 1>,
                                         ck_tile::sequence<32, 32, 16>,
                                         {vlayout}>;

using fmha_trait{i} = ck_tile::TileFmhaTraits<{spad}, {skpad}, {dpad}, {dvpad}, {logits},
                                          {bias}, false, {lse}, {dropout}, false, -1, {skip}>;
using fmha_variant{i} = ck_tile::ComposedAttention<{logits} * ck_tile::LOGITS_SOFT_CAP, CK_TILE_FMHA_FWD_FAST_EXP2>;
using fmha_mask{i} = {mask};

using fmha_pipeline_problem{i} = ck_tile::BlockFmhaPipelineProblem<FmhaFwdTypeConfig<fmha_dtype{i}>, fmha_shape{i},
                                                               {mode}, fmha_variant{i}, fmha_mask{i}, fmha_trait{i}>;
using fmha_pipeline{i} = {pipeline}<fmha_pipeline_problem{i}>;
using fmha_epilogue{i} =
    ck_tile::Default2DEpilogue<ck_tile::Default2DEpilogueProblem<typename FmhaFwdTypeConfig<{dtype}>::OaccDataType,
                                                                 typename FmhaFwdTypeConfig<{dtype}>::ODataType,
                                                                 {spad}, {dvpad}>>;
using fmha_kernel{i} = ck_tile::FmhaFwdKernel<fmha_pipeline{i}, fmha_epilogue{i}>;

using trait{i} = fmha_fwd_traits_<{hdim}, {dtype}, {mode},{tile}, {vlayout},
                        {enum}, {logits}, fmha_mask{i}, {bias}, {lse}, {dropout}, {quant}, {spad}, {skpad}, {dpad}, \
{dvpad}, {tail}>;

template<>
float fmha_fwd_<trait{i}{arch_arg}>(const ck_tile::stream_config& s, fmha_fwd_args a)
{{
    using k_ = fmha_kernel{i};
    if(s.log_level_ > 0)
        std::cout << ", " << k_::GetName() << std::flush;
    auto [kargs, grids] = fmha_fwd_create_kargs_and_grids<k_>(a);
    constexpr dim3 blocks                  = k_::BlockSize();
    constexpr ck_tile::index_t kBlockPerCu = k_::kBlockPerCu;
    return ck_tile::launch_kernel(s, {make_kernel}(k_{{}}, grids, blocks, 0, kargs));
}}
"""

API = """#include <cstdio>
#include <cstdlib>

#include <hip/hip_runtime.h>

#include "fmha_fwd.hpp"

namespace {{
bool get_num_cus(unsigned& num_cus) {{
    int device;
    hipDeviceProp_t props{{}};
    if(hipGetDevice(&device) != hipSuccess || hipGetDeviceProperties(&props, device) != hipSuccess) {{
        fprintf(stderr, "failed to get the device's properties\\n");
        return false;
    }}
    num_cus = props.multiProcessorCount;
    return true;
}}
}} // namespace

{functions}
"""

FORCED = """    // Another way in: only the kernel of this name, through fmha_fwd_all.
    if(const char* name = std::getenv("CK_TILE_FMHA_FWD_FORCE_KERNEL"); name != nullptr && name[0] != 0) {
        const auto results = fmha_fwd_all(t, a, s);
        return results.empty() ? -1 : results[0].second;
    }
"""

FUNCTION = """{signature} {{
{forced}    {result}
    unsigned num_cus;
    if(!get_num_cus(num_cus)) {{
        return r;
    }}
    [[maybe_unused]] const float min_cu_util_rate = 0.8;
    [[maybe_unused]] auto get_num_blocks = [&](unsigned kM0) {{
        return a.batch * a.nhead_q * ((a.max_seqlen_q + kM0 - 1) / kM0);
    }};
    [[maybe_unused]] const std::string device_name = ck_tile::get_device_name();
{dispatch}
    return r;
}}
"""


@dataclass(frozen=True)
class FwdKernel:
    arch: str
    hdim: int
    dtype: str
    mode: str
    tag: str
    vlayout: str
    pads: str  # s, sk, d, dv
    logits: str
    bias: str
    mask: str
    lse: str

    @property
    def name(self):
        tile, warps = TILES[self.hdim]
        text = f"fmha_fwd_d{self.hdim}_{self.dtype}_{self.mode}_b{'x'.join(map(str, tile))}"
        text += f"_r{warps}x1x1_r{warps}x1x1_w32x32x16_w32x32x16_{self.tag}_v{self.vlayout[0]}"
        text += "_" + (padding(("s", "sk", "d", "dv"), self.pads) or "npad")
        text += "_logits" if self.logits == "t" else "_nlogits"
        text += f"_{self.bias}" if self.bias != "no" else "_nbias"
        text += f"_{MASK_NAME[self.mask]}" + ("_lse" if self.lse == "t" else "_nlse") + "_ndropout_nskip"
        text += "_nqscale_ntrload_nsink" if IS_2026 else "_nsquant"
        return text + arch_suffix(self.arch)

    def values(self):
        tile, warps = TILES[self.hdim]
        pipeline, enum, header = PIPELINE[self.tag]
        spad, skpad, dpad, dvpad = (BOOL[p] for p in self.pads)
        return dict(i="" if IS_2026 else "_0", dtype=FWD_DTYPE[self.dtype], tile=", ".join(map(str, tile)), warps=warps,
                    vlayout=LAYOUT[self.vlayout], spad=spad, skpad=skpad, dpad=dpad, dvpad=dvpad,
                    logits=BOOL[self.logits], bias=BIAS[self.bias], lse=BOOL[self.lse], dropout="false", skip="false",
                    mask=MASK[self.mask], mode=MODE[self.mode], pipeline=pipeline, enum=enum, header=header,
                    hdim=self.hdim, arch_arg=arch_argument(self.arch), make_kernel=make_kernel(self.arch),
                    quant="ck_tile::BlockAttentionQuantScaleEnum::NO_SCALE" if IS_2026 else "false",
                    tail="false, false, false" if IS_2026 else "false")

    def blob(self):
        values = self.values()
        return HEADER + BLOB.format(**values) + guarded(self.arch, BODY.format(**values))

    def check(self):
        tile = TILES[self.hdim][0]
        spad, skpad, dpad, dvpad = self.pads
        if self.mode == "group":
            rows, keys = "true/*group mode spad always true*/", "true/*group mode skpad always true*/"
        elif self.tag == "qr_async":
            rows = "true"
            keys = (f"a.seqlen_k == 0 || a.seqlen_k % {tile[1]} != 0" if skpad == "t" else
                    f"a.seqlen_k != 0 && a.seqlen_k % {tile[1]} == 0")
        else:
            rows = f"true /*a.seqlen_q % {tile[0]} != 0*/" if spad == "t" else f"a.seqlen_q % {tile[0]} == 0"
            keys = (f"true /*a.seqlen_k % {tile[1]} != 0*/" if skpad == "t" else
                    f"a.seqlen_k != 0 && a.seqlen_k % {tile[1]} == 0")
        depth = f"a.hdim_q % 8 == 0" if dpad == "t" else f"a.hdim_q % {tile[5]} == 0"
        width = f"a.hdim_v % 8 == 0" if dvpad == "t" else f"a.hdim_v % {tile[3]} == 0"
        quant = ("(t.qscale_type == quant_scale_enum::no_scale) && (t.skip_min_seqlen_q == false) &&"
                 "(t.has_sink == false)"
                 if IS_2026 else "(t.do_fp8_static_quant == false) && (t.skip_min_seqlen_q == false)")
        return (f"(t.is_group_mode == {MODE[self.mode]}) && (t.is_v_rowmajor == {LAYOUT[self.vlayout]}) && "
                f"(t.has_logits_soft_cap == {BOOL[self.logits]}) && ({MASK_CHECK[self.mask]}) && "
                f"(t.bias_type == {BIAS_CHECK[self.bias]}) && (t.has_lse == {BOOL[self.lse]})  && "
                f"(t.has_dropout == false) && {quant} &&\n                        "
                f"({rows}) && ({keys}) && ({depth}) && ({width}) && ((true) && (true))")

    def alias(self):
        v = self.values()
        v["mask"] = MASK[self.mask]
        return ("using trait_ = fmha_fwd_traits_<{hdim}, {dtype}, {mode}, {tile}, {vlayout}, {enum}, {logits}, {mask}, "
                "{bias}, {lse}, {dropout}, {quant}, {spad}, {skpad}, {dpad}, {dvpad}, {tail}>;").format(**v)

    def case(self):
        return (f"({self.check()}) {{\n                {self.alias()}\n"
                f"                return fmha_fwd_<trait_{arch_argument(self.arch)}>(s, a);\n            }}\n")

    def case_of_all(self):
        return (f'(({self.check()}) && (force_kernel.empty() || force_kernel == "{self.name}")) {{\n'
                f"                {self.alias()}\n"
                f"                float t_ = fmha_fwd_<trait_{arch_argument(self.arch)}>(s, a);\n"
                f'                if(t_ >= 0) r.push_back({{ "{self.name}", t_ }});\n            }}\n')


def small(kernel):
    """About twenty variants that together exercise every feature."""
    plain = kernel.bias == "no" and kernel.logits == "f" and kernel.vlayout == "row"
    if kernel.arch != ARCHS[0]:
        return kernel.hdim == 64 and kernel.dtype == "fp16" and plain and kernel.mode == "batch" and \
            kernel.lse == "t" and kernel.mask == NO_MASK
    if kernel.mode == "group":
        return kernel.hdim == 64 and kernel.dtype == "fp16" and plain and kernel.lse == "f" and kernel.mask != "generic"
    if kernel.hdim == 64 and kernel.dtype == "fp16":
        if plain:
            return True
        if kernel.logits == "t":
            return kernel.mask == NO_MASK and kernel.lse == "f" and kernel.vlayout == "row" and kernel.pads == "tttt"
        return kernel.bias == "bias" and kernel.mask == NO_MASK and kernel.lse == "t" and kernel.vlayout == "row"
    if kernel.hdim == 128 and kernel.dtype == "bf16":
        return plain and kernel.mask != "generic" and kernel.lse == "f"
    return kernel.hdim == 32 and kernel.dtype == "fp16" and kernel.pads == "tttt" and kernel.mask == NO_MASK and \
        kernel.lse == "f" and ((kernel.bias == "alibi" and kernel.vlayout == "row") or
                               (kernel.bias == "no" and kernel.vlayout == "col")) and kernel.logits == "f"


def kernels(keep):
    result = []
    for arch, dtype, hdim, mode in itertools.product(ARCHS, FWD_DTYPE, TILES, MODE):
        for logits, mask, bias, lse in itertools.product("tf", MASK, BIAS, "tf"):
            if logits == "t" and bias != "no":
                continue
            tag, pads = ("qr", ("ffff", "tttt")) if bias == "bias" else ("qr_async", ("tftt", "tttt"))
            for vlayout, pad in itertools.product(("row", "col"), pads):
                if mode == "group" and pad[:2] != "tt":
                    continue  # a sequence of a group may have any length
                kernel = FwdKernel(arch, hdim, dtype, mode, tag, vlayout, pad, logits, bias, mask, lse)
                if (vlayout == "row" if BLOBS == "full" else small(kernel)) and keep(kernel.name):
                    result.append(kernel)
    return result


def api(members):
    hdims = lambda k: (k.hdim, TILES[k.hdim][0][3])
    functions = FUNCTION.format(
        signature="float fmha_fwd(fmha_fwd_traits t, fmha_fwd_args a, const ck_tile::stream_config& s)",
        forced=FORCED if IS_2026 else "", result="float r = -1;", dispatch=dispatch(members, hdims, FwdKernel.case))
    if IS_2026:  # the same aliases once more, in a function that runs whatever fits
        functions += "\n" + FUNCTION.format(
            signature="std::vector<std::pair<std::string, float>> fmha_fwd_all(fmha_fwd_traits t, fmha_fwd_args a, "
                      "const ck_tile::stream_config& s)",
            forced="", result="std::vector<std::pair<std::string, float>> r;\n    std::string force_kernel;\n"
                   '    if(const char* name = std::getenv("CK_TILE_FMHA_FWD_FORCE_KERNEL")) force_kernel = name;',
            dispatch=dispatch(members, hdims, FwdKernel.case_of_all, every=True))
    return HEADER + API.format(functions=functions)


def files(keep=lambda name: True):
    members = kernels(keep)
    return [(k.name + ".cpp", k.blob()) for k in members] + [("fmha_fwd_api.cpp", api(members))]
