#!/usr/bin/env python3
"""Packs from node to node: through a registry by oras, and into a chroot of another user, which compiles nothing."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import skipping  # noqa: E402

try:
    from models import make_model
except ImportError as error:
    skipping.skip_all(str(error))

import nodes  # noqa: E402
import remote_servers  # noqa: E402

OTHER_USER = 54321


class Chroot:
    """A root folder with Hearth's programs, the libraries that they load and nothing else, for a user of its own."""

    def __init__(self, folder, key):
        self.root = pathlib.Path(folder)
        for name in ("hearth", "hearthd", "hearth-worker"):
            self.take(nodes.BIN / name)
            for library in self.libraries(nodes.BIN / name):
                self.take(library)
        self.home = self.root / "home"
        for place in (self.home, self.root / "proc", self.root / "dev", self.root / "tmp"):
            place.mkdir(parents=True, exist_ok=True)
        for place in (self.home, self.root / "tmp"):
            os.chown(place, OTHER_USER, OTHER_USER)
        self.environment = {"HOME": "/home", "PATH": f"{nodes.BIN}:{os.environ['PATH']}", "HEARTH_SOCKET": "/home/s", "TMPDIR": "/tmp",
                            "HEARTH_CACHE_DIR": "/home/cache", "HEARTH_REMOTE_TRUSTED_KEYS": key, "HEARTH_THREADS": "2"}

    def take(self, path):
        to = self.root / str(path).lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(os.path.realpath(path), to)

    @staticmethod
    def libraries(program):
        lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines()
        return {word for line in lines for word in line.split() if word.startswith("/")}

    def run(self, *words):
        """In a mount namespace that goes with the process: what is mounted below the root is seen by nobody else."""
        inside = ('mount --bind /proc "$0/proc" && mount --bind /dev "$0/dev" && '
                  f'exec chroot --userspec={OTHER_USER}:{OTHER_USER} "$0" "$@"')
        return subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", inside, self.root, *words],
                              capture_output=True, text=True, env=self.environment, timeout=600)

    def hearth(self, *arguments, check=True):
        done = self.run(nodes.BIN / "hearth", *map(str, arguments))
        if check and done.returncode != 0:
            raise AssertionError(f"hearth {arguments}: {done.stdout}{done.stderr}")
        return done

    def close(self):
        self.hearth("daemon", "stop", check=False)


class PacksTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.key = nodes.Key(self.folder / "writer.key")
        self.model = make_model(self.folder / "model.onnx")
        self.receipt = self.folder / "receipt.json"

    def node(self, name, **options):
        node = nodes.Node(self.folder / name, **options)
        self.addCleanup(node.stop)
        return node

    def exported(self, *where):
        """The pack of a node that has compiled the model."""
        node = self.node("writer", writer=self.key.file)
        nodes.hearth("prewarm", self.model, "--threads", 2, "--report", self.receipt, "--socket", node.socket)
        nodes.hearth("cache", "export", "--receipt", self.receipt, *where, "--socket", node.socket)
        return node

    def chroot(self):
        if os.geteuid() != 0:
            self.skipTest("a chroot needs root")
        place = Chroot(self.folder / "root", self.key.public)
        os.chmod(self.folder, 0o755)
        tried = place.run(nodes.BIN / "hearth", "--version")
        if tried.returncode != 0:
            self.skipTest(f"no program can be run in a chroot here: {tried.stderr.strip()}")
        self.addCleanup(place.close)
        return place

    def test_a_pack_goes_through_a_registry_to_another_user_who_compiles_nothing(self):
        try:
            oras = remote_servers.package_program("oras")
            registry = remote_servers.Registry(self.folder / "registry")
        except remote_servers.Unavailable as error:
            self.skipTest(str(error))
        self.addCleanup(registry.__exit__)
        self.exported("--oci", self.folder / "layout")
        place = self.chroot()
        name = f"{registry.address}/hearth/model:v1"

        def copy(*words):
            done = subprocess.run([oras, "copy", *words], capture_output=True, text=True, timeout=600,
                                  env={"PATH": os.environ["PATH"], "HOME": str(self.folder)})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

        copy("--from-oci-layout", f"{self.folder}/layout:pack", "--to-plain-http", name)
        copy("--from-plain-http", name, "--to-oci-layout", f"{place.home}/got:v1")
        subprocess.run(["chown", "-R", f"{OTHER_USER}", place.home], check=True)
        shutil.copy2(self.model, place.home)

        place.hearth("cache", "import", "--oci", "/home/got", "--report", "/home/receipt.json")
        self.assertEqual((place.home / "receipt.json").read_bytes(), self.receipt.read_bytes())
        done = place.hearth("prewarm", "/home/model.onnx", "--threads", 2, "--sealed", "--report", "/home/now.json")
        self.assertIn(" 0 compiled now", done.stdout + done.stderr)
        now = json.loads((place.home / "now.json").read_text())
        self.assertTrue(now["complete"])
        self.assertEqual([row["plan_key"] for row in now["covered"]],
                         [row["plan_key"] for row in json.loads(self.receipt.read_text())["covered"]])
        self.assertEqual({row["pack"]["name"] for row in now["covered"]}, {"/home/got"})
        stats = json.loads(place.hearth("stats", "--json").stdout)
        self.assertEqual(stats["kernels_compiled"], 0)
        ran = place.hearth("run", "/home/model.onnx")
        self.assertIn("output y0", ran.stdout)

    def test_a_byte_changed_on_the_way_is_refused_and_nothing_is_kept(self):
        pack = self.folder / "model.hearthpack"
        self.exported(pack)
        reader = self.node("reader", trusted=[self.key.public])
        bytes_ = bytearray(pack.read_bytes())
        for at in range(0, len(bytes_), max(1, len(bytes_) // 40)):
            bytes_[at] ^= 1
            pack.write_bytes(bytes_)
            done = nodes.hearth("cache", "import", pack, "--socket", reader.socket, check=False)
            self.assertEqual(done.returncode, 1, f"byte {at}")
            self.assertIn(str(pack), done.stderr)
            bytes_[at] ^= 1
        pack.write_bytes(bytes_[: len(bytes_) // 2])
        done = nodes.hearth("cache", "import", pack, "--socket", reader.socket, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("its header says", done.stderr)
        listed = nodes.hearth("cache", "ls", "--json", "--socket", reader.socket)
        self.assertEqual(json.loads(listed.stdout)["entries"], [])
        pack.write_bytes(bytes_)
        nodes.hearth("cache", "import", pack, "--socket", reader.socket)
        self.assertEqual(reader.prewarm(self.model)["compiled"], 0)

    def test_a_miss_says_which_pack_had_the_plan_and_what_the_remote_cache_is(self):
        pack = self.folder / "model.hearthpack"
        self.exported(pack)
        reader = self.node("reader", remote="unix:/nobody/listens/here", trusted=[self.key.public])
        nodes.hearth("cache", "import", pack, "--socket", reader.socket)
        name = str(self.model)
        here = nodes.hearth("explain", name, "--why-miss", "--threads", 2, "--socket", reader.socket)
        self.assertIn("is in the cache", here.stdout)
        nodes.hearth("cache", "rm", "--model", "model.onnx", "--socket", reader.socket)
        gone = nodes.hearth("explain", name, "--why-miss", "--threads", 2, "--socket", reader.socket, check=False)
        self.assertEqual(gone.returncode, 3)
        self.assertIn(f"the pack {pack} had it: import it again", gone.stdout)
        self.assertIn("a prepare asks the remote cache for it: unix:/nobody/listens/here", gone.stdout)

    def test_a_pack_of_a_stranger_is_refused(self):
        pack = self.folder / "model.hearthpack"
        self.exported(pack)
        stranger = nodes.Key(self.folder / "stranger.key")
        reader = self.node("reader", trusted=[stranger.public])
        done = nodes.hearth("cache", "import", pack, "--socket", reader.socket, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("not trusted", done.stderr)
        self.assertGreater(reader.prewarm(self.model)["compiled"], 0)


if __name__ == "__main__":
    skipping.main()
