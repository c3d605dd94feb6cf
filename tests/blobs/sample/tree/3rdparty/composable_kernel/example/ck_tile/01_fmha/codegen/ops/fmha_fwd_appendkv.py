"""Appending to a cache of keys and values: one blob a variant, and fmha_fwd_appendkv_api.cpp."""
import itertools
from dataclasses import dataclass

from codegen.common import (BOOL, FWD_DTYPE, HEADER, LAYOUT, arch_argument, arch_suffix, dispatch, guarded,
                            make_kernel, padding)
from codegen.sample_config import ARCHS, BLOBS

TILES = {32: (64, 64, 32, 32), 64: (64, 64, 64, 64), 128: (64, 64, 128, 128), 256: (64, 64, 256, 256)}
ROPE = {"no": "ck_tile::RotaryEmbeddingEnum::NONE", "inter": "ck_tile::RotaryEmbeddingEnum::INTERLEAVED",
        "half": "ck_tile::RotaryEmbeddingEnum::HALF_ROTATED"}
ROPE_CHECK = {"no": "rope_enum::none", "inter": "rope_enum::interleaved", "half": "rope_enum::half_rotated"}

BLOB = """#include "ck_tile/ops/fmha/kernel/fmha_fwd_appendkv_kernel.hpp"
#include "fmha_fwd.hpp"

#include <iostream>

"""

BODY = """using fmha_dtype_0 = {dtype};

using fmha_pipeline_problem_0 =
    ck_tile::BlockFmhaFwdAppendKVPipelineProblem<FmhaFwdTypeConfig<fmha_dtype_0>, {tile}, {vlayout}, {rope}, {paged}>;
using fmha_kernel_0 = ck_tile::FmhaFwdAppendKVKernel<fmha_pipeline_problem_0>;

using trait_0 = fmha_fwd_appendkv_traits_<{hdim}, {dtype}, {tile}, {vlayout},
                        {spad}, {skpad}, {dpad}, {dvpad}, {rope}, {paged}>;

template<>
float fmha_fwd_appendkv_<trait_0{arch_arg}>(const ck_tile::stream_config& s, fmha_fwd_appendkv_args a)
{{
    using k_ = fmha_kernel_0;
    if(s.log_level_ > 0)
        std::cout << ", " << k_::GetName() << std::flush;
    auto [kargs, grids] = fmha_fwd_appendkv_create_kargs_and_grids<k_>(a);
    constexpr dim3 blocks                  = k_::BlockSize();
    constexpr ck_tile::index_t kBlockPerCu = k_::kBlockPerCu;
    return ck_tile::launch_kernel(s, {make_kernel}(k_{{}}, grids, blocks, 0, kargs));
}}
"""

API = """#include "fmha_fwd.hpp"

float fmha_fwd_appendkv(fmha_fwd_appendkv_traits t, fmha_fwd_appendkv_args a, const ck_tile::stream_config& s){{
    float r = -1;
    [[maybe_unused]] const std::string device_name = ck_tile::get_device_name();
{dispatch}
    return r;
}}
"""

CASE = """((t.is_v_rowmajor == {vlayout}) &&
                        ({rows}) && (true) && ({depth}) && ({width}) && (t.rope_type == {rope_check}) &&
                        ((a.block_table_ptr != nullptr) == {paged})) {{
                using trait_ = fmha_fwd_appendkv_traits_<{hdim}, {dtype}, {tile}, {vlayout}, {spad}, {skpad}, {dpad}, \
{dvpad}, {rope}, {paged}>;
                return fmha_fwd_appendkv_<trait_{arch_arg}>(s, a);
            }}
"""


@dataclass(frozen=True)
class AppendKernel:
    arch: str
    hdim: int
    dtype: str
    vlayout: str
    pads: str  # s, sk, d, dv
    rope: str
    paged: str

    @property
    def name(self):
        text = f"fmha_fwd_appendkv_d{self.hdim}_{self.dtype}_b{'x'.join(map(str, TILES[self.hdim]))}_v{self.vlayout[0]}"
        pad = padding(("s", "sk", "d", "dv"), self.pads)
        text += (f"_{pad}" if pad else "") + (f"_{self.rope}" if self.rope != "no" else "")
        return text + ("_pagedkv" if self.paged == "t" else "") + arch_suffix(self.arch)

    def values(self):
        tile = TILES[self.hdim]
        spad, skpad, dpad, dvpad = (BOOL[p] for p in self.pads)
        return dict(hdim=self.hdim, dtype=FWD_DTYPE[self.dtype], tile=", ".join(map(str, tile)),
                    vlayout=LAYOUT[self.vlayout], spad=spad, skpad=skpad, dpad=dpad, dvpad=dvpad, rope=ROPE[self.rope],
                    paged=BOOL[self.paged], arch_arg=arch_argument(self.arch), make_kernel=make_kernel(self.arch))

    def blob(self):
        return HEADER + BLOB + guarded(self.arch, BODY.format(**self.values()))

    def case(self):
        bs, _, bd, bdv = TILES[self.hdim]
        spad, _, dpad, dvpad = self.pads
        return CASE.format(rope_check=ROPE_CHECK[self.rope],
                           rows=f"true /*a.seqlen_q % {bs} != 0*/" if spad == "t" else f"a.seqlen_q % {bs} == 0",
                           depth=f"true /*a.hdim_q % {bd} != 0*/" if dpad == "t" else f"a.hdim_q % {bd} == 0",
                           width=f"true /*a.hdim_v % {bdv} != 0*/" if dvpad == "t" else f"a.hdim_v % {bdv} == 0",
                           **self.values())


def small(kernel):
    return (kernel.arch, kernel.hdim, kernel.dtype, kernel.vlayout, kernel.pads) == \
        (ARCHS[0], 64, "fp16", "row", "tttt") and (kernel.paged == "f" or kernel.rope == "no")


def kernels(keep):
    result = []
    for arch, dtype, hdim, vlayout, paged in itertools.product(ARCHS, FWD_DTYPE, TILES, ("row", "col"), "tf"):
        for rope, padded in itertools.product(ROPE, (False, True)):
            pads = "tttt" if padded else ("ftff" if rope == "no" else "fttf")
            kernel = AppendKernel(arch, hdim, dtype, vlayout, pads, rope, paged)
            if (vlayout == "row" if BLOBS == "full" else small(kernel)) and keep(kernel.name):
                result.append(kernel)
    return result


def files(keep=lambda name: True):
    members = kernels(keep)
    api = HEADER + API.format(dispatch=dispatch(members, lambda k: (k.hdim, k.hdim), AppendKernel.case))
    return [(k.name + ".cpp", k.blob()) for k in members] + [("fmha_fwd_appendkv_api.cpp", api)]
