"""A decoder with a cache that grows, as language models are exported: against attention in numpy's f64, and the notebook."""
import json
import os
import subprocess
import tomllib
import warnings

from place import BIN, FOLDER, F, I, Place, hearth, model, np, random, skipping
from place import ROOT, node

V, D, HEADS, HEAD = 64, 32, 2, 16
W = {name: random(*shape, seed=i) * np.float32(0.3) for i, (name, shape) in enumerate(
    {"table": (V, D), "wq": (D, D), "wk": (D, D), "wv": (D, D), "wo": (D, V)}.items())}


def decoder():
    nodes = [node("Gather", ["table", "input_ids"], ["x"])]
    nodes += [node("MatMul", ["x", f"w{one}"], [one]) for one in "qkv"]
    nodes += [
        node("ReduceSum", ["attention_mask", "axis"], ["sum"], keepdims=0), node("Sub", ["sum", "one"], ["last"]),
        node("Cast", ["last"], ["seqlens"], to=6), node("Shape", ["attention_mask"], ["shape"]),
        node("Gather", ["shape", "one"], ["total"]), node("Cast", ["total"], ["total32"], to=6),
        node("GroupQueryAttention", ["q", "k", "v", "past_key_values.0.key", "past_key_values.0.value", "seqlens", "total32"],
             ["a", "present.0.key", "present.0.value"], domain="com.microsoft", num_heads=HEADS, kv_num_heads=HEADS),
        node("MatMul", ["a", "wo"], ["logits"]),
    ]  # fmt: skip
    past = ["batch_size", HEADS, "past_sequence_length", "kv_cache_dim"]
    made = model(nodes, {"input_ids": (I, ["batch_size", "sequence_length"]), "attention_mask": (I, ["batch_size", "total_sequence_length"]),
                         "past_key_values.0.key": (F, past), "past_key_values.0.value": (F, past)},
                 {"logits": F, "present.0.key": F, "present.0.value": F},
                 weights={**W, "axis": np.array([1]), "one": np.array(1)}, domains=("com.microsoft",))  # fmt: skip
    for output in made.graph.output[1:]:  # as builders declare them
        for length in ("batch_size", HEADS, "total_sequence_length", "kv_cache_dim"):
            dim = output.type.tensor_type.shape.dim.add()
            setattr(dim, "dim_param" if isinstance(length, str) else "dim_value", length)
    return made


def logits_of(ids):
    """Of all places, in f64."""
    x = W["table"].astype("f8")[ids]
    q, k, v = ((x @ W[f"w{one}"].astype("f8")).reshape(len(ids), HEADS, HEAD).swapaxes(0, 1) for one in "qkv")
    scores = q @ k.swapaxes(1, 2) / np.sqrt(HEAD) + np.triu(np.full((len(ids),) * 2, -np.inf), 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v).swapaxes(0, 1).reshape(len(ids), D) @ W["wo"].astype("f8")


DIMS = {"batch_size": 1, "sequence_length": (1, 8), "past_sequence_length": (0, 40), "kv_cache_dim": HEAD,
        "total_sequence_length": "past_sequence_length + sequence_length"}
CARRY = {"present.*": "past_key_values.*"}


class Decoder(Place):
    def setUp(self):
        self.f = self.load(decoder(), dims=DIMS, carry=CARRY)

    def check_step(self, stream, all, count):
        got = stream(np.array([all[-count:]]), np.ones((1, len(all)), I))
        np.testing.assert_allclose(got[0], logits_of(all)[-count:], rtol=1e-4, atol=1e-5)

    def test_the_stream_counts_what_it_carries(self):
        stream = self.f.stream()
        all = []
        for count in (5, 1, 1, 8, 2, 1):
            all += [(7 * len(all) + i) % V for i in range(count)]
            self.check_step(stream, all, count)
        with self.refused(ValueError, "attention_mask", "past_sequence_length=18"):
            stream(np.array([[1]]), np.ones((1, 3), I))
        stream.reset()
        self.check_step(stream, [3, 4], 2)

    def test_a_state_of_any_length_goes_back(self):
        stream, other = self.f.stream(), self.f.stream()
        all = [3, 1, 4, 1, 5, 9]
        self.check_step(stream, all, 6)
        short = stream.state
        self.assertEqual({one.shape for one in short.values()}, {(1, HEADS, 6, HEAD)})
        for more in ([2], [6, 5, 3], [5]):
            all = all + more
            self.check_step(stream, all, len(more))
        for one in (stream, other):  # used, and fresh
            one.reset(**short)
            self.check_step(one, [3, 1, 4, 1, 5, 9, 33, 34], 2)
            self.check_step(one, [3, 1, 4, 1, 5, 9, 33, 34, 35], 1)
        stream.reset(**{name: np.asarray(value)[:, :, :2] for name, value in short.items()})  # rolled back to two tokens
        self.check_step(stream, [3, 1, 60], 1)
        self.assertEqual(stream.submit(np.array([[7]]), np.ones((1, 4), I)).result().shape, (1, 1, V))
        for bad, words in ((np.zeros((1, HEADS, 41, HEAD), F), "float32 [1, 2, 41, 16]; expected float32 [1, 2, past_sequence_length, 16]"),
                           (np.zeros((1, HEADS, 3, 8), F), "expected float32"), (np.zeros((HEADS, 3, HEAD), F), "expected float32"),
                           (np.zeros((1, HEADS, 3, HEAD), "f8"), "expected float32")):
            with self.subTest(words), self.refused(ValueError, "reset: 'past_key_values.0.key' is", words):
                stream.reset(**{**short, "past_key_values.0.key": bad})

    def test_patterns_of_names(self):
        self.assertEqual(self.f.carry, {f"present.0.{one}": f"past_key_values.0.{one}" for one in ("key", "value")})
        plain = self.load(decoder(), dims=DIMS)
        self.assertEqual(plain.stream(CARRY)(np.array([[3, 4]]), np.ones((1, 2), I)).shape, (1, 2, V))
        for carry, words in (({"presnt.*": "past_key_values.*"}, "no output is called like 'presnt.*'"),
                             ({"present.*": "past.*"}, "there is no input 'past.0.key'"), ({"logit": "input_ids"}, "did you mean 'logits'?"),
                             ({"present.*": "past"}, "expected one * in both"), ({"a*b*": "c*d*"}, "expected one *"), ({3: "x"}, "carry: 3 is no name")):
            with self.subTest(words), self.refused(TypeError, words):
                self.load(decoder(), dims=DIMS, carry=carry)
            with self.subTest(words), self.refused(TypeError, words):
                self.load(decoder(), dims=DIMS, carry=carry, sealed=True)  # names first
            with self.subTest(words), self.refused(TypeError, words):
                plain.stream(carry)

    def test_what_the_file_says_of_its_cache(self):
        made = decoder()
        info = hearth.inspect(made)
        self.assertEqual(info.carry, self.f.carry)
        self.assertEqual(info.sums, {"total_sequence_length": "past_sequence_length + sequence_length"})
        path = FOLDER / "cached.onnx"
        path.write_bytes(made.SerializeToString())
        written = subprocess.run([BIN / "hearth", "inspect", "--manifest", path], capture_output=True, text=True, check=True).stdout
        entry = tomllib.loads(written)["model"][0]
        self.assertEqual(entry["dims"], {"batch_size": 1, "sequence_length": "1:64", "past_sequence_length": "0:64", "kv_cache_dim": 16,
                                         "total_sequence_length": "past_sequence_length + sequence_length"})
        self.assertEqual(entry["carry"], self.f.carry)
        (FOLDER / "models.toml").write_text(written)
        subprocess.run([BIN / "hearth", "prewarm", "--manifest", FOLDER / "models.toml"], capture_output=True, check=True)
        f = hearth.load(path, dims={**DIMS, "sequence_length": (1, 64), "past_sequence_length": (0, 64)}, carry=CARRY, sealed=True)
        self.check_step(f.stream(), [3, 4, 5], 3)

    def test_without_dims_it_is_called_as_onnx_runtime_is(self):
        f, past, all = self.load(decoder()), np.zeros((1, HEADS, 0, HEAD), F), []
        key = value = past
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for step in range(9):
                new = [1, 2, 3] if not step else [step]
                all += new
                logits, key, value = f(np.array([new]), np.ones((1, len(all)), I), key, value)
                np.testing.assert_allclose(logits[0], logits_of(all)[-len(new):], rtol=1e-4, atol=1e-5)
        self.assertIn("'total_sequence_length': 'past_sequence_length + sequence_length'", str(said[0].message))
        self.assertIn("carry={'present.0.key': 'past_key_values.0.key'", str(said[0].message))

    def test_the_notebook_of_a_language_model(self):
        folder = FOLDER / "decoder"
        folder.mkdir()
        (folder / "model.onnx").write_bytes(decoder().SerializeToString())
        (folder / "genai_config.json").write_text(json.dumps({"model": {"context_length": 256, "decoder": {"head_size": HEAD}}}))
        os.environ["DECODER"] = str(folder)
        text = (ROOT / "examples" / "python" / "decoder.ipynb").read_text().replace("99", "59")  # of the model's few tokens
        names = {}
        for cell in json.loads(text)["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), names)
        ids = [1, 17, 42, 59, 5, 7]
        for token in names["tokens"]:
            self.assertEqual(token, int(logits_of(ids)[-1].argmax()))
            ids.append(token)
        self.assertEqual(names["others"][0], names["tokens"])
        self.assertEqual([len(one) for one in names["others"]], [12, 12, 12])


if __name__ == "__main__":
    skipping.main()
