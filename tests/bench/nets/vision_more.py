"""Further nets that look at images: grouped and shuffled channels, dilation, interpolation, pyramids, batches."""
from graph_writer import Net
from vision import RESIDUAL_GAIN


def _hard_swish(net, x):
    return net.map("HardSwish", x)


def mobilenetv3():
    net = Net("mobilenetv3", seed=41)
    x = _hard_swish(net, net.conv(net.input("x", (1, 3, 224, 224)), 16, 3, 2))
    for widen, channels, blocks, stride, kernel, gated in ((1, 16, 1, 1, 3, False), (4, 24, 2, 2, 3, False),
                                                           (3, 40, 3, 2, 5, True), (6, 80, 3, 2, 3, False),
                                                           (6, 112, 2, 1, 3, True), (6, 160, 3, 2, 5, True)):
        for block in range(blocks):
            step, hidden = (stride if block == 0 else 1), x.shape[1] * widen
            inner = _hard_swish(net, net.conv(x, hidden, 1))
            inner = _hard_swish(net, net.conv(inner, hidden, kernel, step, groups=hidden))
            if gated:
                gate = net.relu(net.conv(net.mean_of_planes(inner), max(8, hidden // 4), 1))
                inner = net.mul(inner, net.map("HardSigmoid", net.conv(gate, hidden, 1), alpha=1 / 6))
            inner = net.conv(inner, channels, 1, gain=1.0)
            x = net.add(x, inner) if step == 1 and x.shape[1] == channels else inner
    x = _hard_swish(net, net.conv(x, 960, 1))
    net.output(net.linear(net.mean_of_planes(x, keep=False), 1000))
    return net


def shufflenet():
    net = Net("shufflenet", seed=42)

    def shuffled(a, b):
        x = net.concat([a, b], 1)
        batch, channels, *plane = x.shape
        pairs = net.transpose(net.reshape(x, (batch, 2, channels // 2, *plane)), (0, 2, 1, 3, 4))
        return net.reshape(pairs, (batch, channels, *plane))

    def branch(x, channels, stride):
        x = net.conv(net.relu(net.conv(x, channels, 1)), channels, 3, stride, groups=channels)
        return net.relu(net.conv(x, channels, 1))

    x = net.max_pool(net.relu(net.conv(net.input("x", (1, 3, 224, 224)), 24, 3, 2)), 3, 2, 1)
    for channels, blocks in ((116, 4), (232, 8), (464, 4)):
        half = channels // 2
        smaller = net.relu(net.conv(net.conv(x, x.shape[1], 3, 2, groups=x.shape[1]), half, 1))
        x = shuffled(smaller, branch(x, half, 2))
        for _ in range(blocks - 1):
            x = shuffled(net.slice(x, 1, 0, half), branch(net.slice(x, 1, half, channels), half, 1))
    net.output(net.linear(net.mean_of_planes(net.relu(net.conv(x, 1024, 1)), keep=False), 1000))
    return net


def resnext():
    net = Net("resnext", seed=43)
    x = net.max_pool(net.relu(net.conv(net.input("x", (1, 3, 224, 224)), 64, 7, 2)), 3, 2, 1)
    for width, stride in ((128, 1), (256, 2), (512, 2)):
        for block in range(2):
            step = stride if block == 0 else 1
            inner = net.relu(net.conv(net.relu(net.conv(x, width, 1)), width, 3, step, groups=32))
            inner = net.conv(inner, 2 * width, 1, gain=RESIDUAL_GAIN)
            x = net.relu(net.add(inner, net.conv(x, 2 * width, 1, step, gain=1.0) if block == 0 else x))
    net.output(net.linear(net.mean_of_planes(x, keep=False), 1000))
    return net


def resnet18_b4():
    """Four images at a time."""
    net = Net("resnet18_b4", seed=44)
    x = net.max_pool(net.relu(net.conv(net.input("x", (4, 3, 224, 224)), 64, 7, 2)), 3, 2, 1)
    for width, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for block in range(2):
            step = stride if block == 0 else 1
            inner = net.conv(net.relu(net.conv(x, width, 3, step)), width, 3, gain=RESIDUAL_GAIN)
            x = net.relu(net.add(inner, net.conv(x, width, 1, step, gain=1.0) if step != 1 else x))
    net.output(net.linear(net.mean_of_planes(x, keep=False), 1000))
    return net


def squeezenet():
    net = Net("squeezenet", seed=45)
    x = net.max_pool(net.relu(net.conv(net.input("x", (1, 3, 224, 224)), 64, 3, 2)), 3, 2)
    for number, (squeezed, made) in enumerate(((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192),
                                               (64, 256), (64, 256))):
        narrow = net.relu(net.conv(x, squeezed, 1))
        x = net.concat([net.relu(net.conv(narrow, made, 1)), net.relu(net.conv(narrow, made, 3))], 1)
        if number in (1, 3):
            x = net.max_pool(x, 3, 2)
    net.output(net.mean_of_planes(net.relu(net.conv(x, 1000, 1)), keep=False))
    return net


def deeplab():
    """Dilated convolutions of one image, and classes stretched to its size."""
    net = Net("deeplab", seed=46)
    x = net.input("x", (1, 3, 256, 256))
    for channels in (32, 64, 128):
        x = net.relu(net.conv(x, channels, 3, 2))
    parts = [net.relu(net.conv(x, 64, 1))] + [net.relu(net.conv(x, 64, 3, dilation=d)) for d in (6, 12, 18)]
    net.output(net.stretch(net.conv(net.relu(net.conv(net.concat(parts, 1), 128, 1)), 21, 1), 8))
    return net


def style_transfer():
    net = Net("style_transfer", seed=47)

    def conv(x, channels, kernel, stride=1):
        border = (kernel // 2,) * 2
        return net.conv(net.pad(x, ((0, 0), (0, 0), border, border), "reflect"), channels, kernel, stride, pad=0)

    x = net.input("x", (1, 3, 192, 192))
    for channels, kernel, stride in ((32, 9, 1), (64, 3, 2), (128, 3, 2)):
        x = net.relu(net.instance_norm(conv(x, channels, kernel, stride)))
    for _ in range(5):
        inner = net.relu(net.instance_norm(conv(x, 128, 3)))
        x = net.add(x, net.instance_norm(conv(inner, 128, 3)))
    for channels in (64, 32):
        x = net.relu(net.instance_norm(conv(net.upsample(x), channels, 3)))
    net.output(conv(x, 3, 9))
    return net


def segformer():
    """Attention over fewer keys than queries, depthwise convolutions between linear layers, four scales put together."""
    net = Net("segformer", seed=48)
    x, scales = net.conv(net.input("x", (1, 3, 256, 256)), 32, 7, 4), []

    def image(tokens, height):
        return net.reshape(net.transpose(tokens, (0, 2, 1)), (1, tokens.shape[2], height, -1))

    def tokens(x):
        return net.transpose(net.reshape(x, (1, x.shape[1], -1)), (0, 2, 1))

    for number, (width, heads, shrink) in enumerate(((32, 1, 8), (64, 2, 4), (160, 5, 2), (256, 8, 1))):
        if number:
            x = net.conv(x, width, 3, 2)
        height = x.shape[2]
        rows = net.layer_norm(tokens(x))
        for _ in range(2):
            queries = keys = net.layer_norm(rows)
            if shrink > 1:
                keys = net.layer_norm(tokens(net.conv(image(queries, height), width, shrink, shrink, pad=0)))
            mixed = net.attention(net.linear(queries, width), net.linear(keys, width), net.linear(keys, width), heads)
            rows = net.add(rows, net.linear(mixed, width, gain=RESIDUAL_GAIN))
            inner = image(net.linear(net.layer_norm(rows), 4 * width), height)
            inner = net.gelu(tokens(net.conv(inner, 4 * width, 3, groups=4 * width)))
            rows = net.add(rows, net.linear(inner, width, gain=RESIDUAL_GAIN))
        x = image(rows, height)
        scale = image(net.linear(rows, 128), height)
        scales.append(net.stretch(scale, 2**number) if number else scale)
    net.output(net.conv(net.relu(net.conv(net.concat(scales, 1), 128, 1)), 19, 1))
    return net


def vae_decoder():
    """Transposed convolutions whose windows overlap, of eight images."""
    net = Net("vae_decoder", seed=49)
    x = net.reshape(net.linear(net.input("x", (8, 128)), 256 * 8 * 8), (8, 256, 8, 8))
    for channels in (128, 64, 32):
        x = net.leaky(net.conv_transpose(net.leaky(x), channels, 4, 2, 1))
    net.output(net.sigmoid(net.conv(x, 3, 3)))
    return net


def pyramid_detector():
    net = Net("pyramid_detector", seed=50)
    x, levels = net.relu(net.conv(net.input("x", (1, 3, 256, 256)), 32, 3, 2)), []
    for channels in (64, 128, 256, 256):
        x = net.relu(net.conv(net.relu(net.conv(x, channels, 3, 2)), channels, 3))
        levels.append(x)
    above = None
    for level in reversed(levels):
        side = net.conv(level, 96, 1)
        above = net.add(side, net.upsample(above)) if above is not None else side
        head = net.relu(net.conv(net.relu(net.conv(net.conv(above, 96, 3), 96, 3)), 96, 3))
        boxes = net.concat([net.sigmoid(net.conv(head, 80, 3)), net.conv(head, 4, 3)], 1)
        net.output(net.reshape(net.transpose(boxes, (0, 2, 3, 1)), (1, -1, 84)))
    return net


def nerf():
    net = Net("nerf", seed=51)
    x = net.input("x", (4096, 3))
    waves = [net.scaled(x, float(2**octave)) for octave in range(10)]
    place = net.concat([x] + [net.map(op, wave) for wave in waves for op in ("Sin", "Cos")], 1)
    x = place
    for layer in range(8):
        x = net.relu(net.linear(x, 128))
        if layer == 4:
            x = net.concat([x, place], 1)
    net.output(net.linear(x, 4))
    return net


NETS = (mobilenetv3, shufflenet, resnext, resnet18_b4, squeezenet, deeplab, style_transfer, segformer, vae_decoder,
        pyramid_detector, nerf)
