"""The rows of the table: the work, who does it, and what is asked of us."""
from dataclasses import dataclass, field

LIMITS = "limits_bench"
OPENBLAS = "openblas_bench"
ONEDNN = "onednn_bench"


@dataclass(frozen=True)
class Must:
    """factor of speed against `base`: 'best' peer, 'ort', a 'limit' measured beside us; or 'us': at most so long."""
    base: str
    factor: float

    def text(self):
        if self.base == "us":
            return f"≤ {self.factor:g} µs"
        if self.base == "ort":
            return f"≥ {self.factor:.2f}× ORT"
        return f"≥ {self.factor:g}× {'limit' if self.base == 'limit' else 'best'}"


@dataclass(frozen=True)
class Row:
    name: str
    model: str                      # a file in the models folder or, with a ':', one that models.py makes
    must: Must
    peers: tuple = ()               # (program, its WORK); ONNX Runtime runs the model itself and is always there
    flops: float = 0                # a replay's work, for the rate: one of the two
    num_bytes: float = 0
    inputs: dict = field(default_factory=dict)  # input name -> where models.py takes it from
    reference: str = ""             # stem of the reference outputs, when it is not the model's


def matmul_rows():
    for n in (512, 1024, 2048):
        work = dict(flops=2.0 * n**3, must=Must("best", 0.95))
        model = f"make:matmul_{n}_wconst" if n == 2048 else f"bench/matmul_{n}_wconst.onnx"
        yield Row(f"matmul {n}, parameter", model,
                  peers=((ONEDNN, f"matmul_{n}_wconst"), (OPENBLAS, f"matmul_{n}")), **work)
        yield Row(f"matmul {n}, inputs", f"bench/matmul_{n}.onnx",
                  peers=((ONEDNN, f"matmul_{n}"), (OPENBLAS, f"matmul_{n}")), **work)


def gemv_rows():
    work = dict(num_bytes=4.0 * 4096**2, must=Must("limit", 0.95))
    yield Row("gemv 4096², parameter", "make:gemv_4096_wconst",
              peers=((LIMITS, "read"), (ONEDNN, "gemv_4096_wconst"), (OPENBLAS, "gemv_4096_wconst")), **work)
    yield Row("gemv 4096², inputs", "bench/gemv_4096.onnx",
              peers=((LIMITS, "read"), (ONEDNN, "gemv_4096"), (OPENBLAS, "gemv_4096")), **work)


def stream_rows():
    array = 4.0 * 2**24
    yield Row("relu(a·b+c)·d+e, 16M", "bench/chain5_16M.onnx", Must("limit", 0.9),
              ((LIMITS, "chain5"), (ONEDNN, "chain5_16M")), num_bytes=6 * array)
    yield Row("softmax 4096²", "bench/softmax_4096x4096.onnx", Must("best", 1.3),
              ((ONEDNN, "softmax_4096"),), num_bytes=2 * array)
    yield Row("layernorm 4096×1024", "bench/layernorm_4096x1024.onnx", Must("best", 1.0),
              ((ONEDNN, "layernorm_4096x1024"),), num_bytes=array / 2)
    # The peer is torch at 50 GB/s, the read bandwidth: a loop that only reads stands for it.
    yield Row("sum 16M", "bench/sum_16M.onnx", Must("limit", 0.95),
              ((LIMITS, "read"), (ONEDNN, "sum_16M")), num_bytes=array)


def model_rows():
    yield Row("conv2d 3×3 64→64 56²", "bench/conv2d_3x3_64_56.onnx", Must("best", 0.95),
              ((ONEDNN, "conv2d_3x3_64_56"),), flops=2.0 * 64 * 64 * 9 * 56 * 56)
    # 0.35 ms when ONNX Runtime takes 1.72 ms.
    yield Row("depthwise conv1d k31", "bench/dwconv1d_k31_c512_t1024.onnx", Must("ort", 1.72 / 0.35),
              ((ONEDNN, "dwconv1d_k31"),), flops=2.0 * 512 * 31 * 1024)
    weights = 784 * 512 + 512 * 512 + 512 * 10
    for batch in (1, 64):
        yield Row(f"MLP 784-512-512-10, batch {batch}", f"bench/mlp_b{batch}.onnx", Must("best", 1.0),
                  ((ONEDNN, f"mlp_b{batch}"),), flops=2.0 * weights * batch)
    yield Row("attention 8×512×64", "bench/attention_h8_t512_d64.onnx", Must("best", 1.3),
              ((ONEDNN, "attention"),), flops=4.0 * 8 * 512 * 512 * 64)
    yield Row("ten tiny kernels, 1K", "bench/tiny10_1K.onnx", Must("us", 1.0))
    yield Row("Silero VAD chunk", "silero_vad_16k_op15.onnx", Must("best", 1.5), inputs={"speech": "chunk"})
    conformer = "conformer_d256_h4_t256"
    yield Row("Conformer layer, static", f"bench/{conformer}.onnx", Must("best", 1.15))
    yield Row("Conformer layer, dynamic", f"bench/{conformer}_dynamic.onnx", Must("best", 1.15),
              reference=f"{conformer}_dynamic.1x256x256")


ROWS = (*matmul_rows(), *gemv_rows(), *stream_rows(), *model_rows())

# Preparing, in ms: cold (nothing cached) and warm (a fresh daemon, everything on disk).
PREPARES = (
    ("MLP 784-512-512-10, batch 1", 500, 5),
    ("MLP 784-512-512-10, batch 64", 500, 5),
    ("Silero VAD chunk", 3000, 10),
    ("Conformer layer, static", 4000, 15),
    ("Conformer layer, dynamic", 4000, 15),
)
