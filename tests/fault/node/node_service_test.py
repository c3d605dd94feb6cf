#!/usr/bin/env python3
"""One daemon, many users: who may use it, what they share, what each may use, and what a death costs them.
Users are numbers that nobody has; the daemon is one of them, in a folder that root gave it. Needs root.
/usr/bin/python3 node_service_test.py EXAMPLES [--processes N]"""
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import numpy  # noqa: E402
import onnx.numpy_helper  # noqa: E402
import digits_node  # noqa: E402
from digits_node import OPTIONS, Digits, at_once, digits, ended, kernels_compiled, page  # noqa: E402
from node import SERVICE, USERS, acting_as  # noqa: E402


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
            self.assertEqual(node.daemon.wait(300), 2)
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


if __name__ == "__main__":
    digits_node.main()
