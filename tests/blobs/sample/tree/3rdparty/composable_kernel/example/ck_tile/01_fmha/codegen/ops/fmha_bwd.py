"""The backward pass: blobs of its three steps, and fmha_bwd_api.cpp."""
import itertools
from dataclasses import dataclass

from codegen.common import (BIAS, BIAS_CHECK, BOOL, BWD_DTYPE, HEADER, IS_2026, MASK, MASK_CHECK, MASK_NAME, MODE,
                            NO_MASK, arch_argument, arch_suffix, dispatch, guarded, make_kernel, padding)
from codegen.ops.fmha_bwd_texts import API, BODY, CALL, EXPORTS, INCLUDES
from codegen.sample_config import ARCHS, BLOBS

PIPELINE = {"kr_ktr_vr_iglp": ("ck_tile::BlockFmhaBwdDQDKDVPipelineKRKTRVRIGLP",
                               "ck_tile::BlockFmhaBwdPipelineEnum::KRKTRVR_IGLP"),
            "kr_ktr_vr": ("ck_tile::BlockFmhaBwdDQDKDVPipelineKRKTRVR", "ck_tile::BlockFmhaBwdPipelineEnum::KRKTRVR"),
            "trload_kr_ktr_vr": ("ck_tile::BlockFmhaBwdDQDKDVPipelineTrLoadKRKTRVR",
                                 "ck_tile::BlockFmhaBwdPipelineEnum::TRLOAD_KRKTRVR")}

# hdim: bm0, bn0, bk0, bk1, bk2, bk3, bk4, bhdq, bhdv
TILES = {32: (32, 128, 32, 32, 32, 32, 64, 32, 32), 64: (32, 128, 64, 32, 64, 32, 32, 64, 64),
         128: (16, 128, 128, 16, 128, 16, 32, 128, 128), 256: (16, 64, 256, 16, 256, 16, 32, 256, 256)}
DROPOUT = "ck_tile::BlockDropoutBwd<false, true,  false>"
CONVERT_ROWS = 64


def blob(includes, body, kernel, arch, trait, family, **values):
    """A step's blob: aliases, then its three exports (2024's `float`, `oneshot` and `get_name`)."""
    exports = EXPORTS.format(family=family, trait=trait, kernel=kernel, arch_arg=arch_argument(arch),
                             make_kernel=make_kernel(arch))
    return HEADER + includes + guarded(arch, body.format(**values) + exports)


@dataclass(frozen=True)
class DotKernel:
    arch: str
    hdim: int
    dtype: str
    mode: str
    spad: str
    dvpad: str

    @property
    def name(self):
        pads = padding(("s", "dv"), self.spad + self.dvpad) or "npad"
        return f"fmha_bwd_dot_do_o_d{self.hdim}_{self.dtype}_{self.mode}_o2_{pads}" + arch_suffix(self.arch)

    def alias(self):
        return (f"fmha_bwd_dot_do_o_traits_<{self.hdim}, {BWD_DTYPE[self.dtype]}, {MODE[self.mode]}, "
                f"{BOOL[self.spad]}, {BOOL[self.dvpad]}>")

    def blob(self):
        return blob(INCLUDES["dot"], BODY["dot"], "fmha_bwd_dot_do_o_kernel_0", self.arch, "dot_do_o_trait_0",
                    "fmha_bwd_dot_do_o", dtype=BWD_DTYPE[self.dtype], hdim=self.hdim, mode=MODE[self.mode],
                    alias=self.alias())


@dataclass(frozen=True)
class ConvertKernel:
    arch: str
    hdim: int
    dtype: str
    mode: str
    spad: str
    dpad: str
    deterministic: str

    @property
    def name(self):
        pads = padding(("s", "d"), self.spad + self.dpad) or "npad"
        tile = f"b{CONVERT_ROWS}x{TILES[self.hdim][1]}"
        text = f"fmha_bwd_convert_dq_d{self.hdim}_{self.dtype}_{tile}_{self.mode}_o2_{pads}"
        return text + ("_deterministic" if self.deterministic == "t" else "_ndeterministic") + arch_suffix(self.arch)

    def alias(self):
        dpad = (8 if self.dpad == "t" else 0) if IS_2026 else BOOL[self.dpad]
        tail = f", {TILES[self.hdim][1]}" if IS_2026 else ""
        return (f"fmha_bwd_convert_dq_traits_<{self.hdim}, {BWD_DTYPE[self.dtype]}, {MODE[self.mode]}, "
                f"{BOOL[self.spad]}, {dpad}, {BOOL[self.deterministic]}{tail}>")

    def blob(self):
        return blob(INCLUDES["convert"], BODY["convert"], "fmha_bwd_convert_dq_kernel_0", self.arch,
                    "convert_dq_trait_0", "fmha_bwd_convert_dq", dtype=BWD_DTYPE[self.dtype], hdim=self.hdim,
                    mode=MODE[self.mode], rows=CONVERT_ROWS, keys=TILES[self.hdim][1],
                    deterministic=BOOL[self.deterministic], alias=self.alias())


@dataclass(frozen=True)
class BwdKernel:
    arch: str
    hdim: int
    dtype: str
    mode: str
    tag: str
    pads: str  # s, sk, d, dv
    bias: str
    dbias: str
    mask: str
    deterministic: str

    @property
    def trload(self):
        return self.tag.startswith("trload")

    @property
    def name(self):
        tile = TILES[self.hdim]
        text = f"fmha_bwd_d{self.hdim}_{self.dtype}_{self.mode}_b{'x'.join(map(str, tile))}_r1x4x1_r4x1x1_r1x4x1"
        text += f"_w16x16x32_w16x16x16_o1_{self.tag}_" + (padding(("s", "sk", "d", "dv"), self.pads) or "npad")
        text += (f"_{self.bias}" if self.bias != "no" else "_nbias") + ("_dbias" if self.dbias == "t" else "_ndbias")
        text += f"_{MASK_NAME[self.mask]}_ndropout"
        text += "_deterministic" if self.deterministic == "t" else "_ndeterministic"
        return text + arch_suffix(self.arch)

    def alias(self, mask, dropout):
        head = f"fmha_bwd_dq_dk_dv_traits_<{self.hdim}, {BWD_DTYPE[self.dtype]}, {MODE[self.mode]}, "
        dpad, dvpad = ((8 if pad == "t" else 0) if IS_2026 else BOOL[pad] for pad in self.pads[2:])
        if IS_2026:
            return head + (f"{mask}, {dropout}, {BIAS[self.bias]}, {BOOL[self.dbias]}, {dpad}, {dvpad}, "
                           f"{BOOL[self.deterministic]}, {'true' if self.trload else 'false'}, "
                           f"0, {TILES[self.hdim][1]}>")
        return head + (f"{PIPELINE[self.tag][1]}, {mask}, {dropout}, {BIAS[self.bias]}, {BOOL[self.dbias]}, "
                       f"{BOOL[self.pads[0]]}, {BOOL[self.pads[1]]}, {dpad}, {dvpad}, {BOOL[self.deterministic]}>")

    def blob(self):
        return blob(INCLUDES["bwd"], BODY["bwd"], "fmha_bwd_dq_dk_dv_kernel_0", self.arch, "dq_dk_dv_trait_0",
                    "fmha_bwd_dq_dk_dv", dtype=BWD_DTYPE[self.dtype], tile=", ".join(map(str, TILES[self.hdim])),
                    bias=BIAS[self.bias], dbias=BOOL[self.dbias], mask=MASK[self.mask], dropout=DROPOUT,
                    mode=MODE[self.mode], deterministic=BOOL[self.deterministic], pipeline=PIPELINE[self.tag][0],
                    skpad=BOOL[self.pads[1]], dpad=BOOL[self.pads[2]], dvpad=BOOL[self.pads[3]],
                    alias=self.alias("fmha_mask_0", "fmha_dropout_0").replace(", ", ",\n" + 30 * " "))

    def dot(self, spad1):
        return DotKernel(self.arch, self.hdim, self.dtype, self.mode, spad1, self.pads[3])

    def convert(self, spad1):
        return ConvertKernel(self.arch, self.hdim, self.dtype, self.mode, spad1, self.pads[2], self.deterministic)

    def helper_pads(self):
        """spad of the first and last step: they pad to 64 rows, this one to fewer."""
        return "t" if self.pads[0] == "t" or self.mode == "group" else "tf"

    def check(self, spad1):
        bm0, bn0 = TILES[self.hdim][:2]
        if self.mode == "group" or IS_2026:
            rows = keys = "true"  # whatever the lengths
        else:
            rows = (f"a.seqlen_q % {bm0} != 0" if self.pads[0] == "t" else
                    f"a.seqlen_q % {bm0} == 0 and a.seqlen_q % 64 != 0" if spad1 == "t" else "a.seqlen_q % 64 == 0")
            keys = f"a.seqlen_k % {bn0} != 0" if self.pads[1] == "t" else f"a.seqlen_k % {bn0} == 0"
        if self.trload:
            keys = f"a.seqlen_k <= {bn0}"
        depth = "a.hdim_q % 8 == 0" if self.pads[2] == "t" else f"a.hdim_q % {self.hdim} == 0"
        width = "a.hdim_v % 8 == 0" if self.pads[3] == "t" else f"a.hdim_v % {self.hdim} == 0"
        return (f"(t.is_group_mode == {MODE[self.mode]}) && ({MASK_CHECK[self.mask]}) && "
                f"(t.bias_type == {BIAS_CHECK[self.bias]}) && (t.has_dbias == {BOOL[self.dbias]}) && "
                f"(t.has_dropout == false) &&\n                        "
                f"({rows}) && ({keys}) && ({depth}) && ({width}) && (t.is_deterministic == {BOOL[self.deterministic]})")

    def case(self):
        cases = []
        for spad1 in self.helper_pads():
            convert = "convert_dq_trait_"
            if IS_2026:
                wanted = "false" if self.trload else "true"
                convert = f"std::conditional_t<{wanted}, convert_dq_trait_, void>"
            cases.append(CALL.format(check=self.check(spad1), dot=self.dot(spad1).alias(),
                                     bwd=self.alias(MASK[self.mask], DROPOUT),
                                     convert_alias=self.convert(spad1).alias(), convert=convert,
                                     arch_arg=arch_argument(self.arch)))
        return "            else if".join(cases)


def small(kernel):
    if kernel.arch != ARCHS[0] or (kernel.hdim, kernel.dtype) != (64, "fp16") or kernel.bias != "no":
        return False
    if kernel.mode == "group":
        return kernel.mask == NO_MASK and kernel.deterministic == "f" and kernel.pads == "tttt"
    if kernel.pads != "tttt" and kernel.pads != "ffff":
        return False
    if kernel.trload:
        return kernel.mask == NO_MASK and kernel.pads == "tttt" and kernel.deterministic == "f"
    if kernel.mask == NO_MASK:
        return kernel.deterministic == "f" or kernel.pads == "tttt"
    return kernel.mask != "generic" and kernel.pads == "tttt" and kernel.deterministic == "f"


def kernels(keep):
    result = []
    tags = ("trload_kr_ktr_vr", "kr_ktr_vr") if IS_2026 else ("kr_ktr_vr",)
    for arch, dtype, hdim, mode, mask, bias, dbias, deterministic, tag in itertools.product(
            ARCHS, BWD_DTYPE, TILES, MODE, MASK, BIAS, "tf", "ft", tags):
        if (dbias == "t" and bias != "bias") or (mode == "group" and tag.startswith("trload")):
            continue
        if tag.startswith("trload") and (deterministic == "t" or bias != "no"):
            continue
        for rows, keys in itertools.product("ft", "ft"):
            pads = rows + keys + keys + keys  # whole tiles of keys go with whole heads
            if (mode == "group" and pads[:2] != "tt") or (IS_2026 and pads[:2] != "tt"):
                continue  # 2026 always pads the sequences
            plain_tag = tag
            if not IS_2026 and pads == "ffff" and mode == "batch":
                plain_tag = "kr_ktr_vr_iglp"
            kernel = BwdKernel(arch, hdim, dtype, mode, plain_tag, pads, bias, dbias, mask, deterministic)
            if (bias != "alibi" if BLOBS == "full" else small(kernel)) and keep(kernel.name):
                result.append(kernel)
    return result


def files(keep=lambda name: True):
    members = kernels(keep)
    steps = {step for kernel in members for spad1 in kernel.helper_pads()
             for step in [kernel.dot(spad1)] + ([] if kernel.trload and IS_2026 else [kernel.convert(spad1)])}
    api = HEADER + API["2026" if IS_2026 else "2024"].format(
        dispatch=dispatch(members, lambda k: (k.hdim, k.hdim), BwdKernel.case))
    blobs = members + sorted(steps, key=lambda k: k.name)
    return [(k.name + ".cpp", k.blob()) for k in blobs] + [("fmha_bwd_api.cpp", api)]
