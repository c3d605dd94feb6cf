"""Further nets that look at sequences: language models of today, speech, small recurrent layers."""
import numpy as np

from graph_writer import Net

RESIDUAL_GAIN = 0.3


def _rotated(net, x):
    """Rotary positions of heads [batch, heads, time, features of a head]."""
    time, features = x.shape[-2:]
    half = features // 2
    angles = np.outer(np.arange(time), 1e4 ** (-np.arange(0, features, 2) / features))
    angles = np.concatenate([angles, angles], -1).astype(np.float32)
    turned = net.concat([net.map("Neg", net.slice(x, 3, half, features)), net.slice(x, 3, 0, half)], 3)
    return net.add(net.mul(x, net.constant(np.cos(angles))), net.mul(turned, net.constant(np.sin(angles))))


def _llama(name, time):
    net = Net(name, seed=61)
    width, heads, groups = 512, 8, 2
    x, mask = net.input("x", (1, time, width)), net.constant(np.triu(np.full((time, time), -1e9, np.float32), 1))

    def linear(x, features, gain=1.0):
        return net.linear(x, features, gain, bias=False)

    def repeated(x):  # a group's keys, for each of its heads
        shape = (1, groups, heads // groups, *x.shape[2:])
        wide = net.node("Expand", [net.reshape(x, (1, groups, 1, *x.shape[2:])),
                                   net.constant(np.array(shape, np.int64))], shape)
        return net.reshape(wide, (1, heads, *x.shape[2:]))

    for _ in range(4):
        rows = net.rms_norm(x)
        query = _rotated(net, net.heads(linear(rows, width), heads))
        keys = _rotated(net, net.heads(linear(rows, width * groups // heads), groups))
        values = net.heads(linear(rows, width * groups // heads), groups)
        mixed = net.attend(query, repeated(keys), repeated(values), mask)
        x = net.add(x, linear(mixed, width, RESIDUAL_GAIN))
        rows = net.rms_norm(x)
        x = net.add(x, linear(net.mul(net.silu(linear(rows, 1376)), linear(rows, 1376)), width, RESIDUAL_GAIN))
    net.output(linear(net.rms_norm(x), 4000))
    return net


def llama_t64():
    return _llama("llama_t64", 64)


def llama_t1():
    return _llama("llama_t1", 1)


def t5_decoder():
    net = Net("t5_decoder", seed=62)
    width, heads, time = 384, 6, 16
    x, encoded, bias = net.input("x", (1, time, width)), net.input("encoded", (1, 128, width)), None

    def linear(x, features, gain=1.0):
        return net.linear(x, features, gain, bias=False)

    bias = net.weight((1, heads, time, time), 1)
    for _ in range(3):
        for keys in (None, encoded):
            rows = net.rms_norm(x)
            keys, mask = (rows, bias) if keys is None else (keys, None)
            mixed = net.attention(linear(rows, width), linear(keys, width), linear(keys, width), heads, mask)
            x = net.add(x, linear(mixed, width, RESIDUAL_GAIN))
        x = net.add(x, linear(net.relu(linear(net.rms_norm(x), 1024)), width, RESIDUAL_GAIN))
    net.output(linear(x, 8000))
    return net


def wav2vec():
    net = Net("wav2vec", seed=63)
    x = net.input("x", (1, 1, 16000))
    for number, (kernel, stride) in enumerate(((10, 5), (3, 2), (3, 2), (3, 2), (3, 2), (2, 2), (2, 2))):
        x = net.conv(x, 256, (kernel,), stride, pad=0, bias=False)
        x = net.gelu(net.group_norm(x, 256) if number == 0 else x)
    x = net.linear(net.layer_norm(net.transpose(x, (0, 2, 1))), 384)
    for _ in range(3):
        mixed = net.attention(net.linear(x, 384), net.linear(x, 384), net.linear(x, 384), 6)
        x = net.layer_norm(net.add(x, net.linear(mixed, 384, gain=RESIDUAL_GAIN)))
        x = net.layer_norm(net.add(x, net.linear(net.gelu(net.linear(x, 1536)), 384, gain=RESIDUAL_GAIN)))
    net.output(net.linear(x, 32))
    return net


def line_reader():
    """Reads a line of text: convolutions, then two bidirectional LSTMs along it."""
    net = Net("line_reader", seed=64)
    x = net.input("x", (1, 1, 32, 256))
    for channels, pool in ((64, (2, 2)), (128, (2, 2)), (256, None), (256, (2, 1)), (512, None), (512, (2, 1))):
        x = net.relu(net.conv(x, channels, 3))
        if pool:
            shape = (1, channels, x.shape[2] // pool[0], x.shape[3] // pool[1])
            x = net.node("MaxPool", [x], shape, kernel_shape=pool, strides=pool)
    time, hidden = x.shape[3], 256
    x = net.reshape(net.transpose(x, (3, 0, 1, 2)), (time, 1, -1))
    for _ in range(2):
        weights = [net.weight((2, 4 * hidden, n), n) for n in (x.shape[-1], hidden)] + [net.weight((2, 8 * hidden), 400)]
        both = net.node("LSTM", [x, *weights], (time, 2, 1, hidden), hidden_size=hidden, direction="bidirectional")
        x = net.reshape(net.transpose(both, (0, 2, 1, 3)), (time, 1, 2 * hidden))
    net.output(net.softmax(net.linear(x, 97)))
    return net


def _recurrent(name, op, gates, hidden, time, batch):
    net = Net(name, seed=65)
    x = net.input("x", (time, batch, 40))
    weights = [net.weight((1, gates * hidden, n), n) for n in (40, hidden)] + [net.weight((1, 2 * gates * hidden), 400)]
    more = {"linear_before_reset": 1} if op == "GRU" else {}
    states = net.node(op, [x, *weights], (time, 1, batch, hidden), hidden_size=hidden, **more)
    net.output(net.linear(net.reshape(states, (time, batch, hidden)), 8))
    return net


def gru_h32():
    return _recurrent("gru_h32", "GRU", 3, 32, 200, 1)


def lstm_h64_b16():
    return _recurrent("lstm_h64_b16", "LSTM", 4, 64, 100, 16)


def keyword_spotter():
    net = Net("keyword_spotter", seed=66)
    x = net.relu(net.conv(net.input("x", (1, 1, 49, 10)), 64, (10, 4), 2))
    for _ in range(4):
        x = net.relu(net.conv(net.relu(net.conv(x, 64, 3, groups=64)), 64, 1))
    net.output(net.softmax(net.linear(net.mean_of_planes(x, keep=False), 12)))
    return net


def speaker_separation():
    """A mask over a learned spectrum, by dilated depthwise convolutions with global normalisation."""
    net = Net("speaker_separation", seed=67)
    spectrum = x = net.relu(net.conv(net.input("x", (1, 1, 8000)), 256, (16,), 8, pad=0))
    x = net.conv(x, 128, (1,))

    def activated(x):
        slope = net.constant(np.full(1, 0.25, np.float32))
        return net.group_norm(net.node("PRelu", [x, slope], x.shape), 1)

    for block in range(8):
        inner = activated(net.conv(x, 256, (1,)))
        inner = activated(net.conv(inner, 256, (3,), dilation=2 ** (block % 4), groups=256))
        x = net.add(x, net.conv(inner, 128, (1,), gain=RESIDUAL_GAIN))
    masked = net.mul(spectrum, net.sigmoid(net.conv(x, 256, (1,))))
    net.output(net.conv_transpose(masked, 1, 16, 8))
    return net


NETS = (llama_t64, llama_t1, t5_decoder, wav2vec, line_reader, gru_h32, lstm_h64_b16, keyword_spotter,
        speaker_separation)
