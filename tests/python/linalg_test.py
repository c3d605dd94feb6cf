"""Linear algebra of the array API standard against numpy, and einsum's repeated labels."""
from array_api_test import V, Api
from place import hearth, np, random, skipping

F = np.float32
ops = hearth.ops


class Linalg(Api):
    def test_against_numpy(self):
        L = hearth.linalg
        a, b = random(2, 4, 4).astype("f8"), random(2, 4, 3, seed=1).astype("f8")
        s = a @ a.swapaxes(-1, -2) + 3 * np.eye(4)
        for name in ("det", "inv", "pinv", "matrix_rank", "svdvals"):
            self.check(getattr(L, name)(a), getattr(np.linalg, name)(a))
        self.check(L.cholesky(s), np.linalg.cholesky(s))
        self.check(L.cholesky(s, upper=True), np.linalg.cholesky(s).swapaxes(-1, -2))
        self.check(L.solve(a, b), np.linalg.solve(a, b))
        self.check(L.solve(a, b[0, :, 0]), np.linalg.solve(a, b[0, :, :1])[..., 0])
        self.check(L.eigvalsh(s), np.linalg.eigvalsh(s))
        self.check(L.qr(b), tuple(np.linalg.qr(b)))
        self.check(L.slogdet(a), tuple(np.linalg.slogdet(a)))
        for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
            self.check(L.matrix_norm(b, ord=ord), np.linalg.norm(b, ord, axis=(-2, -1)))
        for ord in (2, 1, 0, 3, 2.5, np.inf, -np.inf):
            for axis in (None, 0, -1, (0, 1)):
                self.check(L.vector_norm(b, axis=axis, ord=ord), np.linalg.vector_norm(b, axis=axis, ord=ord))
        self.check(L.vector_norm(np.array([3e30, 4e30], F)), F(5e30))  # without overflow in between
        for n in (0, 1, 5, -2):
            self.check(L.matrix_power(a, n), np.linalg.matrix_power(a, n))
        for offset in (-2, 0, 1, 9):
            self.check(L.diagonal(b, offset=offset), np.diagonal(b, offset, -2, -1))
            self.check(L.trace(V, offset=offset), np.trace(V, offset))
        self.check(L.cross(b[0], b[1]), np.cross(b[0], b[1]))
        self.check(hearth.outer(V[0], V[1][:3]), np.outer(V[0], V[1][:3]))
        self.check(hearth.vecdot(b, b[0]), np.vecdot(b, b[0]))
        for axes in (0, ([1], [2]), ((0, 1), (0, 1)), ((-1,), (1,))):
            self.check(hearth.tensordot(a, a, axes=axes), np.tensordot(a, a, axes))
        with self.refused(hearth.TraceError, "linalg.inv()"):
            hearth.jit(L.inv)(a)
        with self.refused(ValueError, "linalg.inv: Singular matrix"):
            L.inv(np.zeros((2, 2), F))
        self.check(hearth.jit(L.det)(a), np.linalg.det(a))

    def test_einsum_of_a_label_three_times(self):
        for equation, shape in (("iii->i", (3, 3, 3)), ("iiij->ij", (2, 2, 2, 3)), ("iij->ij", (3, 3, 2)), ("iiii->", (2,) * 4),
                                ("ijij->ij", (2, 3, 2, 3)), ("iji,i->j", (3, 2, 3))):
            for kind in (F, np.int32):
                args = [(random(*shape) * 5).astype(kind)] + ([(random(3) * 5).astype(kind)] if "," in equation else [])
                self.check(ops.einsum(equation, args), np.einsum(equation, *args))


if __name__ == "__main__":
    skipping.main()
