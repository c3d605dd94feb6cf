#!/usr/bin/python3
"""The models that the tests need, as files: make_models.py FOLDER [SILERO_WHEEL]

    FOLDER/bench/NAME.onnx, NAME.in.INPUT.npy, NAME.out.OUTPUT.npy   # workloads.py; results by numpy in f64
    FOLDER/speech_16k.wav                                            # a minute like speech (speech.py)
    FOLDER/silero_vad*                                               # out of the package silero-vad, when it is given
    FOLDER/silero_probs_speech_16k.txt                               # its probabilities by numpy in f64

A model with several shapes has its arrays under NAME.SHAPE, e.g. NAME.3x37x256.in.in0.npy. The same files on every
machine. Needs numpy and onnx (python3-numpy, python3-onnx).
"""
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx_numpy import evaluate
from speech import CHUNKS, write_speech
from workloads import WORKLOADS, uniform

# What is taken out of silero-vad 6.2.3 (MIT, Silero Team), by SHA-256.
SILERO = {
    "silero_vad.onnx": "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3",
    "silero_vad_16k_op15.onnx": "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
    "silero_vad_16k.safetensors": "c59271c284ae9c8335d795d60e0bfdb71aaaceec578d9bd9ffc1b8153c319ea1",
}
NUMPY_SILERO = Path(__file__).parents[1] / "integration" / "silero_onnx_numpy.py"


def write_workloads(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make, cases) in WORKLOADS.items():
        model = make()
        onnx.save(model, str(folder / f"{name}.onnx"))
        for shapes in cases:
            random = np.random.default_rng(13)
            inputs = {key: uniform(random, shape, 2) for key, shape in shapes.items()}
            stem = name if len(cases) == 1 else f"{name}.{'x'.join(map(str, shapes['in0']))}"
            for key, array in inputs.items():
                np.save(folder / f"{stem}.in.{key}.npy", array)
            for key, array in evaluate(model, inputs).items():
                np.save(folder / f"{stem}.out.{key}.npy", array.astype(np.float32))


def unpack_silero(folder, wheel):
    with zipfile.ZipFile(wheel) as package:
        for name, digest in SILERO.items():
            data = package.read(f"silero_vad/data/{name}")
            if hashlib.sha256(data).hexdigest() != digest:
                sys.exit(f"make_models.py: {name} in {wheel} is another file than the tests were written for")
            (folder / name).write_bytes(data)
    probabilities = subprocess.run([sys.executable, NUMPY_SILERO, folder / "silero_vad.onnx", folder / "speech_16k.wav",
                                    "16000", str(CHUNKS)], check=True, capture_output=True, text=True).stdout
    (folder / "silero_probs_speech_16k.txt").write_text(probabilities)


def main():
    folder = Path(sys.argv[1])
    write_workloads(folder / "bench")
    write_speech(folder / "speech_16k.wav")
    if len(sys.argv) > 2:
        unpack_silero(folder, sys.argv[2])


if __name__ == "__main__":
    main()
