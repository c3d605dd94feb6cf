"""Linear algebra of the array API standard. Products, norms and sums are recorded as ops; decompositions of small matrices
are computed at once by numpy's LAPACK, where numpy is installed: an error in a trace."""

from collections import namedtuple

from . import _hearth
from ._dtypes import isdtype
from ._elementwise import check_axis
from ._errors import CallError, InvalidArgument
from ._indexing import broadcast_shapes
from ._manipulation import matrix_transpose, moveaxis
from ._reductions import METHODS, as_tensor

_ops = _hearth.ops

EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = namedtuple("QRResult", "Q R")
SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = namedtuple("SVDResult", "U S Vh")


def matmul(x1, x2, /):
    """The product of matrices, whose leading axes broadcast."""
    return _ops.matmul(x1, x2)


def outer(x1, x2, /):
    """Every product of elements of two vectors."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise InvalidArgument(f"outer: of {x1.ndim} and {x2.ndim} axes; expected vectors")
    return _ops.multiply(_ops.unsqueeze(x1, (1,)), x2)


def vecdot(x1, x2, /, *, axis=-1):
    """Sums of products along an axis; the others broadcast."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x1.ndim or not x2.ndim:
        raise InvalidArgument("vecdot: of a tensor without axes; expected one axis at least")
    if axis >= 0 or axis < -min(x1.ndim, x2.ndim):
        if not -min(x1.ndim, x2.ndim) <= axis < min(x1.ndim, x2.ndim):
            raise InvalidArgument(f"vecdot: axis {axis} of arrays of {x1.ndim} and {x2.ndim} axes")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    if isinstance(x1.shape[-1], int) and isinstance(x2.shape[-1], int) and x1.shape[-1] != x2.shape[-1]:
        raise InvalidArgument(f"vecdot: the lengths {x1.shape[-1]} and {x2.shape[-1]} along axis {axis}; expected one length")
    products = _ops.multiply(x1, x2)
    made = _ops.reduce_sum(products, (-1,), False)
    return made if made.dtype == products.dtype else _ops.cast(made, products.dtype)


def tensordot(x1, x2, /, *, axes=2):
    """Sums of products along the last `axes` axes of x1 and the first of x2, or along the axes that two lists name."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if isinstance(axes, int):
        axes = (range(x1.ndim - axes, x1.ndim), range(axes))
    a, b = ([axes[i]] if isinstance(axes[i], int) else list(axes[i]) for i in (0, 1))
    a = [check_axis(one, x1.ndim, "tensordot") for one in a]
    b = [check_axis(one, x2.ndim, "tensordot") for one in b]
    if len(a) != len(b):
        raise InvalidArgument(f"tensordot: {len(a)} axes of x1 and {len(b)} of x2; expected as many")
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    left, right = [next(letters) for _ in range(x1.ndim)], [next(letters) for _ in range(x2.ndim)]
    for i, j in zip(a, b):
        right[j] = left[i]
    kept = [left[i] for i in range(x1.ndim) if i not in a] + [right[j] for j in range(x2.ndim) if j not in b]
    return _ops.einsum(f"{''.join(left)},{''.join(right)}->{''.join(kept)}", [x1, x2])


def trace(x, /, *, offset=0, dtype=None):
    """The sum of a diagonal of each matrix; of integers in 64 bits."""
    return METHODS["sum"](diagonal(x, offset=offset), -1, False, dtype)


def diagonal(x, /, *, offset=0):
    """A diagonal of each matrix: 0 the main one, above it from 1 on."""
    x = _matrices(x, "diagonal")
    rows, columns = x.shape[-2:]
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise InvalidArgument("diagonal: of matrices whose size varies")
    first = max(0, -offset), max(0, offset)
    count = max(0, min(rows - first[0], columns - first[1]))
    flat = _ops.reshape(x, (*x.shape[:-2], rows * columns))
    places = [(first[0] + i) * columns + first[1] + i for i in range(count)]
    return _ops.gather(flat, _hearth.from_flat(places, [count], "int64"), -1)


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of three elements along an axis."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x1.ndim or not x2.ndim or x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise InvalidArgument(f"cross: axis {axis} has not 3 elements in both")
    x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    (a, b, c), (d, e, f) = ([x[..., i] for i in range(3)] for x in (x1, x2))
    parts = [_ops.subtract(_ops.multiply(b, f), _ops.multiply(c, e)), _ops.subtract(_ops.multiply(c, d), _ops.multiply(a, f)),
             _ops.subtract(_ops.multiply(a, e), _ops.multiply(b, d))]  # fmt: skip
    return moveaxis(_ops.stack(parts, -1), -1, axis)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The norm of vectors along axes, or of all elements as one: (sum of abs(x) ** ord) ** (1 / ord)."""
    x = _floating(x, "vector_norm")
    ndim = x.ndim
    if axis == () and axis is not None:
        return _ops.abs(x) if ord != 0 else _ops.cast(_ops.not_equal(x, 0), x.dtype)
    if ord == float("inf"):
        return METHODS["max"](_ops.abs(x), axis, keepdims)
    if ord == float("-inf"):
        return METHODS["min"](_ops.abs(x), axis, keepdims)
    if ord == 0:
        return METHODS["sum"](_ops.cast(_ops.not_equal(x, 0), x.dtype), axis, keepdims)
    if ord == 1:
        return METHODS["sum"](_ops.abs(x), axis, keepdims)
    if ord == 2 and ndim:
        great = METHODS["max"](_ops.abs(x), axis, True) if 0 not in x.shape else _ops.full((1,) * ndim, 1.0, x.dtype)
        scale = _ops.where(_ops.bit_and(_ops.greater(great, 0.0), _ops.less(great, float("inf"))), great, 1.0)
        ratio = _ops.divide(x, scale)
        made = _ops.multiply(_ops.sqrt(METHODS["sum"](_ops.multiply(ratio, ratio), axis, True)), scale)
        return made if keepdims else _ops.squeeze(made, tuple(range(ndim)) if axis is None else axis)
    return _ops.pow(METHODS["sum"](_ops.pow(_ops.abs(x), float(ord)), axis, keepdims), 1.0 / ord)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """The norm of each matrix: "fro", "nuc", 1, 2, inf and the negative ones of them."""
    x = _floating(_matrices(x, "matrix_norm"), "matrix_norm")
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        values = svdvals(x)
        made = {"nuc": METHODS["sum"], 2: METHODS["max"], -2: METHODS["min"]}[ord](values, -1)
        return _ops.unsqueeze(made, (-2, -1)) if keepdims else made
    if ord not in (1, -1, float("inf"), float("-inf")):
        raise InvalidArgument(f"matrix_norm: ord is {ord!r}; expected 'fro', 'nuc', 1, 2, inf, or the negative of one")
    along = -2 if abs(ord) == 1 else -1
    sums = METHODS["sum"](_ops.abs(x), along, True)
    made = METHODS["max" if ord > 0 else "min"](sums, (-2, -1), True)
    return made if keepdims else _ops.squeeze(made, (-2, -1))


def matrix_power(x, n, /):
    """The product of n of each matrix; of -n the inverses of them."""
    x = _square(x, "matrix_power")
    if n < 0:
        x, n = inv(x), -n
    made = None
    while n:
        if n & 1:
            made = x if made is None else _ops.matmul(made, x)
        n >>= 1
        x = _ops.matmul(x, x) if n else x
    if made is None:
        size = x.shape[-1]
        made = _ops.expand(_ops.eye(size, size, 0, x.dtype), x.shape)
    return made


def _matrices(x, what):
    x = as_tensor(x)
    if x.ndim < 2:
        raise InvalidArgument(f"{what}: of {x.ndim} axes; expected matrices, two axes at least")
    return x


def _square(x, what):
    x = _matrices(x, what)
    if isinstance(x.shape[-1], int) and x.shape[-1] != x.shape[-2]:
        raise InvalidArgument(f"{what}: of matrices of {x.shape[-2]} by {x.shape[-1]}; expected square ones")
    return x


def _floating(x, what):
    x = as_tensor(x)
    if not isdtype(x.dtype, "real floating"):
        raise InvalidArgument(f"{what}: of {x.dtype}; expected a floating type")
    return x


def _by_numpy(name, *arrays, **options):
    """numpy.linalg's function of the values, computed at once. Types of 16 bits are computed in float32."""
    tensors = [_floating(one, name) for one in arrays]
    values = [one._value(f"linalg.{name}()") for one in tensors]
    try:
        import numpy
    except ImportError:
        raise CallError(f"linalg.{name} is computed by numpy's LAPACK, and numpy is not installed") from None
    kind = tensors[0].dtype
    wide = "float64" if any(one.dtype == "float64" for one in tensors) else "float32"
    try:
        made = getattr(numpy.linalg, name)(*(one.__array__(copy=True).astype(wide) for one in values), **options)
    except numpy.linalg.LinAlgError as error:
        raise InvalidArgument(f"linalg.{name}: {error}") from error
    narrow = kind if kind in ("float16", "bfloat16") else None

    def wrap(one):
        tensor = _hearth.tensor(numpy.asarray(one, order="C"))
        return _ops.cast(tensor, narrow) if narrow and isdtype(tensor.dtype, "real floating") else tensor

    return tuple(wrap(one) for one in made) if isinstance(made, tuple) else wrap(made)


def det(x, /):
    """The determinant of each matrix."""
    x = _square(_floating(x, "det"), "det")
    return _ops.determinant(x) if x._is_traced() else _by_numpy("det", x)


def inv(x, /):
    """The inverse of each matrix."""
    return _by_numpy("inv", _square(x, "inv"))


def pinv(x, /, *, rtol=None):
    """The Moore-Penrose inverse of each matrix."""
    x = _matrices(x, "pinv")
    return _by_numpy("pinv", x, **({} if rtol is None else {"rtol": rtol}))


def solve(x1, x2, /):
    """What the matrices x1 turn into x2: vectors where x2 has one axis."""
    x1, x2 = _square(x1, "solve"), as_tensor(x2)
    if x2.ndim == 1:
        return _ops.squeeze(_by_numpy("solve", x1, _ops.unsqueeze(x2, (1,))), (-1,))
    shape = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return _by_numpy("solve", _ops.expand(x1, (*shape, *x1.shape[-2:])), _ops.expand(x2, (*shape, *x2.shape[-2:])))


def cholesky(x, /, *, upper=False):
    """The Cholesky factor of each matrix: a lower triangle, or an upper one."""
    made = _by_numpy("cholesky", _square(x, "cholesky"))
    return matrix_transpose(made) if upper else made


def qr(x, /, *, mode="reduced"):
    """Q, whose columns are orthonormal, and R, an upper triangle, of each matrix."""
    if mode not in ("reduced", "complete"):
        raise InvalidArgument(f"qr: mode is {mode!r}; expected 'reduced' or 'complete'")
    return QRResult(*_by_numpy("qr", _matrices(x, "qr"), mode=mode))


def svd(x, /, *, full_matrices=True):
    """U, S and Vh of each matrix, the product of which it is."""
    return SVDResult(*_by_numpy("svd", _matrices(x, "svd"), full_matrices=full_matrices))


def svdvals(x, /):
    """The singular values of each matrix, the greatest first."""
    return _by_numpy("svd", _matrices(x, "svdvals"), compute_uv=False)


def eigh(x, /):
    """Eigenvalues, the smallest first, and eigenvectors of each symmetric matrix."""
    return EighResult(*_by_numpy("eigh", _square(x, "eigh")))


def eigvalsh(x, /):
    """Eigenvalues of each symmetric matrix, the smallest first."""
    return _by_numpy("eigvalsh", _square(x, "eigvalsh"))


def slogdet(x, /):
    """The sign and the logarithm of the absolute value of each matrix's determinant."""
    return SlogdetResult(*_by_numpy("slogdet", _square(x, "slogdet")))


def matrix_rank(x, /, *, rtol=None):
    """How many singular values of each matrix are greater than rtol times the greatest."""
    return _by_numpy("matrix_rank", _matrices(x, "matrix_rank"), **({} if rtol is None else {"rtol": rtol}))


__all__ = sorted(name for name, one in list(globals().items()) if callable(one) and getattr(one, "__module__", "") == __name__
                 and not name.startswith("_") and not name.endswith("Result")) + ["matrix_transpose"]  # fmt: skip
