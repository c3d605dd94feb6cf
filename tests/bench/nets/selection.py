"""Nets whose time goes into choosing, ordering, summing up to a place and writing by index."""
import numpy as np
from onnx import TensorProto

from graph_writer import Net


def _floats(net, x):
    return net.map("Cast", x, to=TensorProto.FLOAT)


def graph_net():
    """Messages along the edges of a graph, summed at their ends."""
    net = Net("graph_net", seed=68)
    nodes, edges, random = 2000, 10000, np.random.default_rng(5)
    x = net.input("x", (nodes, 64))
    begins = net.constant(random.integers(0, nodes, edges))
    ends = net.constant(np.sort(random.integers(0, nodes, edges))[:, None])
    for _ in range(2):
        sent = net.node("Gather", [net.linear(x, 64), begins], (edges, 64), axis=0)
        none = net.constant(np.zeros((nodes, 64), np.float32))
        x = net.relu(net.node("ScatterND", [none, ends, sent], (nodes, 64), reduction="add"))
    net.output(net.linear(x, 16))
    return net


def token_sampler():
    """The likeliest of a vocabulary, cut off where their probabilities sum up to enough."""
    net = Net("token_sampler", seed=81)
    logits = net.input("logits", (4, 50257))
    values, positions = net.top_k(logits, 50, 1)
    likely = net.softmax(net.scaled(values, 1 / 0.7))
    before = net.node("CumSum", [likely, net.constant(np.int64(1))], likely.shape, exclusive=1)
    cut = net.node("Less", [before, net.constant(np.float32(0.9))], likely.shape)
    net.output(net.mul(likely, _floats(net, cut)))
    net.output(_floats(net, positions))
    return net


def detection_head():
    """The boxes of the best scores of a detector, as corners."""
    net = Net("detection_head", seed=82)
    raw = net.transpose(net.input("raw", (1, 84, 8400)), (0, 2, 1))
    boxes, classes = net.slice(raw, 2, 0, 4), net.slice(raw, 2, 4, 84)
    best = net.node("ReduceMax", [classes], (1, 8400), axes=[2], keepdims=0)
    scores, at = net.top_k(best, 300, 1)
    rows = net.reshape(at, (300,))
    taken = net.node("Gather", [boxes, rows], (1, 300, 4), axis=1)
    centre, half = net.slice(taken, 2, 0, 2), net.scaled(net.slice(taken, 2, 2, 4), 0.5)
    net.output(net.concat([net.node("Sub", [centre, half], centre.shape), net.add(centre, half)], 2))
    net.output(net.sigmoid(scores))
    kind = net.node("ArgMax", [net.node("Gather", [classes, rows], (1, 300, 80), axis=1)], (1, 300), axis=2, keepdims=0)
    net.output(_floats(net, kind))
    return net


def linear_attention():
    """Sums of outer products up to each place of a sequence."""
    net = Net("linear_attention", seed=83)
    x = net.input("x", (1024, 256))
    parts = [net.linear(x, 64, bias=False) for _ in range(3)]
    q, k, v = (net.reshape(part, (1024, 2, 32)) for part in parts)
    k = net.node("Exp", [net.scaled(k, 0.2)], k.shape)
    outer = net.mul(net.reshape(k, (1024, 2, 32, 1)), net.reshape(v, (1024, 2, 1, 32)))
    states = net.node("CumSum", [outer, net.constant(np.int64(0))], outer.shape)
    read = net.node("MatMul", [net.reshape(q, (1024, 2, 1, 32)), states], (1024, 2, 1, 32))
    net.output(net.scaled(net.linear(net.reshape(read, (1024, 64)), 256), 1 / 64))
    return net


def trimmed_mean():
    """Rows in order, without their ends."""
    net = Net("trimmed_mean", seed=84)
    x = net.input("x", (16, 4096))
    ordered, _ = net.top_k(x, 4096, 1)
    middle = net.slice(ordered, 1, 512, 4096 - 512)
    net.output(net.node("ReduceMean", [middle], (16, 1), axes=[1], keepdims=1))
    return net


NETS = (graph_net, token_sampler, detection_head, linear_attention, trimmed_mean)
