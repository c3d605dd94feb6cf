#!/usr/bin/env python3
"""The official Silero VAD in numpy, with the weights of one of the two networks in its ONNX file: prints one probability
a line. An independent judge of the branch that the importer takes.

/usr/bin/python3 silero_onnx_numpy.py silero_vad.onnx speech_8k.wav 8000 NUMBER_OF_CHUNKS
"""
import sys

import numpy as np
import onnx
from onnx import numpy_helper


def convolve(x, weight, bias, stride, pad):
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (pad, pad))), weight.shape[2], 1)
    return np.einsum("oik,itk->ot", weight, windows[:, ::stride]) + bias[:, None]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def weights_of(path, branch):
    (choice,) = [node for node in onnx.load(path).graph.node if node.op_type == "If"]
    (graph,) = [attribute.g for attribute in choice.attribute if attribute.name == branch]
    return {node.output[0].split("__")[-1]: numpy_helper.to_array(node.attribute[0].t).astype(np.float64)
            for node in graph.node if node.op_type == "Constant"}


def main(model, recording, rate, chunks):
    w = weights_of(model, "then_branch" if rate == 16000 else "else_branch")
    basis = w["stft.forward_basis_buffer"]
    size, chunk = basis.shape[2], rate * 32 // 1000
    bands = size // 2 + 1
    audio = np.frombuffer(open(recording, "rb").read()[44:], np.int16) / 32768
    context, h, c = np.zeros(chunk // 8), np.zeros(128), np.zeros(128)
    for i in range(chunks):
        window = np.concatenate([context, audio[chunk * i:chunk * (i + 1)]])
        context = window[-(chunk // 8):]
        padded = np.pad(window, (0, size // 4), "reflect")[None]
        spectrum = convolve(padded, basis, np.zeros(2 * bands), size // 2, 0)
        x = np.hypot(spectrum[:bands], spectrum[bands:])
        for layer, stride in enumerate((1, 2, 2, 1)):
            name = f"encoder.{layer}.reparam_conv"
            x = np.maximum(convolve(x, w[f"{name}.weight"], w[f"{name}.bias"], stride, 1), 0)
        gates = (w["decoder.rnn.weight_ih"] @ x[:, 0] + w["decoder.rnn.bias_ih"] +
                 w["decoder.rnn.weight_hh"] @ h + w["decoder.rnn.bias_hh"])
        enter, forget, cell, leave = np.split(gates, 4)
        c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(cell)
        h = sigmoid(leave) * np.tanh(c)
        out = w["decoder.decoder.2.weight"][0, :, 0] @ np.maximum(h, 0) + w["decoder.decoder.2.bias"][0]
        print("%.9g" % sigmoid(out))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
