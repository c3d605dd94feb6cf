#!/usr/bin/env python3
"""One daemon, many users: who may use it, what they share, what they learn of one another, and what a death costs them.
Users are numbers that nobody has; the daemon is one of them, in a folder that root gave it. Needs root.
/usr/bin/python3 node_service_test.py EXAMPLES [--processes N]"""
import argparse
import fcntl
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "attack"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import numpy  # noqa: E402
import onnx.numpy_helper  # noqa: E402
import http2  # noqa: E402
import messages  # noqa: E402
import skipping  # noqa: E402
from node import SERVICE, USERS, Node, acting_as  # noqa: E402

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


class WhoMayUseIt(unittest.TestCase):
    def test_every_user_and_nobody_elses_commands(self):
        with Digits() as node:
            first = at_once(node, USERS[:2], 2)
            self.assertEqual(first[0]["kernels"], first[1]["kernels"])
            ended(self, node.hearth(USERS[0], "cache", "ls"), 1, "for the daemon's operator")
            ended(self, node.hearth(USERS[0], "cache", "clear"), 1, "")
            ended(self, node.hearth(USERS[0], "daemon", "stop"), 1, "")
            ended(self, node.hearth(USERS[0], "tune", node.programs / "digits.onnx", "--budget", "1"), 1,
                  "its operator does it")
            self.assertEqual(node.daemon.poll(), None)
            stats = json.loads(node.hearth(USERS[0], "stats", "--json").stdout)
            self.assertNotIn("requests", stats)  # rather than a number that is not so
            ended(self, node.hearth(USERS[0], "stats"), 0, "for the daemon's operator")
            self.assertGreater(kernels_compiled(node), 0)  # root sees it
            shown = node.hearth(USERS[0], "daemon", "status")
            ended(self, shown, 0, f"{node.socket} (HEARTH_SOCKET)")
            self.assertNotRegex(shown.stdout, r"(?m)^(cache|log|weights) ")
            ended(self, node.hearth(0, "daemon", "status"), 0, str(node.cache))
            ended(self, node.hearth(0, "cache", "ls"), 0, "plan")

    def test_those_that_are_named_and_no_others(self):
        with Digits(clients=f"users:{USERS[0]},{USERS[1]}") as node:
            ended(self, node.hearth(USERS[1], *digits(node)), 0, "kernels")
            ended(self, node.hearth(USERS[2], *digits(node)), 1,
                  f"this daemon serves users:{USERS[0]},{USERS[1]}, and you are user {USERS[2]}: ask its operator")
            self.assertIn(f"refused a connection of user {USERS[2]}", (node.folder / "log").read_text())

    def test_a_group_by_the_groups_that_the_kernel_knows_of_a_process(self):
        with Digits(clients=f"group:{USERS[7]}") as node:
            words = ["setpriv", f"--reuid={USERS[3]}", f"--regid={USERS[3]}", f"--groups={USERS[7]}",
                     node.programs / "hearth", "daemon", "status"]
            member = subprocess.run(words, env=node.environment, capture_output=True, text=True)
            self.assertEqual(member.returncode, 0, member.stderr)
            ended(self, node.hearth(USERS[3], *digits(node)), 1, f"you are user {USERS[3]}")

    def test_its_owner_alone_where_nothing_is_said(self):
        with Digits(clients="users:" + str(USERS[0])) as node:  # so that it starts
            pass
        node = Digits(clients="owner")
        node.folder.chmod(0o755)
        node.spawn()
        try:
            deadline = time.monotonic() + 300
            while not node.socket.exists():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)
            node.socket.chmod(0o666)  # as if somebody had opened it
            ended(self, node.hearth(USERS[0], *digits(node)), 1, f"this daemon serves user {SERVICE} alone")
        finally:
            node.stop()

    def test_a_group_or_user_that_does_not_exist_is_an_error_at_once(self):
        for clients, text in (("group:no-such-group-here", "there is no group 'no-such-group-here'"),
                              ("users:nobody-of-this-name", "there is no user 'nobody-of-this-name'"),
                              ("all", "expected owner, everyone, group:NAME or users:NAME,NAME")):
            node = Digits(clients=clients)
            node.spawn()
            self.assertEqual(node.daemon.wait(30), 2)
            self.assertIn(text, (node.folder / "log").read_text())
            node.stop()

    def test_a_daemon_of_a_stranger_is_not_believed(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # where anybody can make one
            os.chmod(folder, 0o755)
            os.chown(folder, USERS[4], USERS[4])
            with Digits() as node:
                stranger = socket.socket(socket.AF_UNIX)
                with acting_as(USERS[4]):
                    stranger.bind(f"{folder}/hearthd.sock")
                    stranger.listen(1)
                os.chmod(f"{folder}/hearthd.sock", 0o666)
                node.environment["HEARTH_SOCKET"] = f"{folder}/hearthd.sock"
                result = node.hearth(USERS[0], *digits(node))
                ended(self, result, 1, f"belongs to user {USERS[4]}, not to you")
                stranger.close()
                node.environment["HEARTH_SOCKET"] = str(node.socket)


class WhatTheyShare(unittest.TestCase):
    def test_processes_of_eight_users_compile_each_kernel_once_on_the_node(self):
        with Digits() as node:
            answers = at_once(node, USERS, OPTIONS.processes)
            self.assertEqual(kernels_compiled(node), answers[0]["kernels"])
            self.assertEqual(len({answer["kernels"] for answer in answers}), 1)

    def test_with_sharing_by_user_each_user_compiles_once(self):
        with Digits(sharing="uid") as node:
            answers = at_once(node, USERS, OPTIONS.processes)
            self.assertEqual(kernels_compiled(node), len(USERS) * answers[0]["kernels"])


def dense_model():
    """A product with 4 MiB of weights, which are packed: enough to be worth sharing."""
    weights = onnx.numpy_helper.from_array(numpy.linspace(0, 1, 1 << 20, dtype=numpy.float32).reshape(1024, 1024), "w")
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "dense",
                                   [value("x", onnx.TensorProto.FLOAT, [8, 1024])],
                                   [value("y", onnx.TensorProto.FLOAT, [8, 1024])], [weights])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    model.ir_version = 8
    return model.SerializeToString()


class FromContainers(unittest.TestCase):
    """A client in namespaces of its own: nothing of the node is there but the folder with the sockets, at another
    path, that cannot be written to."""

    MOUNTS = ('set -e; mount --make-rprivate /; mount --bind "$1" /mnt; mount -o remount,bind,ro /mnt; '
              'mount -t tmpfs none "$2"; ! touch /mnt/file 2>/dev/null; shift 2; exec "$@"')

    def contained(self, node, user, folder, *words):
        """As a container runtime with the host's users: root makes the mounts, the program has the user's uid."""
        node.environment["HEARTH_SOCKET"] = "/mnt/hearthd.sock"
        command = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", self.MOUNTS, "sh", folder,
                   node.cache, *node.command(user, node.programs / "hearth", *words)]
        return self.ran(node, command)

    def contained_with_users(self, node, user, folder, *words):
        """As one with users of its own: the program is root there, and nobody of the node's has a number."""
        node.environment["HEARTH_SOCKET"] = "/mnt/hearthd.sock"
        command = node.command(user, "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c",
                               self.MOUNTS, "sh", folder, "/tmp", node.programs / "hearth", *words)
        return self.ran(node, command)

    def ran(self, node, command):
        # The first process of a namespace is not stopped by who traces it, which looking for leaks begins with.
        environment = {**node.environment, "HEARTH_THREADS": "1", "HEARTH_NO_AUTOSTART": "1",
                       "ASAN_OPTIONS": node.environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        result = subprocess.run([str(word) for word in command], env=environment, cwd="/", capture_output=True,
                                text=True, timeout=300)
        node.environment["HEARTH_SOCKET"] = str(node.socket)
        return result

    def test_the_sockets_alone_are_enough_for_kernels_and_weights(self):
        with Digits() as node:
            model = node.programs / "dense.onnx"
            model.write_bytes(dense_model())
            first = self.contained(node, USERS[0], node.clients, "run", model, "--json")
            ended(self, first, 0, '"plan_hit": false')
            second = self.contained(node, USERS[0], node.clients, "run", model, "--json")
            ended(self, second, 0, '"compiled_kernels": 0')
            self.assertTrue(json.loads(second.stdout)["weights_found"])  # which the first left for a minute

    def test_a_service_that_is_started_again_is_found_through_the_same_mount(self):
        with Digits() as node:
            ended(self, self.contained(node, USERS[0], node.clients, *digits(node)), 0, "kernels")
            node.daemon.terminate()
            node.daemon.wait(60)
            node.start()
            ended(self, self.contained(node, USERS[0], node.clients, *digits(node)), 0, '"compiled_kernels": 0')

    def test_users_of_its_own(self):
        with Digits() as node:
            ended(self, node.hearth(USERS[0], *digits(node)), 0, "kernels")
            for folder in (node.folder, node.clients):
                result = self.contained_with_users(node, USERS[0], folder, *digits(node))
                ended(self, result, 0, '"compiled_kernels": 0')
                self.assertNotIn("warning", result.stderr)  # of a cache folder that the service does not tell
            # The kernel tells the service who it is outside.
            self.assertNotIn("of user 0:", (node.folder / "log").read_text())


class WhatTheyLearn(unittest.TestCase):
    """A client of our own making, which asks what no client of ours would."""

    @classmethod
    def setUpClass(cls):
        cls.protos = tempfile.TemporaryDirectory()
        cls.messages = messages.Messages(cls.protos.name)

    @classmethod
    def tearDownClass(cls):
        cls.protos.cleanup()

    def connection(self, node, user):
        with acting_as(user):
            return http2.Connection(str(node.socket))

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


class WhatTheyMayUse(unittest.TestCase):
    def test_a_quota_that_is_used_up_is_that_users_alone_and_what_is_cached_can_be_had(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        with Digits(sharing="uid", HEARTH_USER_KERNELS_PER_HOUR="5", HEARTH_METRICS=address) as node:
            ended(self, node.hearth(USERS[0], *digits(node)), 0, "kernels")  # its 13 kernels are one request's
            result = node.hearth(USERS[0], *digits(node), "--fast-math")
            ended(self, result, 1, f"13 kernels were compiled for user {USERS[0]} in the last hour, all that "
                                   "user_kernels_per_hour allows")
            ended(self, node.hearth(USERS[0], *digits(node)), 0, '"compiled_kernels": 0')
            # What was refused, once; what the cache had is no refusal.
            self.assertIn(f'hearth_user_over_quota_total{{uid="{USERS[0]}"}} 1\n', page(address, "/metrics")[1])
            ended(self, node.hearth(USERS[1], *digits(node), "--fast-math"), 0, "kernels")
            ended(self, node.hearth(0, *digits(node), "--fast-math"), 0, "kernels")  # root has none


def page(address, path):
    """Of the status server, by Python's own HTTP client."""
    if address.startswith("/"):
        connection = http.client.HTTPConnection("localhost", timeout=10)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(address)
    else:
        connection = http.client.HTTPConnection(address, timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


class WhatOperatorsSee(unittest.TestCase):
    def test_metrics_health_and_each_users_share(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        with Digits(HEARTH_METRICS=address) as node:
            ended(self, node.hearth(USERS[0], *digits(node)), 0, "kernels")
            ended(self, node.hearth(USERS[1], *digits(node)), 0, "kernels")
            status, text = page(address, "/metrics")
            self.assertEqual(status, 200)
            for line in (f'hearth_user_prepares_total{{uid="{USERS[0]}",outcome="miss"}} 1',
                         f'hearth_user_prepares_total{{uid="{USERS[1]}",outcome="hit"}} 1',
                         f'hearth_user_kernels_compiled_total{{uid="{USERS[0]}"}} 13',
                         f'hearth_user_kernels_compiled_total{{uid="{USERS[1]}"}} 0',
                         f'hearth_user_cache_entries{{uid="{USERS[0]}"}} 15',  # 13 kernels, the plan and what it read
                         f'hearth_user_cache_entries{{uid="{USERS[1]}"}} 0',
                         'hearth_prepares_total{outcome="miss"} 1', 'hearth_ready 1'):
                self.assertIn(line + "\n", text)
            limit = [line for line in text.splitlines() if line.startswith("hearth_cache_limit_bytes ")]
            self.assertEqual(limit, ["hearth_cache_limit_bytes 10737418240"])  # every digit of it
            for line in text.splitlines():  # the text format
                self.assertRegex(line, r'^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? [-+.\de]+)$')
            for line in ('hearth_prepare_seconds_count{outcome="miss"} 1', 'hearth_prepare_seconds_count{outcome="hit"} 1',
                         'hearth_prepare_seconds_bucket{outcome="miss",le="300"} 1', 'hearth_queue_seconds_count 14',
                         'hearth_prepare_seconds_bucket{outcome="miss",le="0.0001"} 0',
                         'hearth_job_seconds_count{job="lower"} 1', 'hearth_job_seconds_count{job="compile"} 13',
                         'hearth_job_seconds_bucket{job="compile",le="+Inf"} 13', 'hearth_sealed_misses_total 0',
                         'hearth_queued_jobs{class="compiler"} 0', 'hearth_cache_evicted_total 0'):
                self.assertIn(line + "\n", text)
            buckets = [int(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                       if line.startswith('hearth_job_seconds_bucket{job="compile"')]
            self.assertEqual(buckets, sorted(buckets))  # each counts those before it, too
            seconds = [float(line.split(" ")[1]) for line in text.splitlines()
                       if line.startswith('hearth_job_seconds_sum{job="compile"}')]
            self.assertGreater(seconds[0], 0)
            ended(self, node.hearth(USERS[0], *digits(node), "--fast-math", "--sealed"), 1, "sealed")
            _, text = page(address, "/metrics")
            self.assertIn("hearth_sealed_misses_total 1\n", text)
            self.assertIn('hearth_prepare_seconds_count{outcome="error"} 1\n', text)
            self.assertEqual(page(address, "/live"), (200, "live\n"))
            self.assertEqual(page(address, "/ready"), (200, "ready\n"))
            self.assertEqual(page(address, "/secrets")[0], 404)

    def test_a_metrics_port_that_somebody_has_is_tried_again_while_the_service_serves(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            node = Digits(HEARTH_METRICS=address)
            node.start()
            ended(self, node.hearth(USERS[0], *digits(node)), 0, "kernels")
            ended(self, node.hearth(0, "daemon", "status"), 0, f"cannot listen on '{address}'")
        try:
            deadline = time.monotonic() + 300
            while True:
                try:
                    self.assertEqual(page(address, "/ready"), (200, "ready\n"))
                    break
                except OSError:
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.2)
            self.assertIn(f"metrics at {address}", (node.folder / "log").read_text())
        finally:
            node.stop()

    def test_a_log_of_json_names_the_user_of_each_call(self):
        with Digits(HEARTH_LOG_FORMAT="json") as node:
            ended(self, node.hearth(USERS[0], *digits(node)), 0, "kernels")
            lines = [json.loads(line) for line in (node.folder / "log").read_text().splitlines()]
            self.assertTrue(all({"time", "level", "pid", "message"} <= set(line) for line in lines), lines)
            called = [line for line in lines if "call" in line]
            self.assertEqual([(line["user"], line["outcome"], line["kernels_compiled"], line["cache_hits"])
                              for line in called], [(USERS[0], "miss", 13, 0)])
            self.assertRegex(called[0]["plan"], "^[0-9a-f]{64}$")
            self.assertGreater(called[0]["ms"], 0)
            told = [line["message"] for line in lines if f"of user {USERS[0]}: prepare " in line["message"]]
            self.assertRegex(told[0], r"^call \d+ of user \d+: prepare [0-9a-f]{12} of \S*/digits.onnx: miss, .*"
                                      r" 13 kernels compiled")
            self.assertTrue(called[0]["model"].endswith("/digits.onnx"))

    def test_a_socket_of_the_services_own_and_no_address_of_others(self):
        node = Digits()
        node.environment["HEARTH_METRICS"] = str(node.folder / "metrics.sock")
        with node:
            self.assertEqual(page(str(node.folder / "metrics.sock"), "/live"), (200, "live\n"))
            with acting_as(USERS[0]), self.assertRaises(PermissionError):
                page(str(node.folder / "metrics.sock"), "/metrics")
        for address, text in (("0.0.0.0:9464", "is not this machine's loopback"), ("[::]:9464", "metrics_public"),
                              ("nowhere", "expected 127.0.0.1:PORT"), ("host.name:9464", "numeric address")):
            node = Digits(HEARTH_METRICS=address)
            node.spawn()
            self.assertEqual(node.daemon.wait(30), 1)
            self.assertIn(text, (node.folder / "log").read_text())
            node.stop()

    def test_an_address_that_was_said_to_be_public_is_served(self):
        with socket.socket() as free:
            free.bind(("0.0.0.0", 0))
            port = free.getsockname()[1]
        with Digits(HEARTH_METRICS=f"0.0.0.0:{port}", HEARTH_METRICS_PUBLIC="true"):
            self.assertEqual(page(f"127.0.0.1:{port}", "/live"), (200, "live\n"))


class WhenItDies(unittest.TestCase):
    def test_clients_of_a_service_that_is_killed_are_answered_by_the_next(self):
        node = Digits(activate=True)
        node.start()
        node.supervise()
        try:
            started = [node.begin(USERS[i % 8], *digits(node)) for i in range(OPTIONS.processes)]
            time.sleep(0.15)
            killed = time.monotonic()
            node.daemon.send_signal(signal.SIGKILL)
            for process in started:
                _, err = process.communicate(timeout=300)
                self.assertEqual(process.returncode, 0, err)
            print(f"from the kill to the last of {len(started)} answers: {time.monotonic() - killed:.2f} s")
            self.assertTrue(node.socket.exists())  # the service manager's, whoever serves
        finally:
            node.stop()


class WhatTheServiceManagerHears(unittest.TestCase):
    def test_systemd_is_told_that_it_is_ready_alive_and_about_to_leave(self):
        node = Digits(activate=True, NOTIFY_SOCKET="@hearth-node-test-" + str(os.getpid()), WATCHDOG_USEC="300000")
        hears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        hears.bind("\0hearth-node-test-" + str(os.getpid()))
        hears.settimeout(30)
        try:
            node.spawn()
            self.assertEqual(hears.recv(4096), b"READY=1")
            for _ in range(3):
                self.assertEqual(hears.recv(4096), b"WATCHDOG=1")
            node.daemon.terminate()
            said = {hears.recv(4096)}
            while b"STOPPING=1" not in said:
                said.add(hears.recv(4096))
            self.assertEqual(node.daemon.wait(30), 0)
            self.assertTrue(node.socket.exists())
        finally:
            hears.close()
            node.stop()

    def test_a_socket_that_is_not_the_settings_is_refused(self):
        node = Digits(activate=True)
        node.environment["HEARTH_SOCKET"] = str(node.folder / "other.sock")
        node.spawn()
        self.assertEqual(node.daemon.wait(30), 1)
        self.assertIn("the service manager does not listen on", (node.folder / "log").read_text())
        node.stop()


if __name__ == "__main__":
    if os.geteuid() != 0:
        skipping.skip_all("it takes root to be several users")
    sys.argv = sys.argv[:1]
    skipping.main()
