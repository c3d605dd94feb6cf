#!/usr/bin/env python3
"""What users of one daemon learn of one another: artifacts, paths, weights, and graphs with a user's data. Needs root.
/usr/bin/python3 node_privacy_test.py EXAMPLES"""
import fcntl
import os
import pathlib
import socket
import tempfile

import numpy
import onnx.numpy_helper

import digits_node
from digits_node import MODEL, Digits, ended
from node import USERS, Node, acting_as
from own_client import OwnClient


def gate_models(folder):
    """Constants in the graph, quantised weights by channel, and weights that processes share."""
    helper, array = onnx.helper, onnx.numpy_helper.from_array
    random = numpy.random.default_rng(4)
    f32 = onnx.TensorProto.FLOAT

    def save(name, nodes, weights):
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", f32, [4, 24])],
                                  [helper.make_tensor_value_info("y", f32, None)],
                                  [array(value, key) for key, value in weights.items()])
        path = folder / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path

    table = helper.make_node("Constant", [], ["table"], value=array(random.random((4, 24), numpy.float32), "table"))
    return [
        save("table", [table, helper.make_node("Add", ["x", "table"], ["y"])], {}),
        save("quantised", [helper.make_node("DequantizeLinear", ["w", "scales", "zeros"], ["f"], axis=1),
                           helper.make_node("MatMul", ["x", "f"], ["y"])],
             {"w": random.integers(-99, 99, (24, 16)).astype(numpy.int8), "zeros": numpy.zeros(16, numpy.int8),
              "scales": random.random(16, numpy.float32)}),
        save("weights", [helper.make_node("MatMul", ["x", "w"], ["y"])],
             {"w": random.random((24, 20000), numpy.float32)}),
    ]


class WhatTheyLearn(OwnClient):
    def prepare(self, node, user, graph):
        connection = self.connection(node, user)
        events, status = connection.call("/hearth.v1.CompilerService/Prepare", self.messages.prepare(graph))
        connection.close()
        self.assertEqual(status, 0)
        return self.messages.result_of(events)

    def data_graph(self, seed):
        """A graph with constant data of the client's."""
        v1 = self.messages.graph
        graph = self.messages.chain(length=64, ops=3)
        graph.nodes[1].data = bytes((seed + i) % 251 for i in range(4 * 64))
        return graph

    def test_an_artifact_of_another_user_is_one_that_is_not_there(self):
        with Digits(sharing="uid") as node:
            digest = self.prepare(node, USERS[0], self.messages.chain()).artifacts[0].digest
            request = self.messages.compiler.FetchArtifactRequest(digest=digest).SerializeToString()
            unknown = self.messages.compiler.FetchArtifactRequest(digest=bytes(32)).SerializeToString()
            method = "/hearth.v1.CompilerService/FetchArtifact"

            def fetch(user, payload):
                connection = self.connection(node, user)
                stream = connection.open_call(method, payload)
                result = connection.finish(stream)
                connection.close()
                return result

            self.assertEqual(fetch(USERS[0], request)[1], 0)
            of_another, of_nobody = fetch(USERS[1], request), fetch(USERS[1], unknown)
            self.assertEqual(of_another, of_nobody)
            self.assertEqual(of_another[1], 5)  # NOT_FOUND
            # And likewise where files are handed out.
            share = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with acting_as(USERS[1]):
                share.connect(str(node.folder / "hearthd.share"))
            ask = self.messages.weights.WeightsRequest(version=1)
            ask.open_artifacts.digests.extend([digest, bytes(32)])
            share.send(ask.SerializeToString())
            data, files, _, _ = socket.recv_fds(share, 65536, 8)
            share.close()
            self.assertEqual(len(self.messages.weights.WeightsResponse.FromString(data).digests), 0)
            self.assertEqual(files, [])

    def test_paths_of_the_cache_are_told_to_its_own_user_alone(self):
        with Digits() as node:
            self.assertEqual(self.prepare(node, USERS[0], self.messages.chain()).artifacts[0].path, "")
            self.assertNotEqual(self.prepare(node, 0, self.messages.chain()).artifacts[0].path, "")
            with acting_as(USERS[0]), self.assertRaises(PermissionError):
                os.listdir(node.cache)
            with acting_as(USERS[0]), self.assertRaises(PermissionError), socket.socket(socket.AF_UNIX) as owners:
                owners.connect(str(node.folder / "hearthd.admin"))

    def weights_of(self, node, user, letter, last=b"w"):
        """A block that a process of this user gives under a key, and the connection that keeps it; None for the block
        where it was told to make none. What it had, and what it was given in its place."""
        share = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        share.settimeout(60)
        with acting_as(user):
            share.connect(str(node.folder / "hearthd.share"))
        size = 9 << 20  # several pieces of a comparison
        take = self.messages.weights.WeightsRequest(version=1)
        take.take.key, take.take.size_bytes = letter * 32, size
        share.send(take.SerializeToString())
        answer = self.messages.weights.WeightsResponse.FromString(socket.recv_fds(share, 65536, 1)[0])
        self.assertEqual(answer.outcome, 3)  # MAKE: nobody is told of another user's
        block = os.memfd_create("test", os.MFD_ALLOW_SEALING)
        os.write(block, b"w" * (size - 1) + last)
        fcntl.fcntl(block, 1033, 15)  # F_ADD_SEALS, all
        give = self.messages.weights.WeightsRequest(version=1)
        give.give.SetInParent()
        socket.send_fds(share, [give.SerializeToString()], [block])
        data, files, _, _ = socket.recv_fds(share, 65536, 1)
        self.assertEqual(self.messages.weights.WeightsResponse.FromString(data).outcome, 1)  # DONE
        inodes = [os.fstat(file).st_ino for file in [block, *files]]
        for file in [block, *files]:
            os.close(file)
        return share, inodes

    def test_weights_are_in_memory_once_for_users_that_each_have_all_of_their_bytes(self):
        with Digits() as node:
            first, inodes = self.weights_of(node, USERS[0], b"k")
            self.assertEqual(len(inodes), 1)
            changed, others = self.weights_of(node, USERS[1], b"k", last=b"x")  # in the last byte
            self.assertEqual(len(others), 1)
            same, others = self.weights_of(node, USERS[2], b"k")
            self.assertEqual(others[1:], inodes)
            elsewhere, others = self.weights_of(node, USERS[3], b"l")  # under another key
            self.assertEqual(len(others), 1)
            for share in (first, changed, same, elsewhere):
                share.close()
        with Digits(sharing="uid") as node:
            shares = [self.weights_of(node, user, b"k") for user in USERS[:2]]
            self.assertEqual([len(inodes) for _, inodes in shares], [1, 1])

    def test_a_graph_with_data_of_a_users_is_a_miss_for_all_others(self):
        with Digits() as node:
            mine = self.prepare(node, USERS[0], self.data_graph(1))
            self.assertFalse(mine.plan_hit)
            self.assertTrue(self.prepare(node, USERS[0], self.data_graph(1)).plan_hit)
            guessed = self.prepare(node, USERS[1], self.data_graph(1))
            unknown = self.prepare(node, USERS[1], self.data_graph(2))
            for answer in (guessed, unknown):
                self.assertFalse(answer.plan_hit)
            self.assertEqual((guessed.compiled_kernels, guessed.cache_hits, guessed.joined),
                             (unknown.compiled_kernels, unknown.cache_hits, unknown.joined))
            self.assertNotEqual(guessed.plan_key, mine.plan_key)
            # One without data is everybody's.
            self.assertFalse(self.prepare(node, USERS[0], self.messages.chain(ops=5)).plan_hit)
            self.assertTrue(self.prepare(node, USERS[1], self.messages.chain(ops=5)).plan_hit)

    def test_what_root_prepared_is_found_by_every_user_who_sends_the_same_constants(self):
        for sharing in ("node", "uid"):
            with Digits(sharing=sharing) as node:
                made = self.prepare(node, 0, self.data_graph(1))
                self.assertFalse(made.plan_hit)
                for user in USERS[:2]:
                    found = self.prepare(node, user, self.data_graph(1))
                    self.assertTrue(found.plan_hit, sharing)
                    self.assertEqual(found.plan_key, made.plan_key)
                    self.assertFalse(self.prepare(node, user, self.data_graph(2)).plan_hit)  # other constants
                # What a user has made is still the user's.
                self.assertFalse(self.prepare(node, USERS[3], self.data_graph(2)).plan_hit)
                self.assertFalse(self.prepare(node, 0, self.data_graph(2)).plan_hit)

    def test_a_gate_that_root_passes_is_passed_by_every_user_with_every_kind_of_graph(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="hearth-gate-test-"))
        models = gate_models(folder)
        with Node(files=[*MODEL, *models]) as node:
            names = [node.programs / model.name for model in models]
            for _ in range(2):
                ended(self, node.hearth(0, "prewarm", "--threads", "2", *names), 0, "kernels")
                ended(self, node.hearth(0, "prewarm", "--sealed", "--threads", "2", *names), 0, "kernels")
                for user in USERS[:2]:
                    for name in names:
                        ended(self, node.hearth(user, "run", "--sealed", "--threads", "2", name), 0, "0 compiled now")
                # A search changes what it tunes, prepares that again, and leaves the others as they are.
                tuned = node.hearth(0, "tune", "--threads", "2", "--budget", "3", names[0])
                ended(self, tuned, 0, "prepared again")
                ended(self, node.hearth(0, "prewarm", "--sealed", "--threads", "2", *names), 0, "kernels")


if __name__ == "__main__":
    digits_node.main()
