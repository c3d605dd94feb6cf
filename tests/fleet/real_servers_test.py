#!/usr/bin/env python3
"""Nodes of a fleet beside real servers of the Remote Execution API: results are shared, servers may freeze and die,
certificates and tokens are wrong, expire and are renewed."""
import base64
import hashlib
import hmac
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
import skipping  # noqa: E402

try:
    from models import make_model
except ImportError as error:
    skipping.skip_all(str(error))

import nodes  # noqa: E402
import remote_servers  # noqa: E402


class Fleet(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        self.key = nodes.Key(self.folder / "writer.key")
        self.model = make_model(self.folder / "model.onnx")

    def server(self, kind, name="server", **options):
        try:
            server = kind(self.folder / name, **options)
        except remote_servers.Unavailable as error:
            self.skipTest(str(error))
        self.addCleanup(server.__exit__)
        return server

    def node(self, name, server, *, writes=False, address=None, **settings):
        node = nodes.Node(self.folder / name, remote=address or server.address, trusted=[self.key.public],
                          writer=self.key.file if writes else None, settings=settings)
        self.addCleanup(node.stop)
        return node


class Shared:
    """What is the same with each server."""

    def test_a_cold_node_loads_what_another_one_has_compiled(self):
        server = self.server(self.kind)
        writer = self.node("writer", server, writes=True)
        ok, steps = writer.check()
        self.assertTrue(ok, steps)
        self.assertEqual(set(steps), {"keys", "connect", "look up", "send", "load"})
        built = writer.prewarm(self.model)
        self.assertEqual(built["compiled"], built["kernels"])
        writer.wait_until_sent(built["kernels"] + 1)
        reader = self.node("reader", server)
        loaded = reader.prewarm(self.model)
        self.assertEqual((loaded["kernels"], loaded["compiled"]), (built["kernels"], 0))
        self.assertEqual(reader.remote()["hits"], 1)
        self.assertEqual(reader.remote()["misses"], 0)

    def test_a_node_goes_on_beside_a_server_that_freezes_thaws_and_dies(self):
        server = self.server(self.kind)
        node = self.node("node", server, writes=True)
        server.freeze()
        for i in range(4):
            model = make_model(self.folder / f"frozen{i}.onnx", kernels=i + 1)
            self.assertEqual(node.prewarm(model)["kernels"], i + 1)
        self.assertFalse(node.remote()["is_asked"])
        server.thaw()
        node.wait_until(lambda: node.remote()["is_asked"], "the server is asked again")
        server.kill()
        model = make_model(self.folder / "dead.onnx", kernels=7)
        self.assertEqual(node.prewarm(model)["kernels"], 7)
        server.start()
        node.wait_until(lambda: node.remote()["is_asked"], "the server that came back is asked")
        # One line each time, not a line a call.
        self.assertLessEqual(node.text().count("not asked for now"), 3)


class Wire:
    """Passes connections on to a server, and counts what is sent to it."""

    def __init__(self, port):
        self.port, self.sent, self.listener = port, 0, socket.create_server(("127.0.0.1", 0))
        self.address = f"grpc://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            threading.Thread(target=self.copy, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self.copy, args=(server, client, False), daemon=True).start()

    def copy(self, source, to, counts):
        try:
            while data := source.recv(1 << 16):
                self.sent += len(data) if counts else 0
                to.sendall(data)
        except OSError:
            pass
        for end in (source, to):
            end.close()


class WireTest(Fleet):
    def test_what_another_user_prepares_alone_sends_no_byte(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be two users")
        server = self.server(remote_servers.Casd)
        wire = Wire(server.port)
        self.addCleanup(wire.listener.close)
        for folder in (self.folder, self.folder / "node"):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        node = nodes.Node(self.folder / "node", remote=wire.address, trusted=[self.key.public], writer=self.key.file,
                          settings={"clients": "everyone", "sharing": "uid"})
        self.addCleanup(node.stop)
        node.wait_until(lambda: node.remote()["is_asked"], "the server is asked")
        before = wire.sent
        done = subprocess.run(["setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", nodes.BIN / "hearth",
                               "prewarm", self.model, "--threads", "2", "--socket", node.socket],
                              capture_output=True, text=True, timeout=600, env={**nodes.environment(), "HOME": "/"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(wire.sent, before)
        built = node.prewarm(self.model)  # root's own goes over the wire, and finds nothing of the other's
        self.assertEqual(built["compiled"], built["kernels"])
        self.assertGreater(wire.sent, before)
        node.wait_until_sent(built["kernels"] + 1)


class CasdTest(Shared, Fleet):
    kind = remote_servers.Casd

    def test_a_proxy_on_the_node_passes_results_on(self):
        server = self.server(remote_servers.Casd)
        proxy = self.server(remote_servers.CasdProxy, "proxy", upstream=server.address)
        writer = self.node("writer", server, writes=True)
        built = writer.prewarm(self.model)
        writer.wait_until_sent(built["kernels"] + 1)
        reader = self.node("reader", proxy)
        self.assertEqual(reader.prewarm(self.model)["compiled"], 0)


class BuildGridTest(Shared, Fleet):
    kind = remote_servers.BuildGrid

    def test_a_server_that_only_reads_is_read_and_that_is_said(self):
        server = self.server(remote_servers.BuildGrid, read_only=True)
        node = self.node("node", server, writes=True)
        ok, steps = node.check()
        self.assertFalse(ok)
        self.assertIsNone(steps["look up"]["error"])
        self.assertIn("not allowed", steps["send"]["error"])
        self.assertEqual(node.prewarm(self.model)["kernels"], 4)
        # A server may announce that, or refuse the first result.
        node.wait_until(lambda: node.remote()["send_errors"] + node.remote()["send_drops"] >= 5, "nothing was kept")
        self.assertLessEqual(node.remote()["send_errors"], 1)
        self.assertTrue(node.remote()["is_asked"])
        self.assertIn("set no remote_writer_key", node.text())

    def test_an_instance_that_the_server_does_not_have_is_said(self):
        server = self.server(remote_servers.BuildGrid)
        node = self.node("node", server, remote_instance="nobody's")
        ok, steps = node.check()
        self.assertFalse(ok)
        self.assertEqual(node.prewarm(self.model)["kernels"], 4)
        right = self.node("right", server, remote_instance="hearth")
        self.assertTrue(right.check()[0])


def certificates(folder):
    """An authority, and certificates of a server and of a node, by openssl."""
    if not shutil.which("openssl"):
        raise unittest.SkipTest("there is no openssl")
    folder.mkdir()

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    for authority in ("ca", "other"):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{authority}.key", "-out",
                f"{authority}.pem", "-days", "2", "-subj", f"/CN={authority}")
    (folder / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for name, days in (("server", "2"), ("node", "2"), ("expired", "-1")):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                f"/CN={name}")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
                f"{name}.pem", "-days", days, "-extfile", "names")
        (folder / f"{name}.key").chmod(0o600)
    (folder / "jwt.secret").write_text("a secret of tests")
    return folder


def token(secret, expires):
    def encoded(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=")

    text = b".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, {"exp": expires}))
    return (text + b"." + encoded(hmac.new(secret.encode(), text, hashlib.sha256).digest())).decode()


class IdentityTest(Fleet):
    def setUp(self):
        super().setUp()
        self.tls = certificates(self.folder / "tls")
        self.secret = (self.tls / "jwt.secret").read_text()
        self.server_ = self.server(remote_servers.BuildGrid, tls=self.tls)
        self.right = {"remote_ca": str(self.tls / "ca.pem"), "remote_certificate": str(self.tls / "node.pem"),
                      "remote_key": str(self.tls / "node.key"),
                      "remote_token_file": self.token_file(token(self.secret, time.time() + 3600))}

    def token_file(self, text):
        path = self.folder / "token"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text + "\n")
        return str(path)

    def refused(self, name, **changes):
        settings = {key: value for key, value in {**self.right, **changes}.items() if value is not None}
        node = self.node(name, self.server_, **settings)
        ok, steps = node.check()
        self.assertFalse(ok, steps)
        # The node goes on.
        self.assertEqual(node.prewarm(self.model)["kernels"], 4)
        node.stop()
        return steps["connect"]["error"]

    def test_a_node_with_certificate_and_token_shares_results(self):
        writer = self.node("writer", self.server_, writes=True, **self.right)
        ok, steps = writer.check()
        self.assertTrue(ok, steps)
        built = writer.prewarm(self.model)
        writer.wait_until_sent(built["kernels"] + 1)
        reader = self.node("reader", self.server_, **self.right)
        self.assertEqual(reader.prewarm(self.model)["compiled"], 0)

    def test_no_certificate_a_wrong_one_and_one_that_has_expired_are_refused(self):
        self.assertIn("grpcs://localhost", self.refused("none", remote_certificate=None, remote_key=None))
        self.assertIn("grpcs://localhost", self.refused("authority", remote_ca=str(self.tls / "other.pem")))
        self.assertIn("grpcs://localhost", self.refused("expired", remote_certificate=str(self.tls / "expired.pem"),
                                                        remote_key=str(self.tls / "expired.key")))
        (self.tls / "node.key").chmod(0o644)
        self.assertIn("remote_key: other users can read", self.refused("open"))

    def test_no_token_a_wrong_one_and_one_that_has_expired_are_refused_and_a_new_one_is_taken(self):
        self.refused("none", remote_token_file=None)
        self.token_file(token("another secret", time.time() + 3600))
        self.refused("wrong")
        self.token_file(token(self.secret, time.time() - 3600))
        node = self.node("node", self.server_, **self.right)
        self.assertFalse(node.check()[0])
        self.assertEqual(node.prewarm(self.model)["kernels"], 4)
        self.assertFalse(node.remote()["is_asked"])
        self.token_file(token(self.secret, time.time() + 3600))
        node.wait_until(lambda: node.remote()["is_asked"], "the new token is taken")
        self.assertTrue(node.check()[0])


class SilentPortTest(Fleet):
    def test_a_port_that_accepts_and_never_answers_fails_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            held = []

            def accept():
                try:
                    while True:
                        held.append(silent.accept())
                except OSError:
                    pass

            thread = threading.Thread(target=accept, daemon=True)
            thread.start()
            node = self.node("node", None, writes=True, address=f"grpc://127.0.0.1:{silent.getsockname()[1]}")
            self.assertEqual(node.prewarm(self.model)["kernels"], 4)
            self.assertTrue(held)


if __name__ == "__main__":
    skipping.main()
