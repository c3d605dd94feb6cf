"""A node with a service that all users share: a daemon of a made-up user in a folder of /run that root gave it, and
clients of other made-up users. Takes root."""
import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading
import time

BIN = pathlib.Path(os.environ.get("HEARTH_BIN_DIR", "build/release/bin")).resolve()
SERVICE = 61000  # the daemon's user
USERS = [61001 + i for i in range(8)]


@contextlib.contextmanager
def acting_as(user):
    """Connections that are made meanwhile are this user's."""
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


class Node:
    """A folder in /run that root gave to the service, its daemon, and programs that every user can run."""

    def __init__(self, files=(), clients="everyone", sharing="node", activate=False, **settings):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hearth-node-test-", dir="/run"))
        self.folder.chmod(0o755)
        self.programs = pathlib.Path(tempfile.mkdtemp(prefix="hearth-node-bin-", dir="/run"))
        self.programs.chmod(0o755)
        for name in ("hearth", "hearthd", "hearth-worker"):
            shutil.copy(BIN / name, self.programs / name)
        for path in files:
            shutil.copy(path, self.programs / path.name)
            (self.programs / path.name).chmod(0o644)
        self.socket = self.folder / "hearthd.sock"
        self.clients = self.folder / "hearthd.clients"  # for containers: it holds clients' sockets alone
        self.cache = self.folder / "cache"
        self.cache.mkdir(mode=0o700)
        for path in (self.folder, self.cache):
            os.chown(path, SERVICE, SERVICE)
        self.environment = {"PATH": "/usr/bin:/bin", "HEARTH_SOCKET": str(self.socket), "HEARTH_CLIENTS": clients,
                            "HEARTH_SHARING": sharing, "HEARTH_CACHE_DIR": str(self.cache), "HOME": "/nonexistent",
                            **settings}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                self.environment[name] = os.environ[name]
        self.listening = None
        if activate:
            self.listening = socket.socket(socket.AF_UNIX)
            self.listening.bind(str(self.socket))
            self.socket.chmod(0o666)
            os.chown(self.socket, SERVICE, SERVICE)
            self.listening.listen(128)
        self.daemon = None
        self.stopping = False

    def command(self, user, *words):
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *map(str, words)]

    def spawn(self):
        """As systemd does: with the socket that it listens on as descriptor 3."""
        words, more = [self.programs / "hearthd", "--foreground"], {}
        if self.listening is not None:
            # The pid that LISTEN_PID names is known to the shell alone.
            words = ["sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@" 3<&' + str(self.listening.fileno()), *words]
            more = {"pass_fds": [self.listening.fileno()]}
        with open(self.folder / "log", "ab") as log:
            self.daemon = subprocess.Popen(self.command(SERVICE, *words), env=self.environment, stderr=log, stdout=log,
                                           **more)

    def start(self):
        self.spawn()
        deadline = time.monotonic() + 300
        while self.hearth(SERVICE, "daemon", "status").returncode != 0 and self.daemon.poll() is None:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            time.sleep(0.05)
        return self

    def supervise(self):
        """Starts it again whenever it is gone, as Restart=always does."""
        def run():
            while not self.stopping:
                self.daemon.wait()
                if not self.stopping:
                    time.sleep(0.1)
                    self.spawn()
        self.supervisor = threading.Thread(target=run)
        self.supervisor.start()

    def stop(self):
        self.stopping = True
        if self.daemon is not None and self.daemon.poll() is None:
            self.daemon.terminate()
            self.daemon.wait(60)
        if hasattr(self, "supervisor"):
            self.supervisor.join()
            if self.daemon.poll() is None:
                self.daemon.terminate()
                self.daemon.wait(60)
        if self.listening is not None:
            self.listening.close()
        for folder in (self.folder, self.programs):
            shutil.rmtree(folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def begin(self, user, *words):
        environment = {**self.environment, "HEARTH_THREADS": "1", "HEARTH_NO_AUTOSTART": "1"}
        return subprocess.Popen(self.command(user, self.programs / "hearth", *words), env=environment, cwd="/",
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def hearth(self, user, *words):
        process = self.begin(user, *words)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(words, process.returncode, out, err)
