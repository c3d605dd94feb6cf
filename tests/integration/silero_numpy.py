#!/usr/bin/env python3
"""Silero VAD in numpy, chunk by chunk: prints one probability a line. An independent judge of the Tensor API's model.

/usr/bin/python3 silero_numpy.py silero_vad_16k.safetensors speech_16k.wav NUMBER_OF_CHUNKS
"""
import json
import struct
import sys

import numpy as np


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return {name: np.frombuffer(data[entry["data_offsets"][0]:entry["data_offsets"][1]], np.float32)
            .reshape(entry["shape"]).astype(np.float64) for name, entry in header.items() if name != "__metadata__"}


def convolve(x, weight, bias, stride, pad):
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (pad, pad))), weight.shape[2], 1)
    return np.einsum("oik,itk->ot", weight, windows[:, ::stride]) + bias[:, None]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def main(weights, recording, chunks):
    w = read_safetensors(weights)
    audio = np.frombuffer(open(recording, "rb").read()[44:], np.int16) / 32768
    context, h, c = np.zeros(64), np.zeros(128), np.zeros(128)
    for i in range(chunks):
        window = np.concatenate([context, audio[512 * i:512 * (i + 1)]])
        context = window[-64:]
        spectrum = convolve(np.pad(window, (0, 64), "reflect")[None], w["stft_conv.weight"], np.zeros(258), 128, 0)
        x = np.hypot(spectrum[:129], spectrum[129:])
        for layer, stride in enumerate((1, 2, 2, 1), 1):
            x = np.maximum(convolve(x, w[f"conv{layer}.weight"], w[f"conv{layer}.bias"], stride, 1), 0)
        gates = (w["lstm_cell.weight_ih"] @ x[:, 0] + w["lstm_cell.bias_ih"] +
                 w["lstm_cell.weight_hh"] @ h + w["lstm_cell.bias_hh"])
        enter, forget, cell, leave = np.split(gates, 4)
        c = sigmoid(forget) * c + sigmoid(enter) * np.tanh(cell)
        h = sigmoid(leave) * np.tanh(c)
        print("%.9g" % sigmoid(w["final_conv.weight"][0, :, 0] @ np.maximum(h, 0) + w["final_conv.bias"][0]))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
