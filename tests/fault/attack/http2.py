"""HTTP/2 spoken by hand: a client that may break every rule, and one that keeps them well enough to measure a daemon.

Connection(path) greets a unix socket; open_call() begins a gRPC call and returns its stream, call() makes one and returns
the answer's messages and status. Header tables are turned off, so that headers are plain bytes. One thread a connection.
"""
import socket
import struct
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
SERVICE = "/hearth.v1.CompilerService/"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def text(value):
    data = value if isinstance(value, bytes) else value.encode()
    if len(data) < 127:
        return bytes([len(data)]) + data
    rest, out = len(data) - 127, b"\x7f"
    while rest >= 128:
        out, rest = out + bytes([rest % 128 + 128]), rest // 128
    return out + bytes([rest]) + data


def header_block(method, extra=()):
    fields = [(":method", "POST"), (":scheme", "http"), (":path", method), (":authority", "localhost"),
              ("te", "trailers"), ("content-type", "application/grpc"), *extra]
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


def message(payload):
    return b"\0" + struct.pack(">I", len(payload)) + payload


class CallFailed(Exception):
    """The call ended without an answer: the connection closed, the stream was reset, or time is up."""


class Connection:
    """`window`: how much the peer may send on each stream before it is read; 0: nothing, ever."""

    def __init__(self, path, window=1 << 24, timeout=20.0):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))
        self.next_stream, self.buffer = 1, b""
        self.peer_window, self.connection_window = 65535, 65535
        settings = struct.pack(">HIHI", 1, 0, 4, window)  # no header table, the window
        self.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0, settings)
                  + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 28)))

    def send(self, data):
        self.socket.sendall(data)

    def close(self):
        self.socket.close()

    def open_call(self, method, payload=None, extra=(), end=True):
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        out = frame(HEADERS, END_HEADERS, stream, header_block(method, extra))
        if payload is not None:
            out += frame(DATA, END_STREAM if end else 0, stream, message(payload))
        self.send(out)
        return stream

    def read_frame(self):
        while len(self.buffer) < 9 or len(self.buffer) < 9 + int.from_bytes(self.buffer[:3], "big"):
            try:
                data = self.socket.recv(1 << 16)
            except OSError as error:
                raise CallFailed(str(error)) from error
            if not data:
                raise CallFailed("the connection was closed")
            self.buffer += data
        size = int.from_bytes(self.buffer[:3], "big")
        kind, flags = self.buffer[3], self.buffer[4]
        stream = int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF
        payload, self.buffer = self.buffer[9:9 + size], self.buffer[9 + size:]
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload) - 5, 6):
                name, value = struct.unpack_from(">HI", payload, at)
                if name == 4:
                    self.peer_window = value
            self.send(frame(SETTINGS, ACK, 0))
        if kind == PING and not flags & ACK:
            self.send(frame(PING, ACK, 0, payload))
        if kind == WINDOW_UPDATE and stream == 0:
            self.connection_window += int.from_bytes(payload, "big")
        return kind, flags, stream, payload

    def send_large(self, method, payload):
        """Begins a call whose request is larger than a window, as far as the daemon lets it; returns its stream."""
        stream = self.open_call(method)
        data, sent, window = message(payload), 0, None
        while sent < len(data):
            window = self.peer_window if window is None else window
            size = min(16384, len(data) - sent, window, self.connection_window)
            if size > 0:
                last = sent + size == len(data)
                self.send(frame(DATA, END_STREAM if last else 0, stream, data[sent:sent + size]))
                sent, window, self.connection_window = sent + size, window - size, self.connection_window - size
                continue
            before = self.peer_window
            kind, _, number, content = self.read_frame()
            window += self.peer_window - before
            if number == stream and kind == WINDOW_UPDATE:
                window += int.from_bytes(content, "big")
            if number == stream and kind in (RST_STREAM, HEADERS):
                raise CallFailed("refused while it was sent")
            if kind == GOAWAY:
                raise CallFailed("the daemon says good-bye")
        return stream

    def finish(self, stream):
        """The messages of a call's answer and its gRPC status, None when that cannot be told."""
        data = b""
        while True:
            kind, flags, number, payload = self.read_frame()
            if kind == GOAWAY:
                raise CallFailed("the daemon says good-bye")
            if number != stream:
                continue
            if kind == RST_STREAM:
                raise CallFailed(f"reset with code {int.from_bytes(payload, 'big')}")
            if kind == DATA:
                data += payload
                if payload:
                    self.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", len(payload)))
                              + (b"" if flags & END_STREAM
                                 else frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", len(payload)))))
            if kind == HEADERS and flags & END_STREAM:
                at = payload.find(b"grpc-status")
                status = int(payload[at + 12:at + 12 + payload[at + 11]]) if at >= 0 else None
                said = payload.find(b"grpc-message")
                self.said = payload[said + 13:] if said >= 0 else b""
                break
        messages = []
        while len(data) >= 5:
            size = int.from_bytes(data[1:5], "big")
            messages.append(data[5:5 + size])
            data = data[5 + size:]
        return messages, status

    def call(self, method, payload):
        return self.finish(self.open_call(SERVICE + method if "/" not in method else method, payload))


def until(deadline):
    """For loops that last until a moment of time.monotonic()."""
    while time.monotonic() < deadline:
        yield
