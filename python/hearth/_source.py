"""Where a model comes from: a path, bytes, or what another library holds."""

import os

from ._errors import CallError, InvalidArgument


def source_of(model):
    """(path as bytes or None, bytes or None, the name by default)."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return None, bytes(model), "model"
    proto = model
    if hasattr(type(model), "model_proto"):  # torch.onnx.ONNXProgram
        proto = model.model_proto
    if hasattr(type(proto), "SerializeToString"):  # onnx.ModelProto
        return None, _serialized(proto), "model"
    if isinstance(model, str) and model.startswith(("http://", "https://", "hf://")):
        raise InvalidArgument(f"model is {model!r}; URLs are not loaded: download it and name the file")
    try:
        path = os.fsencode(model)
    except TypeError:
        raise CallError(_other(model)) from None
    if b"\0" in path:
        raise InvalidArgument("model: the path holds a zero byte")
    return path, None, os.fsdecode(os.path.basename(path))


def _serialized(proto):
    try:
        return proto.SerializeToString()
    except Exception as error:  # protobuf's, of more than 2 GiB
        raise InvalidArgument(f"model: {error}; save it with its weights in another file, and load that file") from error


def _other(model):
    kind = type(model)
    text = f"model is of type {kind.__name__}; expected a path, bytes, or an onnx.ModelProto"
    if any(one.__module__.startswith("torch.nn") for one in kind.__mro__):
        return text + ": export it with torch.onnx.export(model, args, dynamo=True), which gives what load() takes"
    if any(one.__module__.startswith("torch.export") for one in kind.__mro__):
        return text + ": export it with torch.onnx.export(program, dynamo=True), which gives what load() takes"
    if hasattr(model, "read"):
        return text + ": pass file.read()"
    return text
