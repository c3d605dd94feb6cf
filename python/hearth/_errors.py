"""What calls of this package raise: one class a code, each also one of Python's own where there is one that fits."""


class Error(Exception):
    """Every error of Hearth. The text names the thing, its place and the remedy.

    Attributes:
        code: "INVALID_ARGUMENT", "NOT_FOUND", …: gRPC's names, as docs/errors.md explains them.
        kind: "Build", "Device", …: the kind of a JIT wrapper's error, or None.
    """

    code = "UNKNOWN"
    kind = None


class Cancelled(Error):
    code = "CANCELLED"


class InvalidArgument(Error, ValueError):
    code = "INVALID_ARGUMENT"


class CallError(InvalidArgument, TypeError):
    """A call with too few or too many arguments, a name that is none, or something that is no array."""


class TraceError(InvalidArgument, TypeError):
    """A traced function did what a trace cannot record, such as a branch on a tensor's value; names the line."""


class TraceWarning(UserWarning):
    """What a jitted function cannot see of what it reads, and that it is compiled again and again; said once a function."""


class CompileWarning(UserWarning):
    """Something is compiled more often than it need be; says what to write instead."""


class DeadlineExceeded(Error, TimeoutError):
    code = "DEADLINE_EXCEEDED"


class NotFound(Error, FileNotFoundError):
    code = "NOT_FOUND"


class AlreadyExists(Error, FileExistsError):
    code = "ALREADY_EXISTS"


class PermissionDenied(Error, PermissionError):
    code = "PERMISSION_DENIED"


class ResourceExhausted(Error):
    code = "RESOURCE_EXHAUSTED"


class FailedPrecondition(Error, RuntimeError):
    code = "FAILED_PRECONDITION"


class Aborted(Error):
    code = "ABORTED"


class OutOfRange(Error, IndexError, ValueError):
    code = "OUT_OF_RANGE"


class Unimplemented(Error, NotImplementedError):
    code = "UNIMPLEMENTED"


class Internal(Error, RuntimeError):
    code = "INTERNAL"


class Unavailable(Error, ConnectionError):
    code = "UNAVAILABLE"


class DataLoss(Error):
    code = "DATA_LOSS"


class Unauthenticated(Error, PermissionError):
    code = "UNAUTHENTICATED"


def _by_code(cls):
    found = {cls.code: cls}
    for child in cls.__subclasses__():
        found = {**_by_code(child), **found}
    return found


_CLASSES = _by_code(Error)


# Remedies that the library gives as flags of the command line, as hearth.load takes them.
_FLAGS = (
    (r"--dim '([^'=]+)=([^']+)'", r"dims={'\1': '\2'}"),
    (r"--dim ([^\s=]+)=([^\s;,)]*[^\s;,):])", r"dims={'\1': \2}"),
    (r"--const ([^\s=]+)=VALUE", r"constants={'\1': VALUE}"),
    (r"--socket\b", "socket="),
    (r"or bounds: MIN:MAX in place of N", "or (MIN, MAX) in place of N for one that varies"),
    (r"\(--input ([^\s=]+)=FILE\.npy\)", r"(example={'\1': array})"),
    (r"--input ([^\s=]+)=FILE\.npy", r"example={'\1': array}"),
)


_TYPES = {"bf": "bfloat", "f": "float", "i": "int", "u": "uint"}


def spelled(text):
    """A text of the library with types as Python writes them: float32 for f32. What is quoted stays."""
    import re

    def of_type(found):
        if found[1] is None:
            return found[0]
        return _TYPES[found[1]] + found[2]

    return re.sub(r"""'[^']*'|"[^"]*"|(?<![\w.=-])(bf|f|i|u)(8|16|32|64)(?![\w.])""", of_type, text)


def printable(text):
    """A text of a model or path for people, on one line: what cannot be printed as escapes."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)


def of_status(code, text, kind=None):
    """The exception that a status of the C++ library is."""
    text = spelled(text)
    text = text.replace("or begin anew with set_carried", "or begin anew with stream.reset()")
    if "argument 'key' is " in text and "expected uint32 [2]" in text:
        text = text.replace("expected uint32 [2]", "expected uint32 [2], as hearth.ops.random_key(0) gives it")
    text = text.replace("; install it, start one,", "; install it (pip install hearth-compiler-daemon), start one,")
    if "--" in text or "MIN:MAX" in text:
        import re

        for flag, argument in _FLAGS:
            text = re.sub(flag, argument, text)
        text = text.replace("} dims={", ", ").replace("} constants={", ", ")
    error = _CLASSES.get(code, Error)(text)
    error.code, error.kind = code, kind
    return error


def about(argument, cause):
    """Another library's exception about an argument, as one of ours."""
    if not isinstance(cause, Exception):  # Ctrl-C and the like
        return cause
    error = InvalidArgument(f"{argument}: {cause or type(cause).__name__}")
    error.__cause__ = cause
    return error


def unknown_name(text, name, known):
    """A CallError about a name that is none of those known, with the closest one of them."""
    import difflib

    close = difflib.get_close_matches(str(name), known, n=1)
    if close:
        return CallError(f"{text}; did you mean {close[0]!r}?")
    return CallError(f"{text}; there are: {', '.join(map(repr, known)) or 'none'}")
