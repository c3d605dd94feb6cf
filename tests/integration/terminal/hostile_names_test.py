"""Names in models, paths and messages that try to drive the terminal: every command prints them as escapes, --json is
valid UTF-8, no line is forged, and the daemon's log is as clean."""
import json
import os
import unittest

from place import Place, leaf_commands, onnx_or_skip, unsafe_characters

onnx = onnx_or_skip()
TITLE = "\x1b]0;pwned\x07\x1b[2J"
FORGED = "\r\nhearth: forged"
HIDDEN = "\u202e\u2066\u200b\u009b31m\u2028\x7f"
HOSTILE = TITLE + FORGED + HIDDEN
FORMS = ([], ["--json"])


def model(path, x="x", y="y", node="n", middle="t", dim="d", op="Relu", domain="", graph="g", weight=None):
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [helper.make_node("Add", [x, weight or x], [middle], name=node),
             helper.make_node(op, [middle], [y], name=node + "2", domain=domain)]
    weights = [helper.make_tensor(weight, kind, [4], [1.0] * 4)] if weight else []
    made = helper.make_model(
        helper.make_graph(nodes, graph, [helper.make_tensor_value_info(x, kind, [dim, 4])],
                          [helper.make_tensor_value_info(y, kind, [dim, 4])], weights),
        opset_imports=[helper.make_opsetid("", 15)] + ([helper.make_opsetid(domain, 1)] if domain else []))
    made.ir_version = 8
    made.producer_name = graph
    with open(path, "wb") as file:
        file.write(made.SerializeToString())
    return path


class HostileNamesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(HEARTH_LOG_LEVEL="trace")
        cls.addClassCleanup(cls.place.__exit__)
        folder = cls.place.folder
        names = {"x": "in" + HOSTILE, "y": "out" + HOSTILE, "node": "node" + HOSTILE, "middle": "t" + HOSTILE,
                 "graph": "g" + HOSTILE, "weight": "w" + HOSTILE}
        cls.hostile = model(folder / "hostile.onnx", dim="d" + HOSTILE, **names)
        cls.unknown_operator = model(folder / "unknown.onnx", op="Op" + HOSTILE, domain="dom" + HOSTILE, dim="d", **names)
        cls.dim = ["--dim", "d" + HOSTILE + "=2"]
        cls.commands = leaf_commands(cls.place)

    def check(self, *words, codes=(0, 1), **more):
        ran = self.place.run(*words, **more)
        with self.subTest(words=words, stdout=ran.stdout[:2000], stderr=ran.stderr):
            self.assertIn(ran.returncode, codes)
            for data in (ran.stdout_bytes, ran.stderr_bytes):
                self.assertEqual(unsafe_characters(data), [])
                for line in data.decode(errors="replace").splitlines():
                    self.assertFalse(line.startswith("hearth: forged"), line)
            self.assertNotIn("libprotobuf", ran.stderr)
            self.assertTrue(ran.returncode == 0 or ran.stderr.startswith("hearth: ") or ran.stdout, ran.stderr)
            self.assertNotIn("hearth: \n", ran.stderr)
            if "--json" in words and ran.stdout:
                json.loads(ran.stdout_bytes.decode())
        return ran

    def lines(self, path, dims):
        for command, *rest in (["run", "--profile", "--output-dir", "out"], ["explain"], ["explain", "--dump"],
                               ["explain", "--target", "vulkan:lavapipe"],
                               ["export", "-o", "out.hearth"], ["prewarm"], ["tune", "--budget", "0.1"]):
            yield [command, path, *dims, *rest]
        yield ["onnx", "check", path, *dims]
        if ("inspect",) in self.commands:
            yield ["inspect", path]

    def test_a_manifest_of_hostile_names(self):
        self.check("emit", self.hostile, *self.dim, "--target", "vulkan:lavapipe", "--output-dir", "emitted", codes=(0,))
        manifest = (self.place.folder / "emitted/manifest.json").read_bytes()
        self.assertEqual(unsafe_characters(manifest), [])
        self.assertIn("in" + HOSTILE, [buffer["name"] for buffer in json.loads(manifest)["buffers"]])

    def test_a_model_of_hostile_names(self):
        for form in FORMS:
            for line in self.lines(self.hostile, self.dim):
                self.check(*line, *form, codes=(0,))
            for line in (["stats"], ["cache", "ls"], ["cache", "verify"], ["daemon", "status"]):
                self.check(*line, *form, codes=(0,))
            self.check("run", "out.hearth", *form, codes=(0,))

    def test_its_errors(self):
        for form in FORMS:
            for line in self.lines(self.hostile, []):  # a dimension is missing
                self.check(*line, *form)
            for line in self.lines(self.unknown_operator, ["--dim", "d=2"]):
                self.check(*line, *form)
            self.check("run", self.hostile, *self.dim, "--input", "no" + HOSTILE + "=x.npy", *form, codes=(1,))
            self.check("run", self.hostile, *self.dim, "--var", "no" + HOSTILE + "=1", *form, codes=(1,))

    def test_hostile_words_and_paths(self):
        bad = b"bad\xff\xc3(" + HOSTILE.encode()
        hostile_path = self.place.folder / "path\x1b]0;pwned\x07\u202e\n.onnx"
        model(hostile_path)
        for form in FORMS:
            self.check("run", hostile_path, "--dim", "d=2", *form, codes=(0,))
            self.check("prewarm", hostile_path, bad, "--dim", "d=2", *form, codes=(1,))
            self.check("export", hostile_path, "--dim", "d=2", "-o", bad + b".hearth", *form, codes=(0,))
            self.check("run", bad + b".hearth", *form, codes=(0,))
            for words in (["run", bad], ["run", hostile_path, "--dim", bad], ["explain", bad], ["onnx", "check", bad],
                          ["stats", "--socket", bad], ["tune", bad], ["export", bad, "-o", bad]):
                self.check(*words, *form, codes=(1, 2))
        for words in ([HOSTILE], [bad], ["run", hostile_path, "--" + HOSTILE], ["help", HOSTILE], ["cache", bad],
                      ["run", hostile_path, "--device", HOSTILE], ["run", hostile_path, "--seed", bad]):
            self.check(*words, codes=(2,))
        ran = self.place.run(b"--config=" + bad, program="hearthd")
        self.assertEqual((ran.returncode, unsafe_characters(ran.stderr_bytes)), (2, []))
        ran = self.place.run("--replay", bad, program="hearth-worker")
        self.assertEqual((ran.returncode, unsafe_characters(ran.stderr_bytes)), (2, []))

    def test_names_that_are_no_utf8(self):
        def patched(name, mark=b"ABCDEFGH", by=b"AB\xff\xfe\xc3(GH"):
            data = (self.place.folder / name).read_bytes()
            self.assertIn(mark, data)
            (self.place.folder / name).write_bytes(data.replace(mark, by))
            return name

        model(self.place.folder / "node.onnx", node="ABCDEFGH", dim="d")
        model(self.place.folder / "output.onnx", y="ABCDEFGH", dim="d")
        model(self.place.folder / "input.onnx", x="ABCDEFGH", dim="d")
        model(self.place.folder / "op.onnx", op="ABCDEFGH", dim="d")
        for form in FORMS:
            for line in self.lines(patched("node.onnx") if not form else "node.onnx", ["--dim", "d=2"]):
                self.check(*line, *form, codes=(0,))  # a node's name is only told
        for name, what in (("output.onnx", "output"), ("input.onnx", "input"), ("op.onnx", "operator")):
            patched(name)
            for form in FORMS:
                for line in self.lines(name, ["--dim", "d=2"]):
                    ran = self.check(*line, *form)
                    if line[0] in ("run", "explain", "export", "tune"):
                        self.assertEqual(ran.returncode, 1)
                        self.assertIn(what, ran.stderr)
                        self.assertIn("AB\\xff\\xfe\\xc3(GH", ran.stderr)

    def test_a_long_name_is_not_cut_within_a_letter(self):
        for length in range(250, 260):
            path = model(self.place.folder / "long.onnx", node="x" + "ы" * length, dim="d")
            self.check("explain", path, "--dim", "d=2", "--json", codes=(0,))

    def test_the_log_of_a_daemon(self):
        socket = self.place.folder / ("s" + TITLE[:10] + "\u202e")
        other = {"HEARTH_SOCKET": os.fsencode(socket), "HEARTH_LOG": str(self.place.folder / "other.log"),
                 "HEARTH_CACHE_DIR": str(self.place.folder / ("c" + HIDDEN))}
        started = self.place.run("daemon", "start", environment=other)
        self.assertEqual(started.returncode, 0, started.stderr)
        self.assertEqual(unsafe_characters(started.stdout_bytes), [])
        self.assertEqual(self.place.run("daemon", "stop", environment=other).returncode, 0)
        log = (self.place.folder / "other.log").read_bytes()
        self.assertIn(b"\\x1b]0;pwned", log)
        self.assertIn(b"\\u202e", log)
        self.assertEqual(unsafe_characters(log), [])
        # And of the one that all the models here went through.
        self.assertEqual(unsafe_characters(self.place.log.read_bytes()), [])


if __name__ == "__main__":
    unittest.main()
