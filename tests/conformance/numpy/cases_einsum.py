"""Sums of products, determinants, reversed sequences."""
import numpy as np

EQUATIONS = {
    "matmul": ("ij,jk->ik", (3, 4), (4, 5)),
    "attention": ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    "transpose": ("abc->cab", (2, 3, 4)),
    "implicit": ("ba,cb", (2, 3), (4, 2)),
    "sum_all": ("ij->", (3, 4)),
    "trace": ("ii", (4, 4)),
    "diagonal": ("...ii->...i", (2, 3, 3)),
    "two_diagonals": ("iijj->ji", (2, 2, 3, 3)),
    "ellipsis": ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    "ellipsis_inside": ("i...k,k->...i", (2, 3, 4, 5), (5,)),
    "outer": ("i,j->ji", (3,), (4,)),
    "broadcast_label": ("ij,ij->i", (3, 4), (3, 1)),
    "sum_of_one": ("ij,k->k", (3, 4), (5,)),
    "three": ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    "bilinear": ("bi,oij,bj->bo", (2, 3), (4, 3, 5), (2, 5)),
    "scalar": (",i->i", (), (3,)),
}


def cases():
    rng = np.random.default_rng(15)
    for name, (equation, *shapes) in EQUATIONS.items():
        operands = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        yield name, operands, [np.einsum(equation, *operands, dtype=np.float64).astype(np.float32)]
    p, q = rng.standard_normal((2, 3)).astype(np.float32), rng.standard_normal((4, 3)).astype(np.float32)
    yield "ellipsis_summed", [p, q], [p @ q.T]  # as PyTorch; numpy wants the ellipsis in the result
    a, b = rng.integers(-9, 9, (3, 4)), rng.integers(-9, 9, (4, 2))
    yield "integers", [a, b], [a @ b]
    m = rng.standard_normal((5, 3, 3)).astype(np.float32)
    m[0] = [[0, 1, 2], [0, 0, 3], [4, 5, 6]]
    m[1] = [[1, 2, 3], [2, 4, 6], [7, 8, 9]]
    yield "determinant", [m], [np.linalg.det(m.astype(np.float64)).astype(np.float32)]
    one, large = np.float32([[-2.5]]), rng.standard_normal((6, 6))
    yield "determinant_sizes", [one, large], [np.float32(-2.5), np.linalg.det(large)]
    x = rng.standard_normal((3, 5, 2)).astype(np.float32)
    lengths = np.array([0, 3, 5])
    reversed_x = np.stack([np.concatenate([s[:n][::-1], s[n:]]) for s, n in zip(x, lengths)])
    yield "reverse_sequence", [x, lengths], [reversed_x]
    yield "reverse_sequence_time_first", [x.swapaxes(0, 1).copy(), lengths], [reversed_x.swapaxes(0, 1)]
