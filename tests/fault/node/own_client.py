"""Test cases with a client of our own making, which asks a daemon what no client of ours would."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attack"))
import http2  # noqa: E402
import messages  # noqa: E402
from node import acting_as  # noqa: E402


class OwnClient(unittest.TestCase):
    """self.messages: Hearth's messages."""

    @classmethod
    def setUpClass(cls):
        cls.protos = tempfile.TemporaryDirectory()
        cls.messages = messages.Messages(cls.protos.name)

    @classmethod
    def tearDownClass(cls):
        cls.protos.cleanup()

    def connection(self, node, user, **how):
        with acting_as(user):
            return http2.Connection(str(node.socket), **how)
