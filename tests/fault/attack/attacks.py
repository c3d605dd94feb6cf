"""What a hostile client does, one function an attack, each until its time is up, as one process of the daemon's user.

attacks.py NAME SOCKET FOLDER SECONDS     (FOLDER: of its own, with the messages' Python modules in FOLDER/../messages)
"""
import array
import contextlib
import fcntl
import os
import pathlib
import random
import socket
import struct
import sys
import threading
import time

from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, RST_STREAM, SERVICE, SETTINGS,
                   WINDOW_UPDATE, CallFailed, Connection, frame, header_block, message, until)

STREAMS = 60  # of a connection; the daemon allows 64


def varint(value):
    out = b""
    while value >= 128:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


class Attack:
    def __init__(self, path, folder, seconds, messages):
        self.path, self.folder, self.messages = path, pathlib.Path(folder), messages
        self.end = time.monotonic() + seconds
        self.random = random.Random(1)

    def again(self):
        return until(self.end)

    def connect(self, **how):
        return Connection(self.path, **how)

    def unread(self, method, payload, connections):
        """Calls whose answers are never read, begun anew when the daemon has ended them."""
        for _ in self.again():
            held = []
            with contextlib.suppress(OSError, CallFailed):
                for _ in range(connections):
                    held.append(self.connect(window=0))
                    for _ in range(STREAMS):
                        held[-1].open_call(SERVICE + method, payload)
            time.sleep(max(0, min(1.5, self.end - time.monotonic())))
            for connection in held:
                connection.close()

    def threads(self, count, work):
        def guarded(number):
            with contextlib.suppress(OSError, CallFailed):
                work(number)
        all_of_them = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
        for thread in all_of_them:
            thread.start()
        for thread in all_of_them:
            thread.join()

    # --- what fills the log ---

    def forged_log_lines(self):
        forged = b"x\n2026-01-01T00:00:00.000Z [1] error FORGED LINE \x1b[31m\x07" + b"y" * 7000
        block = header_block(SERVICE + "FetchArtifact", [("grpc-timeout", forged)])
        for _ in self.again():
            with contextlib.suppress(OSError):
                connection = self.connect(timeout=1)
                connection.send(b"".join(frame(HEADERS, END_HEADERS | END_STREAM, 2 * k + 1, block) for k in range(STREAMS)))
                connection.close()

    def connections_that_are_refused(self):
        held = []
        with contextlib.suppress(OSError):
            for _ in range(300):
                held.append(self.connect())
        for _ in self.again():
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as extra:
                extra.settimeout(1)
                extra.connect(self.path)

    def names_that_are_no_text(self):
        graph = self.messages.chain()
        graph.nodes[0].name = "NNNNNNNN"
        request = self.messages.prepare(graph).replace(b"NNNNNNNN", b"\xff\n\x1b[31m\xfe")
        connection = self.connect()
        for _ in self.again():
            connection.call("Prepare", request)

    # --- what takes memory, descriptors and threads ---

    def requests_of_empty_nodes(self):
        nodes = b"\x1a\x00" * (31 << 20)
        request = b"\x08\x01\x12" + varint(len(nodes)) + nodes

        def send(_):
            for _ in self.again():
                connection = self.connect()
                with contextlib.suppress(OSError, CallFailed):
                    connection.finish(connection.send_large(SERVICE + "Prepare", request))
                connection.close()
        self.threads(5, send)

    def uploads_that_never_end(self):
        def send(_):
            connection = self.connect(timeout=3)
            streams = [connection.open_call(SERVICE + "Prepare") for _ in range(8)]
            for stream in streams:
                connection.send(frame(DATA, 0, stream, b"\0" + struct.pack(">I", 60 << 20)))
            for _ in self.again():
                for stream in streams:
                    connection.send(frame(DATA, 0, stream, b"\0" * min(8192, max(1, connection.connection_window // 8))))
                    connection.connection_window -= 8192
                while connection.connection_window < (1 << 17) and time.monotonic() < self.end:
                    connection.read_frame()
        self.threads(12, send)

    def answers_that_are_not_read(self):
        connection = self.connect()
        result = self.messages.result_of(connection.call("Prepare", self.messages.prepare(
            self.messages.chain(ops=40, outputs=3)))[0])
        fetch = self.messages.compiler.FetchArtifactRequest(digest=result.artifacts[0].digest).SerializeToString()
        self.unread("FetchArtifact", fetch, 22)

    def explanations_that_are_not_read(self):
        graph = self.messages.chain(ops=10, outputs=20)
        request = self.messages.compiler.ExplainRequest(
            protocol_version=1, graph=graph, target=self.messages.target(), dump_kernels=[str(k) for k in range(20)])
        request.options.dump = True
        self.unread("Explain", request.SerializeToString(), 2)

    def plans_that_are_not_read(self):
        request = self.messages.prepare(self.messages.chain(ops=4, outputs=40))
        with contextlib.suppress(CallFailed):
            self.connect().call("Prepare", request)
        self.unread("Prepare", request, 20)

    def streams_that_stay_open(self):
        methods = ["/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "/grpc.health.v1.Health/Watch",
                   SERVICE + "Session", SERVICE + "NoSuchMethod"]
        for _ in self.again():
            held = []
            with contextlib.suppress(OSError):
                for i in range(8):
                    held.append(self.connect())
                    for _ in range(250):
                        held[-1].open_call(methods[i % len(methods)], b"\x08\x01", end=False)
            time.sleep(max(0, min(1, self.end - time.monotonic())))
            for connection in held:
                connection.close()

    def leases_without_end(self):
        connection = self.connect()
        stream = connection.open_call(SERVICE + "Session", b"\x08\x01", end=False)
        session = 0
        while not session:
            kind, _, number, payload = connection.read_frame()
            if kind == DATA and number == stream:
                session = self.messages.compiler.SessionResponse.FromString(payload[5:]).session_id
        request = self.messages.prepare(self.messages.chain(), session)
        for _ in self.again():
            connection.call("Prepare", request)

    def many_connections(self):
        pids = []
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                held = []
                with contextlib.suppress(OSError):
                    for _ in range(100):
                        held.append(self.connect(timeout=2))
                time.sleep(max(0, self.end - time.monotonic()))
                os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)

    def digests_of_files(self):
        padding = varint(100 << 3 | 2) + varint(60_000) + os.urandom(60_000)
        with self.weights() as peer:
            for i, _ in enumerate(self.again()):
                ranges = b"\x08" + varint(i) + padding
                peer.send(b"\x08\x01\x1a" + (lambda s: varint(len(s)) + s)(
                    b"\x0a" + varint(len(ranges)) + ranges + b"\x12\x20" + b"d" * 32))
                if not peer.recv(1 << 16):
                    break

    # --- what keeps others waiting ---

    def a_request_of_many_kernels(self):
        for i, _ in enumerate(self.again()):
            connection = self.connect(timeout=max(0.1, self.end - time.monotonic()))
            with contextlib.suppress(CallFailed, OSError):
                connection.call("Prepare", self.messages.prepare(
                    self.messages.chain(length=1000, ops=20, constant=i + 0.25, outputs=300)))
            connection.close()

    def sources_that_take_long(self):
        source = self.folder / "src"
        source.mkdir(exist_ok=True)
        for i in range(40):
            with open(source / f"{i}.cpp", "wb") as file:
                file.truncate((33 if i % 8 == 0 else 30) << 20)
        for n, _ in enumerate(self.again()):
            connection = self.connect(timeout=2)
            with contextlib.suppress(CallFailed, OSError):
                streams = [connection.open_call(SERVICE + "CompileBlob", self.messages.blob(
                    str(self.folder) + "/." * (n % 50 + 1), f"src/{k % 40}.cpp")) for k in range(STREAMS)]
                for stream in streams:
                    connection.finish(stream)
            connection.close()

    def folders_of_many_names(self):
        names = self.folder / "names"
        names.mkdir(exist_ok=True)
        for i in range(20_000):
            (names / f"n{i}.h").touch()
        source = self.folder / "src"
        source.mkdir(exist_ok=True)
        (source / "s.cpp").write_text('extern "C" int f() { return 1; }\n')
        connection = self.connect()
        for n, _ in enumerate(self.again()):
            flags = [f"-I{names}" + "/." * (k + n % 7) for k in range(8)]
            with contextlib.suppress(CallFailed):
                connection.call("CompileBlob", self.messages.blob(self.folder, "src/s.cpp", flags, only_if_cached=n > 0))

    def tuning_for_a_day(self):
        request = self.messages.compiler.TuneRequest(protocol_version=1, graph=self.messages.product(512),
                                                     target=self.messages.target(), budget_ms=86_400_000)
        connection = self.connect(timeout=max(0.1, self.end - time.monotonic()))
        for _ in range(40):
            connection.open_call(SERVICE + "Tune", request.SerializeToString())
        with contextlib.suppress(CallFailed):
            for _ in self.again():
                connection.read_frame()

    def give_weights(self, number, size, file, on_device=False):
        with self.weights() as peer:
            request = self.messages.weights.WeightsRequest(version=1)
            request.take.key, request.take.size_bytes = struct.pack("<Q", number) * 4, size
            request.take.on_device = on_device
            peer.send(request.SerializeToString())
            peer.recv(1 << 16)
            request = self.messages.weights.WeightsRequest(version=1)
            request.give.SetInParent()
            peer.sendmsg([request.SerializeToString()],
                         [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))])
            peer.recv(1 << 16)

    def weights_of_holes(self):
        for i, _ in enumerate(self.again()):
            size = 1 << 30
            file = os.memfd_create("hollow", os.MFD_ALLOW_SEALING)
            os.ftruncate(file, size)
            fcntl.fcntl(file, 1033, 15)  # F_ADD_SEALS
            self.give_weights(i, size, file)
            os.close(file)

    def weights_of_no_gpu(self):
        for i, _ in enumerate(self.again()):
            files = [*os.pipe(), os.open("/dev/zero", os.O_RDWR), os.open("/proc/self/mem", os.O_RDWR),
                     os.memfd_create("large")]
            os.ftruncate(files[-1], 1 << 46)
            for k, file in enumerate(files):
                self.give_weights(8 * i + k, 1 << 46, file, on_device=True)
                os.close(file)

    # --- what makes no sense ---

    def frames_of_noise(self):
        kinds = [DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION, 2, 5, 77]
        for _ in self.again():
            with contextlib.suppress(OSError):
                connection = self.connect(timeout=1)
                for _ in range(self.random.randrange(1, 60)):
                    payload = os.urandom(self.random.choice([0, 4, 8, 100, 5000]))
                    connection.send(frame(self.random.choice(kinds), self.random.randrange(256),
                                          self.random.choice([0, 1, 3, 2, 1 << 30]), payload))
                connection.close()

    def calls_that_are_reset(self):
        requests = [("Prepare", self.messages.prepare(self.messages.chain())),
                    ("FetchArtifact", b"\x0a\x20" + b"q" * 32), ("Session", b"\x08\x01"),
                    ("Prepare", self.messages.prepare(self.messages.chain(constant=7.5, outputs=4)))]
        for n, _ in enumerate(self.again()):
            with contextlib.suppress(OSError):
                connection = self.connect(timeout=1)
                for _ in range(50):
                    method, payload = self.random.choice(requests)
                    stream = connection.open_call(SERVICE + method, payload)
                    connection.send(frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))
                connection.close()

    def mutated_requests(self):
        whole = self.messages.prepare(self.messages.chain(ops=12, outputs=2))
        connection = self.connect()
        for _ in self.again():
            bad = bytearray(whole)
            for _ in range(self.random.randrange(1, 4)):
                bad[self.random.randrange(len(bad))] = self.random.choice([0, 1, 2, 0x7F, 0x80, 0xFF])
            try:
                connection.call("Prepare", bytes(bad))
            except CallFailed:
                connection = self.connect()

    def weights(self):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.settimeout(5)
        peer.connect(str(self.path).removesuffix(".sock") + ".share")
        return peer


ALL = [name for name, value in vars(Attack).items()
       if callable(value) and not name.startswith("_") and name not in
       ("again", "connect", "unread", "threads", "weights")]

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    from messages import Messages  # noqa: E402
    name, path, folder, seconds = sys.argv[1:5]
    attack = Attack(path, folder, float(seconds), Messages(pathlib.Path(folder).parent / "messages"))
    try:
        getattr(attack, name)()
    except (CallFailed, OSError) as error:  # the daemon had enough of it
        print(f"{name}: {error}", file=sys.stderr)
