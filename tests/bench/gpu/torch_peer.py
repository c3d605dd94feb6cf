"""What torch takes on this GPU for the operators of the benchmark models, each replayed as a CUDA graph.

    python3 torch_peer.py > torch.json        # {"matmul_512": {"us": 12.3}, ...}; needs torch with CUDA
"""
import json
import sys

import torch
import torch.nn.functional as F

# As make_models.py has them.
PRODUCTS = {"4096": (4096, 4096, 4096), "8192": (8192, 8192, 8192), "thin_16": (16, 8192, 8192),
            "thin_1": (1, 8192, 8192), "odd": (1111, 2047, 3001)}
ATTENTIONS = {"t2048": (32, 2048, 2048, 128), "decode": (32, 1, 4096, 128)}


def cases():
    """Name of a model of the bundle -> what computes the same."""
    def draw(*shape):
        return torch.randn(*shape, device="cuda") * 0.1

    for n in (512, 1024, 2048):
        a, b = draw(n, n), draw(n, n)
        yield f"matmul_{n}", lambda a=a, b=b: a @ b
    x = draw(4096, 1024)
    weight, bias = draw(1024), draw(1024)
    yield "layernorm_4096x1024", lambda: F.layer_norm(x, (1024,), weight, bias)
    wide = draw(4096, 4096)
    yield "softmax_4096x4096", lambda: torch.softmax(wide, -1)
    flat = draw(16 << 20)
    yield "sum_16M", lambda: flat.sum()
    image, filters = draw(1, 64, 56, 56), draw(64, 64, 3, 3)
    yield "conv2d_3x3_64_56", lambda: F.conv2d(image, filters, padding=1)
    signal, taps = draw(1, 512, 1024), draw(512, 1, 31)
    yield "dwconv1d_k31_c512_t1024", lambda: F.conv1d(signal, taps, padding=15, groups=512)
    q, k, v = (draw(1, 8, 512, 64) for _ in range(3))
    yield "attention_h8_t512_d64", lambda: F.scaled_dot_product_attention(q, k, v)
    for text, dtype in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)):
        for size, (m, k, n) in PRODUCTS.items():
            if text == "f32" and size != "4096":
                continue
            a, b = draw(m, k).to(dtype), draw(k, n).to(dtype)
            yield f"product_{text}_{size}", lambda a=a, b=b: a @ b
        for name, (heads, queries, keys, width) in ({} if text == "f32" else ATTENTIONS).items():
            q = draw(1, heads, queries, width).to(dtype)
            k, v = (draw(1, heads, keys, width).to(dtype) for _ in range(2))
            # As the model: without the scale.
            yield f"attention_{text}_{name}", lambda q=q, k=k, v=v: F.scaled_dot_product_attention(q, k, v, scale=1.0)


def microseconds(compute):
    """Of a replay: the median of 30, each timed by events."""
    for _ in range(3):
        compute()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        compute()
    times = []
    for _ in range(30):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1000)
    return sorted(times)[len(times) // 2]


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    found = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}
    for name, compute in cases():
        try:
            found[name] = {"us": microseconds(compute)}
        except RuntimeError as error:
            found[name] = {"error": str(error)}
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
