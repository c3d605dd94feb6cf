"""Two real servers of the Remote Execution API v2, for tests: Debian sid's buildbox-casd, unpacked and run by its own
dynamic loader, and BuildGrid of the package index, in an environment of its own. Nothing of them is installed, and what
cannot be had here raises Unavailable.

    with remote_servers.Casd(folder, "127.0.0.1:50999") as server: ...
"""
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import time

GIVE_UP_S = 600


class Unavailable(Exception):
    """The server cannot be had here."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def store():
    """Where servers lie between runs: beside the build."""
    folder = pathlib.Path(os.environ.get("HEARTH_BIN_DIR", "build/release/bin")).resolve().parent / "remote_servers"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def wait_until(holds, what):
    end = time.monotonic() + GIVE_UP_S
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(0.02)


def answers(host, port):
    try:
        socket.create_connection((host, port), timeout=1).close()
        return True
    except OSError:
        return False


class Server:
    """A process that serves an address; ended with the `with` statement."""

    def __init__(self, folder, port):
        self.folder, self.port = pathlib.Path(folder), port
        self.address = f"grpc://127.0.0.1:{port}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.start()

    def command(self):
        raise NotImplementedError

    def start(self):
        with open(self.folder / "server.log", "ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_until(lambda: self.listens() or self.process.poll() is not None, "the server answers")
        if self.process.poll() is not None:
            raise Unavailable(f"it ended with {self.process.returncode}: "
                              + (self.folder / "server.log").read_text(errors="replace")[-300:])

    def listens(self):
        return answers("127.0.0.1", self.port)

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.thaw()
            self.kill()


class Casd(Server):
    """casd as the cache of a fleet."""

    def __init__(self, folder, port=None):
        self.root = _casd_root()
        super().__init__(folder, port or free_port())

    def command(self):
        return _of_unit(self.root, "hearth-casd.service", bind=f"127.0.0.1:{self.port}", folder=self.folder / "cas")


class CasdProxy(Server):
    """casd on a socket of the node, which passes calls on to another server."""

    def __init__(self, folder, upstream):
        self.root, self.upstream = _casd_root(), upstream
        self.socket = str(pathlib.Path(folder) / "proxy.sock")
        super().__init__(folder, 0)
        self.address = "unix:" + self.socket

    def command(self):
        return _of_unit(self.root, "hearth-casd-proxy.service", bind=f"unix:{self.socket}", folder=self.folder / "cas",
                        remote=self.upstream.replace("grpc://", "http://"))

    def listens(self):
        return os.path.exists(self.socket)


class BuildGrid(Server):
    """`tls`: a folder with server.key, server.pem, ca.pem and jwt.secret: certificates of both sides and HS256 tokens."""

    def __init__(self, folder, port=None, tls=None, read_only=False):
        self.program = _buildgrid()
        self.tls, self.read_only = tls, read_only
        super().__init__(folder, port or free_port())
        if tls:
            self.address = f"grpcs://localhost:{self.port}"

    def command(self):
        settings = ["server:", "  - !channel", f'    address: "localhost:{self.port}"']
        if self.tls:
            settings += ["    insecure-mode: false", "    credentials:", f"      tls-server-key: {self.tls}/server.key",
                         f"      tls-server-cert: {self.tls}/server.pem", f"      tls-client-certs: {self.tls}/ca.pem",
                         "authorization:", "  method: jwt", f"  secret: {self.tls}/jwt.secret", "  algorithm: hs256"]
        else:
            settings += ["    insecure-mode: true", "authorization:", "  method: none"]
        settings += ["storages:", "  - !disk-storage &storage", f"    path: {self.folder}/cas", "caches:",
                     "  - !lru-action-cache &actions", "    storage: *storage", "    max-cached-refs: 100000",
                     f"    allow-updates: {str(not self.read_only).lower()}", "instances:"]
        for name in ("''", "hearth"):
            settings += [f"  - name: {name}", "    services:", "      - !action-cache", "        cache: *actions",
                         "      - !cas", "        storage: *storage", "      - !bytestream", "        storage: *storage"]
        settings += ["thread-pool-size: 100"]
        (self.folder / "server.yml").write_text("\n".join(["description: a cache for tests", *settings]) + "\n")
        return [self.program, "server", "start", str(self.folder / "server.yml")]


def _run(command, what, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise Unavailable(f"{what}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def _by_own_loader(root, program):
    libraries = root / "usr/lib/x86_64-linux-gnu"
    return [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries), "--argv0", program,
            str(root / "usr/bin" / program)]


def _of_unit(root, unit, *, bind, folder, remote=None):
    """The command line of a unit of deploy/fleet, at this test's addresses and with little room."""
    text = (pathlib.Path(__file__).parents[2] / "deploy/fleet" / unit).read_text()
    program, *arguments = shlex.split(re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1])
    assert program == "/usr/bin/buildbox-casd", program
    changed = {"--bind": bind, "--remote": remote, "--quota-high": "1G", "--reserved": "100M"}
    command = _by_own_loader(root, "buildbox-casd")
    for argument in arguments[:-1]:
        name, _, value = argument.partition("=")
        command.append(f"{name}={changed.get(name, value)}")
    return [*command, str(folder)]


def _archive():
    """The archive that this machine takes Debian's packages from."""
    places = [pathlib.Path("/etc/apt/sources.list"), *pathlib.Path("/etc/apt/sources.list.d").glob("*")]
    for place in places:
        if place.is_file():
            found = re.search(r"https?://\S+/debian/?(?=\s|$)", place.read_text(errors="replace"))
            if found:
                return found.group(0)
    raise Unavailable("apt knows no archive of Debian")


def debian_root(name, package, suite="sid"):
    """A package of another suite with all that it depends on, unpacked, from glibc up; kept between runs."""
    root = store() / name
    if root.exists():
        return root
    if not shutil.which("apt-get"):
        raise Unavailable("there is no apt-get")
    state = store() / f"{name}.apt"
    shutil.rmtree(state, ignore_errors=True)
    for folder in ("lists/partial", "cache/archives/partial", "debs"):
        (state / folder).mkdir(parents=True)
    (state / "status").touch()
    (state / "suite.sources").write_text(
        f"Types: deb\nURIs: {_archive()}\nSuites: {suite}\nComponents: main\n"
        "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n")
    (state / "apt.conf").write_text(
        f'Dir::Etc::sourcelist "{state}/suite.sources";\nDir::Etc::sourceparts "{state}/none";\n'
        f'Dir::State::lists "{state}/lists";\nDir::Cache "{state}/cache";\nDir::State::status "{state}/status";\n'
        'Acquire::Languages "none";\nAPT::Sandbox::User "root";\n')
    environment = {**os.environ, "APT_CONFIG": str(state / "apt.conf")}
    _run(["apt-get", "-qq", "update"], "apt-get update", env=environment)
    plan = _run(["apt-get", "install", "-s", "--no-install-recommends", package], f"{package} of {suite}",
                env=environment)
    packages = [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]
    _run(["apt-get", "-qq", "download", *packages], "apt-get download", env=environment, cwd=state / "debs")
    unpacked = state / "root"
    for deb in sorted((state / "debs").glob("*.deb")):
        _run(["dpkg-deb", "-x", str(deb), str(unpacked)], "dpkg-deb")
    unpacked.rename(root)
    shutil.rmtree(state)
    return root


def package_program(package, suite="trixie"):
    """A program of another suite that needs no library but its own, as those written in Go."""
    return str(debian_root(package, package, suite) / "usr/bin" / package)


class Registry(Server):
    """docker-registry, without TLS."""

    def __init__(self, folder):
        self.program = package_program("docker-registry")
        super().__init__(folder, free_port())
        self.address = f"127.0.0.1:{self.port}"

    def command(self):
        (self.folder / "registry.yml").write_text(
            f"version: 0.1\nstorage: {{filesystem: {{rootdirectory: {self.folder}/registry}}}}\n"
            f"http: {{addr: 127.0.0.1:{self.port}}}\n")
        return [self.program, "serve", str(self.folder / "registry.yml")]


def _casd_root():
    return debian_root("casd", "buildbox")


def _buildgrid():
    """Its program, in an environment of its own."""
    environment = store() / "buildgrid"
    program = environment / "bin/bgd"
    if not program.exists():
        shutil.rmtree(environment, ignore_errors=True)
        _run(["/usr/bin/python3", "-m", "venv", str(environment)], "python3 -m venv")
        _run([str(environment / "bin/pip"), "install", "-q", "buildgrid"], "pip install buildgrid")
    return str(program)
