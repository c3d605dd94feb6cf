"""Device blobs through the daemon: `hearth blobs build full` for gfx942 → libmha_*.so → its first call → hearthd → a
blob with device code → a launch, recorded by a stand-in for the HIP runtime (no AMD GPU is needed). What is launched
is compared with what the call's sizes ask for. Then the real runtime, where there is no GPU.

Run by ctest (blob_device_test); HEARTH_HIP_STAND_IN names the stand-in. Needs clang++-19 and Debian's HIP packages.
"""
import json
import os
import struct
import sys
import unittest
from pathlib import Path

from blob_place import SAMPLE, Place, require_programs

sys.path.insert(0, str(SAMPLE))
from build_ahead import CLANG, missing_for_hip  # noqa: E402
sys.path.insert(0, str(SAMPLE.parent / "hip_stand_in"))
from hip_stand_in_test import has_gpu  # noqa: E402

# Sizes of the calls. Every stride differs from every other: v's heads lie between its rows.
BATCH, HEADS, KEY_HEADS, ROWS, KEYS, DEPTH, SCALE = 3, 6, 2, 300, 90, 64, 0.1875
TILE_ROWS, THREADS = 128, 256  # of the blobs of 64 columns: b128x64x…, r4x1x1 warps of 64
BWD_TILE_KEYS, BWD_TILE_DOT, BWD_TILE_CONVERT = 128, 64, 64

FORWARD_CALL = f"""
import sys, json, ctypes
import numpy as np
import sample_library as sample
library = ctypes.CDLL(sys.argv[1])
q = np.zeros(({BATCH}, {HEADS}, {ROWS}, {DEPTH}), np.float16)
k = np.zeros(({BATCH}, {KEY_HEADS}, {KEYS}, {DEPTH}), np.float16)
v = np.zeros(({BATCH}, {KEYS}, {KEY_HEADS}, {DEPTH}), np.float16).transpose(0, 2, 1, 3)
said = []
for _ in range(2):
    try:
        o, lse = sample.forward(library, q, k, v, "fp16", {SCALE}, lse=True)
        said.append(["ran"] + [x.ctypes.data for x in (q, k, v, lse, o)])
    except (sample.NoKernel, sample.CallFailed) as e:
        said.append([type(e).__name__, str(e)])
print(json.dumps(said))
"""
BACKWARD_CALL = f"""
import sys, json, ctypes
import numpy as np
import sample_library as sample
from backward_cases import backward
library = ctypes.CDLL(sys.argv[1])
q, o, do = (np.zeros(({BATCH}, {HEADS}, {ROWS}, {DEPTH}), np.float16) for _ in range(3))
k, v = (np.zeros(({BATCH}, {HEADS}, {KEYS}, {DEPTH}), np.float16) for _ in range(2))
lse = np.zeros(({BATCH}, {HEADS}, {ROWS}), np.float32)
said = []
for _ in range(2):
    try:
        dq, dk, dv = backward(library, q, k, v, o, lse, do, "fp16", {SCALE})
        said.append(["ran"] + [x.ctypes.data for x in (q, k, v, o, do, lse, dq, dk, dv)])
    except (sample.NoKernel, sample.CallFailed) as e:
        said.append([type(e).__name__, str(e)])
print(json.dumps(said))
"""


def tiles(length, tile):
    return -(-length // tile)


def code_objects(blob):
    """{target: bytes} of a shared object's fat binary, by the format of clang's offload bundles."""
    magic = b"__CLANG_OFFLOAD_BUNDLE__"
    start = blob.index(magic)
    count, = struct.unpack_from("<Q", blob, start + len(magic))
    at, found = start + len(magic) + 8, {}
    for _ in range(count):
        offset, size, length = struct.unpack_from("<3Q", blob, at)
        name = blob[at + 24:at + 24 + length].decode()
        at += 24 + length
        found[name] = blob[start + offset:start + offset + size]
    return found


def elf_header(image):
    """(class, type, machine, flags) of an ELF file of 64 bits."""
    if image[:4] != b"\x7fELF":
        return None
    kind, machine = struct.unpack_from("<2H", image, 16)
    return image[4], kind, machine, struct.unpack_from("<I", image, 48)[0]


STAND_IN = os.environ["HEARTH_HIP_STAND_IN"]


@unittest.skipIf(missing_for_hip(), f"no compiler of device code here: {', '.join(missing_for_hip())} missing")
@unittest.skipUnless(Path(STAND_IN).exists(), f"{STAND_IN} is not built: it needs libamdhip64-dev")
class Device(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.addClassCleanup(cls.place.close)
        # The compiler is the one that would be found; naming it must not change how it is told what HIP is.
        cls.place.build("hip", *([] if Path("/opt/rocm").exists() else ["--compiler", CLANG]), api="fwd,bwd")

    def setUp(self):
        self.place.start_daemon(HEARTH_CACHE_DIR=str(self.place.folder / f"cache {self.id()}"))
        self.addCleanup(self.place.stop_daemon)

    def call(self, code, api, **environment):
        """(what each of two calls said, blobs loaded, launches recorded)"""
        log = self.place.folder / "log"
        log.unlink(missing_ok=True)
        said, blobs = self.place.call(code, self.place.install / f"libmha_{api}.so", HIP_STAND_IN_LOG=str(log),
                                      **environment)
        lines = log.read_text().splitlines() if log.exists() else []
        return said, blobs, [event for event in map(json.loads, lines) if event["event"] == "launch"]

    def recorded(self, code, api):
        return self.call(code, api, LD_PRELOAD=STAND_IN, HIP_STAND_IN_ARCH="gfx942")

    def check_blob(self, path):
        """A shared object for this machine, with code for gfx942."""
        self.assertIn(f"cache {self.id()}", str(path))
        blob = Path(path).read_bytes()
        self.assertEqual(elf_header(blob)[:3], (2, 3, 62))  # 64 bits, ET_DYN, EM_X86_64
        objects = code_objects(blob)
        device = {name: image for name, image in objects.items() if not name.startswith("host")}
        self.assertEqual(list(device), ["hipv4-amdgcn-amd-amdhsa--gfx942"])
        bits, kind, machine, flags = elf_header(*device.values())
        self.assertEqual((bits, kind, machine, flags & 0xff), (2, 3, 224, 0x4c))  # EM_AMDGPU, …_MACH_AMDGCN_GFX942

    def check_forward(self, launch, pointers):
        q, k, v, lse, o = pointers
        self.assertIn("FmhaFwdKernel", launch["kernel"])
        self.assertEqual(launch["grid"], [tiles(ROWS, TILE_ROWS), HEADS, BATCH])
        self.assertEqual(launch["block"], [THREADS, 1, 1])
        self.assertEqual((launch["shared_bytes"], launch["stream"]), (0, 0))
        arguments, = launch["arguments"]
        got = struct.unpack("<9Q5i2f5i6i6i4i", bytes.fromhex(arguments))  # ck_tile::fmha_fwd_kargs
        self.assertEqual(got, (
            q, k, v, 0, lse, o, 0, 0, 0,
            ROWS, KEYS, DEPTH, DEPTH, HEADS // KEY_HEADS,
            SCALE, 0.0,
            # strides of rows, heads, batch entries: q, k, v, bias, (lse), o
            DEPTH, DEPTH, KEY_HEADS * DEPTH, 0, DEPTH,
            ROWS * DEPTH, KEYS * DEPTH, DEPTH, 0, ROWS, ROWS * DEPTH,
            HEADS * ROWS * DEPTH, KEY_HEADS * KEYS * DEPTH, KEYS * KEY_HEADS * DEPTH, 0, HEADS * ROWS,
            HEADS * ROWS * DEPTH,
            -1, -1, 0, 0))  # window, no mask, shortest sequence

    def test_forward(self):
        said, blobs, launches = self.recorded(FORWARD_CALL, "fwd")
        (stem, path), = blobs.items()
        for part in ("fmha_fwd_d64_fp16_batch_", "_psskddv_nlogits_nbias_nmask_lse_"):
            self.assertIn(part, stem)
        self.check_blob(path)
        self.assertEqual(len(launches), 2)
        for one, launch in zip(said, launches):
            self.assertEqual(one[0], "ran", one)
            self.check_forward(launch, one[1:])
        stats = self.place.stats()
        self.assertEqual((stats["blob_requests"], stats["blobs_compiled"], stats["blob_misses"]), (1, 1, 1))

        said, again, launches = self.recorded(FORWARD_CALL, "fwd")
        self.assertEqual(again, blobs)
        self.check_forward(launches[0], said[0][1:])
        stats = self.place.stats()
        self.assertEqual((stats["blob_requests"], stats["blobs_compiled"], stats["blob_hits"]), (2, 1, 1))

    def test_backward(self):
        said, blobs, launches = self.recorded(BACKWARD_CALL, "bwd")
        self.assertEqual({stem.split("_d64_")[0] for stem in blobs},  # compiled side by side, in no order
                         {"fmha_bwd_dot_do_o", "fmha_bwd", "fmha_bwd_convert_dq"})
        for path in blobs.values():
            self.check_blob(path)
        self.assertEqual(self.place.stats()["blobs_compiled"], 3)
        self.assertEqual(len(launches), 6)
        for one, (dot, middle, convert) in zip(said, (launches[:3], launches[3:])):
            self.assertEqual(one[0], "ran", one)
            q, k, v, o, do, lse, dq, dk, dv = one[1:]
            head, batch = ROWS * DEPTH, HEADS * ROWS * DEPTH
            for launch, kernel, grid, block in (
                    (dot, "OGradDotO", [tiles(ROWS, BWD_TILE_DOT), HEADS, BATCH], 64),
                    (middle, "DQDKDV", [tiles(KEYS, BWD_TILE_KEYS), HEADS, BATCH], 256),
                    (convert, "ConvertQGrad", [tiles(ROWS, BWD_TILE_CONVERT), HEADS, BATCH], 256)):
                self.assertIn(kernel, launch["kernel"])
                self.assertEqual((launch["grid"], launch["block"]), (grid, [block, 1, 1]))
            got = struct.unpack("<4Qf10i4x", bytes.fromhex(*dot["arguments"]))
            d = got[2]
            self.assertEqual(got, (o, do, d, 0, 1.0, ROWS, DEPTH, DEPTH, DEPTH, head, head, ROWS, batch, batch,
                                   HEADS * ROWS))
            got = struct.unpack("<14Q5if10i11i11i4i", bytes.fromhex(*middle["arguments"]))
            acc = got[11]
            key_head, key_batch = KEYS * DEPTH, HEADS * KEYS * DEPTH
            self.assertEqual(got, (
                q, k, v, 0, do, lse, d, dq, dk, dv, 0, acc, 0, 0,
                ROWS, KEYS, DEPTH, DEPTH, 1, SCALE,
                # q, k, v, bias, do, (lse and d), dq_acc, dq, dk, dv, dbias
                *(DEPTH, DEPTH, DEPTH, 0, DEPTH), *(DEPTH, DEPTH, DEPTH, DEPTH, 0),
                *(head, key_head, key_head, 0, head, ROWS), *(head, head, key_head, key_head, 0),
                *(batch, key_batch, key_batch, 0, batch, HEADS * ROWS), *(batch, batch, key_batch, key_batch, 0),
                BATCH * batch, -1, -1, 0))
            got = struct.unpack("<4Q10i", bytes.fromhex(*convert["arguments"]))
            self.assertEqual(got, (acc, dq, 0, 0, ROWS, KEYS, DEPTH, DEPTH, DEPTH, head, head, batch, batch,
                                   BATCH * batch))

    def test_real_runtime_without_gpu(self):
        if has_gpu():
            self.skipTest("this machine has an AMD GPU: host pointers must not be given to it")
        # The blob's own exception, through the loader and the rewritten dispatcher: twice the same, and the process
        # went on to print it.
        said, blobs, launches = self.call(BACKWARD_CALL, "bwd")
        self.assertEqual(len(blobs), 3)  # asked for at once; dot_do_o, the first that is called, threw
        self.assertEqual(said[0], said[1])
        self.assertEqual(said[0][0], "CallFailed")
        self.assertRegex(said[0][1], r"^HIP: launch: .+ \(\d+\)$")
        self.assertNotIn("(0)", said[0][1])
        self.assertEqual(launches, [])  # the stand-in was not there
        stats = self.place.stats()
        self.assertEqual((stats["blob_requests"], stats["blobs_compiled"], stats["blob_errors"]), (3, 3, 0))
        # The forward dispatcher asks for the device first and finds none: no blob is compiled in vain.
        said, blobs, _ = self.call(FORWARD_CALL, "fwd")
        self.assertEqual((said[0], blobs), (["NoKernel", "no kernel for these traits"], {}))
        self.assertEqual(said[0], said[1])
        self.assertEqual(self.place.stats()["blob_requests"], 3)


if __name__ == "__main__":
    require_programs()
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
    import skipping
    skipping.main()
