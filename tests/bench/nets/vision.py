"""Nets that look at images: classifiers, segmentation, detection, generation. Each makes one Net (graph_writer.py)."""
from graph_writer import Net

RESIDUAL_GAIN = 0.3  # of a branch that is added to what it was made of: sums stay near one


def resnet50():
    net = Net("resnet50", seed=1)
    x = net.max_pool(net.relu(net.conv(net.input("x", (1, 3, 224, 224)), 64, 7, 2)), 3, 2, 1)
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(blocks):
            step = stride if block == 0 else 1
            branch = net.relu(net.conv(net.relu(net.conv(x, width, 1)), width, 3, step))
            branch = net.conv(branch, 4 * width, 1, gain=RESIDUAL_GAIN)
            shortcut = net.conv(x, 4 * width, 1, step, gain=1.0) if block == 0 else x
            x = net.relu(net.add(branch, shortcut))
    net.output(net.linear(net.mean_of_planes(x, keep=False), 1000))
    return net


def mobilenetv2():
    net = Net("mobilenetv2", seed=2)
    x = net.relu6(net.conv(net.input("x", (1, 3, 224, 224)), 32, 3, 2))
    for widen, channels, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                            (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(blocks):
            step, hidden = (stride if block == 0 else 1), x.shape[1] * widen
            inner = net.relu6(net.conv(x, hidden, 1)) if widen != 1 else x
            inner = net.relu6(net.conv(inner, hidden, 3, step, groups=hidden))
            inner = net.conv(inner, channels, 1, gain=1.0)
            x = net.add(x, inner) if step == 1 and x.shape[1] == channels else inner
    x = net.relu6(net.conv(x, 1280, 1))
    net.output(net.linear(net.mean_of_planes(x, keep=False), 1000))
    return net


def efficientnet():
    """The blocks of EfficientNet-B0 at 160 x 160: squeeze-and-excite, kernels of 3 and 5, silu."""
    net = Net("efficientnet", seed=3)
    x = net.silu(net.conv(net.input("x", (1, 3, 160, 160)), 32, 3, 2))
    for widen, channels, blocks, stride, kernel in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5),
                                                    (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
                                                    (6, 320, 1, 1, 3)):
        for block in range(blocks):
            step, hidden, squeezed = (stride if block == 0 else 1), x.shape[1] * widen, max(1, x.shape[1] // 4)
            inner = net.silu(net.conv(x, hidden, 1)) if widen != 1 else x
            inner = net.silu(net.conv(inner, hidden, kernel, step, groups=hidden))
            gate = net.silu(net.conv(net.mean_of_planes(inner), squeezed, 1))
            inner = net.mul(inner, net.sigmoid(net.conv(gate, hidden, 1, gain=1.0)))
            inner = net.conv(inner, channels, 1)
            x = net.add(x, inner) if step == 1 and x.shape[1] == channels else inner
    x = net.silu(net.conv(x, 1280, 1))
    net.output(net.linear(net.mean_of_planes(x, keep=False), 1000))
    return net


def densenet():
    """Four dense blocks; batch normalisation stands before a convolution, as a scale and a shift."""
    net = Net("densenet", seed=4)
    x = net.max_pool(net.relu(net.conv(net.input("x", (1, 3, 128, 128)), 64, 7, 2)), 3, 2, 1)

    def normal(value):
        channels = (1, value.shape[1], 1, 1)
        return net.relu(net.add(net.mul(value, net.weight(channels, 1)), net.weight(channels, 100)))

    for layers in (6, 12, 16, 8):
        for _ in range(layers):
            new = net.conv(normal(net.conv(normal(x), 128, 1)), 32, 3)
            x = net.concat([x, new], 1)
        if layers != 8:
            x = net.pool("AveragePool", net.conv(normal(x), x.shape[1] // 2, 1), 2, 2)
    net.output(net.linear(net.mean_of_planes(normal(x), keep=False), 1000))
    return net


def inception():
    net = Net("inception", seed=5)
    x = net.relu(net.conv(net.input("x", (1, 3, 149, 149)), 32, 3, 2, pad=0))
    x = net.max_pool(net.relu(net.conv(x, 64, 3)), 3, 2)
    x = net.max_pool(net.relu(net.conv(net.relu(net.conv(x, 80, 1)), 192, 3)), 3, 2)
    for width in (32, 64, 64, 96, 96):
        ones = net.relu(net.conv(x, 64, 1))
        fives = net.relu(net.conv(net.relu(net.conv(x, 48, 1)), 64, 5))
        threes = net.relu(net.conv(net.relu(net.conv(x, 64, 1)), 96, 3))
        rows = net.relu(net.conv(net.relu(net.conv(threes, 96, (1, 7))), 96, (7, 1)))
        pooled = net.relu(net.conv(net.pool("AveragePool", x, 3, 1, 1), width, 1))
        x = net.concat([ones, fives, rows, pooled], 1)
    net.output(net.linear(net.mean_of_planes(x, keep=False), 1000))
    return net


def unet():
    net = Net("unet", seed=6)
    widths = (32, 64, 128, 256)
    two = lambda value, width: net.relu(net.conv(net.relu(net.conv(value, width, 3)), width, 3))
    x, kept = net.input("x", (1, 3, 256, 256)), []
    for level, width in enumerate(widths):
        x = two(x, width)
        kept.append(x)
        if level + 1 < len(widths):
            x = net.max_pool(x, 2, 2)
    for width, skip in zip(widths[-2::-1], kept[-2::-1]):
        x = two(net.concat([net.conv_transpose(x, width, 2, 2), skip], 1), width)
    net.output(net.sigmoid(net.conv(x, 1, 1)))
    return net


def yolo():
    """Residual stages, pyramid pooling with windows of 5, 9 and 13, two heads."""
    net = Net("yolo", seed=7)
    step = lambda value, width, kernel, stride=1: net.leaky(net.conv(value, width, kernel, stride))
    x = step(net.input("x", (1, 3, 160, 160)), 16, 3)
    stages = []
    for width, blocks in ((32, 1), (64, 1), (128, 2), (256, 1)):
        x = step(x, width, 3, 2)
        for _ in range(blocks):
            x = net.add(x, step(step(x, width // 2, 1), width, 3))
        stages.append(x)
    x = step(x, 128, 1)
    x = net.concat([net.max_pool(x, kernel, 1, kernel // 2) for kernel in (13, 9, 5)] + [x], 1)
    x = step(step(x, 128, 1), 256, 3)
    net.output(net.conv(x, 255, 1, gain=1.0))
    x = net.concat([net.upsample(step(x, 64, 1)), stages[2]], 1)
    net.output(net.conv(step(x, 128, 3), 255, 1, gain=1.0))
    return net


def diffusion_block():
    """Down, two blocks of group norm and silu with attention between, up: as the middle of a diffusion model."""
    net = Net("diffusion_block", seed=8)
    x = net.input("x", (1, 64, 32, 32))
    time = net.silu(net.linear(net.input("time", (1, 128)), 256))

    def block(value, width):
        inner = net.conv(net.silu(net.group_norm(value, 8)), width, 3)
        inner = net.add(inner, net.reshape(net.linear(time, width), (1, width, 1, 1)))
        inner = net.conv(net.silu(net.group_norm(inner, 8)), width, 3, gain=RESIDUAL_GAIN)
        return net.add(inner, value if value.shape[1] == width else net.conv(value, width, 1, gain=1.0))

    def mix(value):
        batch, channels, height, width = value.shape
        rows = net.transpose(net.reshape(net.group_norm(value, 8), (batch, channels, -1)), (0, 2, 1))
        mixed = net.attention(*(net.linear(rows, channels) for _ in range(3)), num_heads=4)
        planes = net.reshape(net.transpose(net.linear(mixed, channels, RESIDUAL_GAIN), (0, 2, 1)), value.shape)
        return net.add(value, planes)

    first = block(x, 64)
    x = net.conv(first, 64, 3, 2)
    x = block(mix(block(x, 128)), 128)
    x = net.conv(net.upsample(x), 64, 3)
    net.output(net.conv(net.silu(block(net.concat([x, first], 1), 64)), 64, 3))
    return net


def super_resolution():
    net = Net("super_resolution", seed=9)
    x = net.conv(net.input("x", (1, 3, 64, 64)), 64, 3)
    for _ in range(8):
        x = net.add(x, net.conv(net.relu(net.conv(x, 64, 3)), 64, 3, gain=RESIDUAL_GAIN))
    x = net.conv(x, 256, 3)
    x = net.node("DepthToSpace", [x], (1, 64, 128, 128), blocksize=2, mode="CRD")
    net.output(net.conv(net.relu(x), 3, 3, gain=1.0))
    return net


def conv3d():
    net = Net("conv3d", seed=10)
    x = net.input("x", (1, 3, 8, 56, 56))
    for width, stride in ((16, 1), (32, 2), (64, 2)):
        x = net.relu(net.conv(x, width, 3, stride))
        x = net.relu(net.add(x, net.conv(x, width, 3, gain=RESIDUAL_GAIN)))
    net.output(net.linear(net.mean_of_planes(x, keep=False), 100))
    return net


def convnext():
    net = Net("convnext", seed=11)
    x = net.conv(net.input("x", (1, 3, 128, 128)), 48, 4, 4, pad=0)
    for width, blocks in ((48, 2), (96, 2), (192, 4), (384, 2)):
        if x.shape[1] != width:
            x = net.conv(x, width, 2, 2, pad=0)
        for _ in range(blocks):
            rows = net.transpose(net.conv(x, width, 7, groups=width), (0, 2, 3, 1))
            rows = net.linear(net.gelu(net.linear(net.layer_norm(rows), 4 * width)), width, RESIDUAL_GAIN)
            x = net.add(x, net.transpose(rows, (0, 3, 1, 2)))
    net.output(net.linear(net.layer_norm(net.mean_of_planes(x, keep=False)), 1000))
    return net


NETS = (resnet50, mobilenetv2, efficientnet, densenet, inception, unet, yolo, diffusion_block, super_resolution,
        conv3d, convnext)
