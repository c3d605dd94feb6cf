"""Files that commands write and read: outputs named after their tensors, pipes, devices, links, standard streams."""
import json
import os
import stat
import subprocess
import threading
import unittest

from place import DIGITS, SOURCE, Place, onnx_or_skip, skip

onnx = onnx_or_skip()
IMAGES = SOURCE / "examples/digits/digits_images.npy"


def identity(path, outputs):
    """A model with one input and outputs of these names."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [helper.make_node("Relu", ["x"], [name]) for name in outputs]
    made = helper.make_model(helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", kind, [2])],
                                               [helper.make_tensor_value_info(name, kind, [2]) for name in outputs]),
                             opset_imports=[helper.make_opsetid("", 15)])
    made.ir_version = 8
    path.write_bytes(made.SerializeToString())
    return path


class FilesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place()
        cls.addClassCleanup(cls.place.__exit__)
        cls.folder = cls.place.folder

    def test_output_files_are_named_after_outputs(self):
        names = ["выход", "出力", "a/b", "a:b", "a_b", "a_b_2", "..", ".hidden", "-rf", "x" * 300, "x" * 299 + "y", "é\x1b[2J"]
        model = identity(self.folder / "names.onnx", names)
        ran = self.place.run_ok("run", model, "--output-dir", "named", "--json")
        files = {output["name"]: output["file"] for output in json.loads(ran.stdout)["outputs"]}
        self.assertEqual(list(files), names)
        self.assertEqual(len(set(files.values())), len(names))
        written = os.listdir(self.folder / "named")
        self.assertEqual(sorted("named/" + name for name in written), sorted(files.values()))
        self.assertEqual(files["выход"], "named/выход.npy")
        self.assertEqual(files["出力"], "named/出力.npy")
        for name in written:
            self.assertNotRegex(name, r"^[.-]")
            self.assertTrue(name.isprintable())
        text = self.place.run_ok("run", model, "--output-dir", "named")
        self.assertIn("output выход f32[2] -> named/выход.npy\n", text.stdout)
        self.assertIn("output a/b f32[2] -> named/a_b.npy\n", text.stdout)

    def test_a_model_or_array_from_standard_input(self):
        data = DIGITS.read_bytes()
        for words in (["run", "-"], ["explain", "-"], ["onnx", "check", "-"], ["prewarm", "-"],
                      ["tune", "-", "--budget", "0.1"], ["export", "-", "-o", "out.hearth"], ["run", "/dev/stdin"]):
            with self.subTest(words=words):
                ran = self.place.run(*words, input=data)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertNotIn("/proc/", ran.stdout + ran.stderr)
        ran = self.place.run_ok("run", "-", input=data)
        self.assertTrue(ran.stdout.startswith("standard input on cpu"), ran.stdout)
        self.assertEqual(json.loads(self.place.run_ok("prewarm", "-", "--json", input=data).stdout)["models"][0]["model"],
                         "standard input")
        self.place.run_ok("run", DIGITS, "--input", f"image={IMAGES}", "--output-dir", "by_file")
        self.place.run_ok("run", DIGITS, "--input", "image=-", "--output-dir", "by_stream", input=IMAGES.read_bytes())
        self.assertEqual((self.folder / "by_file/probability.npy").read_bytes(),
                         (self.folder / "by_stream/probability.npy").read_bytes())

    def test_what_is_wrong_with_standard_input_is_told_of_it(self):
        for words in (["run", "-"], ["explain", "-"], ["onnx", "check", "-"]):
            ran = self.place.run(*words, input=b"no model")
            self.assertEqual(ran.returncode, 1)
            self.assertIn("standard input", ran.stderr)
            self.assertNotIn("/proc/", ran.stderr)
        ran = self.place.run("run", "-", stdin=None, preexec_fn=lambda: os.close(0))
        self.assertEqual((ran.returncode, ran.stderr), (1, "hearth: standard input: cannot be read: Bad file descriptor\n"))

    def test_a_plan_file_through_pipes(self):
        plan = self.place.run_ok("export", DIGITS, "-o", "-")
        self.assertEqual(plan.stdout_bytes[:8], b"HEARTHPF")
        self.assertEqual(plan.stderr, "")
        refused = self.place.run("run", "-", input=plan.stdout_bytes)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("this is a plan file, machine code of whoever wrote it", refused.stderr)
        self.assertEqual(self.place.run("run", "-", "--plan", input=plan.stdout_bytes).returncode, 0)
        # As /dev/stdout is, but the test's own: a wrong write would replace it.
        (self.folder / "stdout").symlink_to("/proc/self/fd/1")
        by_name = self.place.run_ok("export", DIGITS, "-o", "stdout")
        self.assertEqual(by_name.stdout_bytes, plan.stdout_bytes)
        ran = self.place.run("export", DIGITS, "-o", "-", "--json")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))

    def test_a_named_pipe_is_read_and_written(self):
        os.mkfifo(self.folder / "in")
        os.mkfifo(self.folder / "out")
        writer = threading.Thread(target=lambda: (self.folder / "in").write_bytes(DIGITS.read_bytes()))
        writer.start()
        ran = self.place.run("run", "in")
        writer.join()
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue(ran.stdout.startswith("in on cpu"), ran.stdout)
        got = []
        reader = threading.Thread(target=lambda: got.append((self.folder / "out").read_bytes()))
        reader.start()
        self.place.run_ok("export", DIGITS, "-o", "out")
        reader.join()
        self.assertEqual(got[0][:8], b"HEARTHPF")
        self.assertTrue(stat.S_ISFIFO(os.stat(self.folder / "out").st_mode))

    def test_a_pipe_that_nobody_writes_to_is_an_error(self):
        os.mkfifo(self.folder / "nobody")
        ran = self.place.run("run", "nobody")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("hearth: nobody: nobody opened this pipe for writing", ran.stderr)

    def device(self, name, minor):
        """A device that a wrong write may replace without harm: root's own, or the system's where that is protected."""
        if os.geteuid() != 0:
            return "/dev/" + name
        path = self.folder / name
        try:
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
            open(path, "wb").close()
        except OSError as error:
            skip(f"no device can be made in {self.folder}: {error}")
        return str(path)

    def test_a_device_is_written_to(self):
        null, full = self.device("null", 3), self.device("full", 7)
        ran = self.place.run("export", DIGITS, "-o", null)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue(stat.S_ISCHR(os.stat(null).st_mode))
        ran = self.place.run("export", DIGITS, "-o", full)
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        self.assertEqual(ran.stderr, f"hearth: {full}: cannot be written: No space left on device\n")
        self.assertTrue(stat.S_ISCHR(os.stat(full).st_mode))

    def test_a_link_stays_and_nothing_lies_beside_what_was_written(self):
        place = self.folder / "links"
        (place / "deep").mkdir(parents=True)
        (place / "link").symlink_to("deep/plan")
        self.place.run_ok("export", DIGITS, "-o", "links/link")
        self.assertTrue((place / "link").is_symlink())
        self.assertEqual(os.listdir(place / "deep"), ["plan"])
        self.assertEqual(sorted(os.listdir(place)), ["deep", "link"])

    def test_two_exports_to_one_path_leave_one_whole_file(self):
        self.place.run_ok("export", DIGITS, "-o", "alone.hearth")
        running = [subprocess.Popen(self.place.words("export", DIGITS, "-o", "shared.hearth", "-q"),
                                    env=self.place.environment, cwd=self.folder) for _ in range(6)]
        self.assertEqual([process.wait(timeout=300) for process in running], [0] * 6)
        self.assertEqual((self.folder / "shared.hearth").read_bytes(), (self.folder / "alone.hearth").read_bytes())
        self.assertEqual([name for name in os.listdir(self.folder) if name.endswith(".part")], [])


if __name__ == "__main__":
    unittest.main()
