"""Torch's weights as hearth's parameters: read where they lie, one for each tensor however many graphs use it."""

import weakref

import hearth

_known = {}  # by id: (weak reference, version, address, parameter)
epoch = 0  # counts refresh(): what graphs have bound is looked at again


def parameter(tensor):
    """The hearth.Tensor of its elements as they are now, without a name; the same one until they change. Not for tensors of
    inference mode, whose writes torch does not count."""
    key, version, address = id(tensor), tensor._version, tensor.data_ptr()
    known = _known.get(key)
    if known is not None and known[0]() is tensor and known[1:3] == (version, address):
        return known[3]
    dense = tensor.detach()
    made = hearth.parameter(dense if dense.is_contiguous() else dense.contiguous(), copy=False)
    reference = weakref.ref(tensor, lambda gone: _known.pop(key, None) if _known.get(key, (None,))[0] is gone else None)
    _known[key] = (reference, version, address, made)
    return made


def refresh(model):
    """Says that weights of a torch.nn.Module were written to in a way that torch does not count: through ``.data``, or by
    another library in their memory. Compiled graphs bind them anew at their next call. Every other change is seen without
    this: in-place ops, optimizers, load_state_dict, another tensor in a weight's place, ``weight.data = other``."""
    global epoch
    for tensor in (*model.parameters(), *model.buffers()):
        _known.pop(id(tensor), None)
    epoch += 1
