#!/usr/bin/env python3
"""What the operator of a node's daemon sees: metrics, health, the log, addresses, and the service manager's messages.
Needs root. /usr/bin/python3 node_operator_test.py EXAMPLES"""
import contextlib
import http.client
import json
import os
import socket
import threading
import time
import unittest

import digits_node  # noqa: E402
from digits_node import Digits, digits, ended, page  # noqa: E402
from node import USERS, acting_as  # noqa: E402


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
            self.assertEqual(node.daemon.wait(300), 1)
            self.assertIn(text, (node.folder / "log").read_text())
            node.stop()

    def test_an_address_that_was_said_to_be_public_is_served(self):
        with socket.socket() as free:
            free.bind(("0.0.0.0", 0))
            port = free.getsockname()[1]
        with Digits(HEARTH_METRICS=f"0.0.0.0:{port}", HEARTH_METRICS_PUBLIC="true"):
            self.assertEqual(page(f"127.0.0.1:{port}", "/live"), (200, "live\n"))


    def test_connections_that_say_nothing_shut_nobody_out_of_health_and_metrics(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = free.getsockname()
        with Digits(HEARTH_METRICS=f"{address[0]}:{address[1]}"):
            over = threading.Event()
            holder = threading.Thread(target=hold_connections, args=(address, 1000, over))
            holder.start()
            try:
                for path in ("/live", "/ready", "/metrics") * 5:
                    self.assertEqual(answered(f"{address[0]}:{address[1]}", path), 200)
            finally:
                over.set()
                holder.join()


def answered(address, path, tries=5):
    """The status of a page. Where hundreds connect before this process has sent its request, it is the oldest."""
    for _ in range(tries - 1):
        with contextlib.suppress(OSError, http.client.HTTPException):
            return page(address, path)[0]
    return page(address, path)[0]


def hold_connections(address, count, over):
    """Requests whose headers never end; what the server closes is opened anew."""
    held = []
    while not over.is_set():
        for connection in list(held):
            try:
                gone = connection.recv(1, socket.MSG_DONTWAIT) == b""
            except BlockingIOError:
                gone = False
            except OSError:
                gone = True
            if gone:
                held.remove(connection)
                connection.close()
        try:
            while len(held) < count:
                held.append(socket.create_connection(address, timeout=300))
                held[-1].send(b"GET /live HTTP/1.1\r\nHost: a\r\nX: ")
        except OSError:
            pass
        over.wait(0.05)
    for connection in held:
        connection.close()


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
            self.assertEqual(node.daemon.wait(300), 0)
            self.assertTrue(node.socket.exists())
        finally:
            hears.close()
            node.stop()

    def test_a_socket_that_is_not_the_settings_is_refused(self):
        node = Digits(activate=True)
        node.environment["HEARTH_SOCKET"] = str(node.folder / "other.sock")
        node.spawn()
        self.assertEqual(node.daemon.wait(300), 1)
        self.assertIn("the service manager does not listen on", (node.folder / "log").read_text())
        node.stop()


if __name__ == "__main__":
    digits_node.main()
