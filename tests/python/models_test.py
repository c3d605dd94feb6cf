"""Whole models (tests/models) through a daemon, against outputs of numpy in f64, or those of HEARTH_TEST_MODELS."""
import wave

from place import MADE, MODELS, NO_SILERO, Place, hearth, np, skipping


class Silero(Place):
    def setUp(self):
        if not (MODELS / "silero_vad.onnx").exists():
            self.skipTest(NO_SILERO)
        with wave.open(str(MODELS / "speech_16k.wav")) as file:
            self.samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype("f") / 32768
        self.want = np.loadtxt(MODELS / "silero_probs_speech_16k.txt")

    def chunks(self):
        context = np.zeros(64, "f")
        for start in range(0, len(self.samples) - 511, 512):
            chunk = np.concatenate([context, self.samples[start:start + 512]])[None]
            context = chunk[0, -64:]
            yield chunk

    def test_called_with_its_state(self):
        f = hearth.load(MODELS / "silero_vad.onnx", dims={"input.0": 1, "input.1": 576, "state.1": 1}, constants={"sr": 16000})
        state, got = np.zeros((2, 1, 128), "f"), []
        for chunk in self.chunks():
            out = f(chunk, state, 16000)
            state = out.stateN
            got.append(out.output[0, 0])
        self.assertEqual(len(got), len(self.want))
        self.assertLess(np.abs(np.array(got) - self.want).max(), 1e-4)

    def test_as_a_stream(self):
        f = hearth.load(MODELS / "silero_vad.onnx", dims={"input.0": 1, "input.1": 576, "state.1": 1}, constants={"sr": 16000})
        s = f.stream(carry={"stateN": "state"})
        got = np.array([s(chunk)[0, 0] for chunk in self.chunks()])
        self.assertLess(np.abs(got - self.want).max(), 1e-4)


class Conformer(Place):
    def test_at_three_lengths(self):
        folder = MADE / "bench"
        name = "conformer_d256_h4_t256_dynamic"
        f = hearth.load(folder / f"{name}.onnx", dims={"batch": (1, 4), "time": (1, 256)})
        for shape in ("1x256x256", "1x100x256", "3x37x256"):
            with self.subTest(shape):
                x = np.load(folder / f"{name}.{shape}.in.in0.npy")
                want = np.load(folder / f"{name}.{shape}.out.out.npy")
                y = f(x)
                self.assertEqual(y.shape, want.shape)
                self.assertLess(np.abs(y - want).max(), 1e-4)


if __name__ == "__main__":
    skipping.main()
