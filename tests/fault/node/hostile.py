"""All that one user of a node's daemon can do to the others, at once, until its time is up.
hostile.py SOCKET PROTOS SECONDS METRICS_PORT"""
import contextlib
import itertools
import os
import random
import socket
import struct
import sys
import threading
import time

from http2 import CallFailed, Connection
from messages import Messages

SERVICE = "/hearth.v1.CompilerService/"
ROUNDS = itertools.count(os.getpid() << 20)


class Hostile:
    def __init__(self, path, protos, seconds, port):
        self.path, self.m, self.end, self.port = path, Messages(protos), time.monotonic() + seconds, port
        self.graph = self.m.graph

    def variable(self, index):
        return self.graph.Expr(tokens=[self.graph.ExprToken(kind=self.graph.ExprToken.VAR, value=index)])

    def request(self, graph, target=None, **more):
        return self.m.compiler.PrepareRequest(protocol_version=1, graph=graph, target=target or self.m.target(),
                                              **more).SerializeToString()

    # --- requests ---

    def heavy(self):
        """Of lowering that takes seconds."""
        g = self.graph.Graph(version=1)
        for name in "nm":
            g.vars.add(name=name, min=1, max=4096)
        shape = [self.variable(0), self.variable(1)]
        g.nodes.add(op=self.graph.INPUT, dtype=self.graph.F32, name=f"x{next(ROUNDS)}", args=shape)
        for i in range(800):
            last = len(g.nodes) - 1
            g.nodes.add(op=self.graph.REDUCE_MAX, dtype=self.graph.F32, inputs=[last], axes=[i % 2])
            g.nodes.add(op=self.graph.EXPAND, dtype=self.graph.F32, inputs=[last + 1], args=shape)
            g.nodes.add(op=self.graph.SUB, dtype=self.graph.F32, inputs=[last, last + 2])
        g.outputs.add(name="y", node=len(g.nodes) - 1)
        return "Prepare", self.request(g)

    def many_kernels(self):
        return "Prepare", self.request(self.m.chain(length=1000, ops=20, constant=next(ROUNDS) + 0.25, outputs=300))

    def with_provenance(self):
        g = self.m.chain(ops=5, constant=0.5 + random.randrange(1, 50))  # as the fourth user's
        for k in range(200_000):
            g.provenance.add(node=2, text=f"{k}")
        return "Prepare", self.request(g)

    def with_values(self):
        options = self.m.artifact.CompileOptions(var_values=[1, 2, 3])
        return "Prepare", self.request(self.m.chain(ops=5, constant=0.5 + random.randrange(1, 50)), options=options)

    def of_many_threads(self):
        target = self.m.target()
        target.threads = 2**31
        return "Prepare", self.request(self.m.product(64 + next(ROUNDS) % 1000), target)

    def of_long_names(self):
        g = self.m.chain()
        g.outputs[0].name = "\x01" * (4 << 20)
        return "Prepare", self.request(g, model="\x1b" * (4 << 20))

    def of_large_constants(self):
        g, size = self.graph.Graph(version=1), self.m.length(1 << 18)
        g.nodes.add(op=self.graph.INPUT, dtype=self.graph.F32, name="x", args=[size])
        for _ in range(4):
            g.nodes.add(op=self.graph.CONSTANT, dtype=self.graph.F32, args=[size],
                        data=struct.pack("<Q", next(ROUNDS)) + os.urandom(8) + bytes((1 << 20) - 16))
            g.nodes.add(op=self.graph.ADD, dtype=self.graph.F32, inputs=[len(g.nodes) - 2, len(g.nodes) - 1])
        g.outputs.add(name="y", node=len(g.nodes) - 1)
        return "Prepare", self.request(g)

    def of_why(self):
        return "Explain", self.m.compiler.ExplainRequest(
            protocol_version=1, graph=self.m.chain(constant=next(ROUNDS) + 0.5), target=self.m.target(),
            only_key=True).SerializeToString()

    # --- what is done with them ---

    def many_at_once(self, kind, count):
        """As many as may wait, again and again."""
        while time.monotonic() < self.end:
            with contextlib.suppress(CallFailed, OSError):
                connection = Connection(self.path, timeout=max(0.1, self.end - time.monotonic()))
                streams = [connection.open_call(SERVICE + method, payload) for method, payload in
                           (kind() for _ in range(count))]
                for stream in streams:
                    connection.finish(stream)
                connection.close()

    def one_after_another(self, kind):
        while time.monotonic() < self.end:
            with contextlib.suppress(CallFailed, OSError):
                connection = Connection(self.path, timeout=max(0.1, self.end - time.monotonic()))
                method, payload = kind()
                connection.finish(connection.send_large(SERVICE + method, payload))
                connection.close()
            time.sleep(0.05)

    def hold_connections(self):
        """Of health and metrics; their headers never end."""
        held = []
        while time.monotonic() < self.end:
            with contextlib.suppress(OSError):
                held.append(socket.create_connection(("127.0.0.1", self.port), timeout=1))
                held[-1].send(b"GET /live HTTP/1.1\r\nX: ")
            if len(held) > 200:
                held.pop(0).close()
            time.sleep(0.01)

    def run(self):
        works = [lambda: self.many_at_once(self.heavy, 20), lambda: self.one_after_another(self.many_kernels),
                 self.hold_connections]
        for kind in (self.with_provenance, self.with_values, self.of_many_threads, self.of_long_names,
                     self.of_large_constants, self.of_why):
            works.append(lambda kind=kind: self.one_after_another(kind))
        threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in threads:
            thread.start()
        time.sleep(max(0, self.end - time.monotonic()))


if __name__ == "__main__":
    Hostile(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])).run()
    os._exit(0)  # calls that are under way are left
