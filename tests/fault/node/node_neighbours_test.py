#!/usr/bin/env python3
"""What one user of a daemon can do to what another asks for: refuse it, delay it, have it fail, fill the log. A worker
whose compiler is a puppet hangs and crashes when told. Needs root.
/usr/bin/python3 node_neighbours_test.py EXAMPLES"""
import json
import shutil
import time

import digits_node
from node import BIN, USERS, Node
from own_client import OwnClient

A, B, C, D = USERS[:4]
PREPARE = "/hearth.v1.CompilerService/Prepare"
OK, INVALID, REFUSED, INTERNAL = 0, 3, 9, 13
FOREVER = {"HEARTH_COMPILE_LIMIT_S": "100000", "HEARTH_HANG_LIMIT_S": "100000"}


class Neighbours(OwnClient):
    def start(self, puppet=False, **settings):
        node = Node(**settings)
        self.addCleanup(node.stop)
        if puppet:
            shutil.copy(BIN / "hearth-fake-worker", node.programs / "hearth-worker")
        return node.start()

    def graph(self, *acts):
        """INPUT nodes whose names tell the puppet what to do."""
        graph = self.messages.graph.Graph(version=1)
        for act in acts:
            graph.nodes.add(op=self.messages.graph.INPUT, dtype=self.messages.graph.F32, name=act,
                            args=[self.messages.length(4)])
        graph.outputs.add(name="y", node=0)
        return graph

    def request(self, graph, **more):
        request = self.messages.compiler.PrepareRequest(protocol_version=1, graph=graph, target=self.messages.target())
        for name, value in more.items():
            if name == "model":
                request.model = value
            elif name == "var_values":
                request.options.var_values.extend(value)
        return request.SerializeToString()

    def connect(self, node, user):
        connection = self.connection(node, user, timeout=600)
        self.addCleanup(connection.close)
        return connection

    def prepare(self, node, user, graph, **more):
        """The result, the status and what the error says."""
        connection = self.connect(node, user)
        events, status = connection.finish(connection.send_large(PREPARE, self.request(graph, **more)))
        return self.messages.result_of(events), status, connection.said.decode(errors="replace")

    def begin(self, node, user, graph):
        connection = self.connect(node, user)
        return connection, connection.open_call(PREPARE, self.request(graph))

    def log(self, node):
        return (node.folder / "log").read_text(errors="replace")


class RefusalTest(Neighbours):
    def test_a_graph_that_killed_one_users_workers_is_not_refused_to_another(self):
        node = self.start(puppet=True)
        graph = self.graph("lower:crash")
        told = [self.prepare(node, A, graph)[1:] for _ in range(4)]
        self.assertEqual([status for status, _ in told], [INTERNAL] * 3 + [REFUSED])
        self.assertIn("is refused for", told[3][1])
        for _, said in told:
            self.assertNotIn(str(node.folder), said)  # where the cache is, is the operator's to know
        self.assertEqual(self.prepare(node, B, graph)[1], INTERNAL)
        self.assertIn(str(node.folder), self.log(node))

    def test_what_only_explain_reads_makes_no_prepare_fail(self):
        node = self.start(HEARTH_WORKER_MEMORY="1GiB")
        graph = self.messages.chain(ops=40)
        result, status, said = self.prepare(node, A, graph, var_values=[1, 2, 3])
        self.assertEqual((status, said), (OK, ""))
        for k in range(400_000):  # texts of one node, which each kernel's set was copied and sorted with
            graph.provenance.add(node=2, text=f"{k}")
        graph.nodes[1].data = b"\0\0\0\x40"  # another graph
        result, status, said = self.prepare(node, A, graph)
        self.assertEqual((status, said), (OK, ""))

    def test_each_user_reads_its_own_source_lines_in_an_error_that_is_shared(self):
        node = self.start(puppet=True)
        graphs = []
        for line in ("a.py:1", "b.py:2"):
            graphs.append(self.graph("lower:slow", "lower:error"))
            graphs[-1].provenance.add(node=0, text=line)
        calls = [self.begin(node, user, graph) for user, graph in zip((A, B), graphs)]
        said = []
        for connection, stream in calls:
            _, status = connection.finish(stream)
            self.assertEqual(status, INVALID)
            said.append(connection.said.decode())
        self.assertIn("node 0 (INPUT) from a.py:1", said[0])
        self.assertIn("node 0 (INPUT) from b.py:2", said[1])


class TurnTest(Neighbours):
    def test_who_asks_for_a_graph_that_stands_behind_another_users_does_not_wait_for_those(self):
        node = self.start(puppet=True, HEARTH_WORKERS="1", **FOREVER)
        connection = self.connect(node, A)
        for k in range(6):
            connection.open_call(PREPARE, self.request(self.graph(f"lower:hang{k}")))
        wanted = self.graph("wanted")
        behind = connection.open_call(PREPARE, self.request(wanted))
        while json.loads(node.hearth(0, "stats", "--json").stdout)["queued_jobs"] < 6:  # one runs
            time.sleep(0.05)
        self.assertEqual(self.prepare(node, B, wanted)[1:], (OK, ""))
        self.assertEqual(connection.finish(behind)[1], OK)  # it was one piece of work

    def test_three_users_graphs_that_last_leave_a_worker_to_a_fourth_user(self):
        node = self.start(puppet=True, HEARTH_WORKERS="2", **FOREVER)
        for user in (A, B, C):
            connection = self.connect(node, user)
            for k in range(8):
                connection.open_call(PREPARE, self.request(self.graph(f"lower:hang{user}-{k}")))
        for k in range(3):
            self.assertEqual(self.prepare(node, D, self.graph(f"small{k}"))[1:], (OK, ""))


class BoundTest(Neighbours):
    def test_numbers_of_a_target_are_bounded_before_anything_is_computed_from_them(self):
        node = self.start()
        for field, value in (("threads", 2**31), ("threads", 2**32 - 1), ("l2_bytes", 2**63), ("fork_work", 2**32 - 1),
                             ("vector_bits", 2**31)):
            target = self.messages.target()
            setattr(target, field, value)
            request = self.messages.compiler.PrepareRequest(protocol_version=1, graph=self.messages.product(64), target=target)
            connection = self.connect(node, A)
            _, status = connection.call(PREPARE, request.SerializeToString())
            self.assertEqual(status, INVALID, field)
            self.assertIn(f"target.{field}: {value}", connection.said.decode())

    def test_no_call_fills_the_log_or_has_an_answer_too_long_to_read(self):
        node = self.start()
        names = b"\x01" * (1 << 20)
        graph = self.messages.chain()
        for change in ("model", "output", "variable", "triple", "feature"):
            request = self.messages.compiler.PrepareRequest(protocol_version=1, graph=graph, target=self.messages.target())
            text = names.decode()
            if change == "model":
                request.model = text
            elif change == "output":
                request.graph.outputs[0].name = text
            elif change == "variable":
                request.graph.vars.add(name=text, min=1, max=2)
            elif change == "triple":
                request.target.triple = text
            else:
                request.target.features.append(text)
            for _ in range(20):
                connection = self.connect(node, B)
                _, status = connection.finish(connection.send_large(PREPARE, request.SerializeToString()))
                self.assertEqual(status, INVALID, change)
                self.assertIn(b"1048576 exceeds the limit", connection.said)
                connection.close()
        log = self.log(node)
        self.assertLess(max(map(len, log.splitlines())), 5000)
        self.assertLessEqual(log.count("failed after"), 20)  # of a hundred; one a minute
        self.assertLess(len(log), 200_000)


if __name__ == "__main__":
    digits_node.main()
