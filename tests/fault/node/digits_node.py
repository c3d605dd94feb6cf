"""A node whose users run one small model, for the tests of this folder; the command line is EXAMPLES [--processes N]."""
import argparse
import http.client
import json
import os
import pathlib
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import skipping  # noqa: E402
from node import Node  # noqa: E402

arguments = argparse.ArgumentParser()
arguments.add_argument("examples", type=pathlib.Path)
arguments.add_argument("--processes", type=int, default=16)
OPTIONS = arguments.parse_args()
MODEL = [OPTIONS.examples / "digits/digits.onnx", OPTIONS.examples / "digits/digits_images.npy"]


def Digits(**settings):
    """A node with the model that these tests run."""
    return Node(files=MODEL, **settings)


def digits(node):
    return ["run", node.programs / "digits.onnx", "--input", f"image={node.programs}/digits_images.npy", "--json"]


def at_once(node, users, processes):
    """Digits in so many processes, the users in turn; what each said."""
    started = [node.begin(users[i % len(users)], *digits(node)) for i in range(processes)]
    answers = []
    for process in started:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        answers.append(json.loads(out))
    return answers


def kernels_compiled(node):
    return json.loads(node.hearth(0, "stats", "--json").stdout)["kernels_compiled"]


def ended(test, result, code, text):
    test.assertEqual(result.returncode, code, result.stdout + result.stderr)
    test.assertIn(text, result.stdout + result.stderr)


def page(address, path):
    """A page of the status server, by Python's own HTTP client."""
    if address.startswith("/"):
        connection = http.client.HTTPConnection("localhost", timeout=300)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(address)
    else:
        connection = http.client.HTTPConnection(address, timeout=300)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def main():
    if os.geteuid() != 0:
        skipping.skip_all("it takes root to be several users")
    sys.argv = sys.argv[:1]
    skipping.main()
