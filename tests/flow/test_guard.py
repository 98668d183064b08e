"""The guard lets nothing of its process out around the gate, and what Tenure does itself passes.

A guard stays for the life of its process, so each test runs in a process of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.flow import guarded
from tests.flow.guarded import nobody_came, said_by


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    """A socket that a refused attempt never reaches."""
    with guarded.listening() as listener:
        yield listener


CLIENTS = """
guard.install("refuse", reports.append)
import socket, urllib.request
import httpx2

URL = f"http://127.0.0.1:{PORT}/"

def in_thread():
    caught = []
    def connect():
        try:
            socket.create_connection(("127.0.0.1", PORT))
        except BaseException as error:
            caught.append(error)
    thread = threading.Thread(target=connect)
    thread.start()
    thread.join()
    if caught:
        raise caught[0]

async def with_httpx2():
    async with httpx2.AsyncClient() as client:
        await client.get(URL)

async def by_streams():
    await asyncio.open_connection("localhost", PORT)

attempt("urllib", lambda: urllib.request.urlopen(URL))
attempt("urllib by name", lambda: urllib.request.urlopen(f"http://localhost:{PORT}/"))
attempt("httpx2", lambda: httpx2.get(URL))
attempt("httpx2 async", lambda: asyncio.run(with_httpx2()))
attempt("asyncio by name", lambda: asyncio.run(by_streams()))
attempt("thread", in_thread)
attempt("connect_ex", lambda: socket.socket().connect_ex(("127.0.0.1", PORT)))
attempt("datagram", lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)))
there = [b"x"], [], 0, ("127.0.0.1", 9)
attempt("message", lambda: socket.socket(type=socket.SOCK_DGRAM).sendmsg(*there))
attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect("/run/docker.sock"))
attempt("lookup", lambda: socket.getaddrinfo("example.com", 443))
attempt("old lookup", lambda: socket.gethostbyname("example.com"))
attempt("reverse lookup", lambda: socket.gethostbyaddr("127.0.0.1"))
attempt("name of", lambda: socket.getnameinfo(("127.0.0.1", 80), 0))
"""


def test_no_client_of_the_process_gets_out(listening: socket.socket) -> None:
    """Clients, bare sockets, lookups and plain threads are refused, each attempt reported."""
    said, reports = said_by(CLIENTS, listening)
    assert len(said) == 14
    for name, outcome in said.items():
        assert outcome.startswith("CallForbidden: "), (name, outcome)
        assert "ctx.http" in outcome
        assert any(outcome.endswith(report) for report in reports)
    assert "127.0.0.1:" in said["thread"]
    assert "localhost" in said["urllib by name"]
    assert nobody_came(listening)


CHILDREN = """
import multiprocessing, subprocess
guard.install("refuse", reports.append)
import pty

async def by_asyncio():
    await asyncio.create_subprocess_exec("/bin/true")

def by_multiprocessing(method):
    multiprocessing.get_context(method).Process(target=print).start()

def by_new_interpreter():
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    interpreters.create()

attempt("run", lambda: subprocess.run(["/bin/true", "--password=hunter2"]))
attempt("shell", lambda: subprocess.run("true hunter2", shell=True))
attempt("asyncio", lambda: asyncio.run(by_asyncio()))
attempt("system", lambda: os.system("true hunter2"))
attempt("popen", lambda: os.popen("true"))
attempt("fork", os.fork)
attempt("forkpty", os.forkpty)
attempt("pty", lambda: pty.spawn("/bin/true"))
attempt("posix_spawn", lambda: os.posix_spawn("/bin/true", ["true"], {}))
attempt("spawnv", lambda: os.spawnv(os.P_WAIT, "/bin/true", ["true"]))
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("multiprocessing fork", lambda: by_multiprocessing("fork"))
attempt("multiprocessing spawn", lambda: by_multiprocessing("spawn"))
attempt("multiprocessing forkserver", lambda: by_multiprocessing("forkserver"))
attempt("interpreter", by_new_interpreter)

with passage():
    said["in a passage"] = str(subprocess.run(["/bin/true"]).returncode)
"""


def test_no_subprocess_is_started(listening: socket.socket) -> None:
    """Every way to start a program is refused, its arguments untold; Tenure's own start."""
    said, _ = said_by(CHILDREN, listening)
    assert said.pop("in a passage") == "0"
    assert len(said) == 15
    for name, outcome in said.items():
        assert outcome.startswith("CallForbidden: "), (name, outcome)
        assert "hunter2" not in outcome


OWN = """
guard.install("refuse", reports.append)
from uuid import uuid4
from tenure.base import clock
from tenure.base.http import Request
from tenure.flow.carriers import Admission, Live, Outgoing

async def admit():
    # what the author's code does while the carrier works is refused all the same
    try:
        await asyncio.open_connection("127.0.0.1", PORT)
    except CallForbidden as error:
        said["inside"] = str(error)
    return Admission(clock.now(), 5.0, clock.now() + 60)

async def carry():
    request = Request("GET", f"http://localhost:{PORT}/")
    call = Outgoing(request=request, allow=frozenset(("plain-http", "private-address")))
    return await Live().carry(call, admit)

async def by_name_in_passage():
    with passage():
        reader, writer = await asyncio.open_connection("localhost", PORT)
    writer.close()

def serve():
    with listener, listener.accept()[0] as peer:
        peer.recv(65536)
        peer.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok")

import socket
listener = socket.create_server(("127.0.0.1", 0))
PORT = listener.getsockname()[1]
thread = threading.Thread(target=serve)
thread.start()
said["carried"] = asyncio.run(carry()).response.text()
thread.join()
PORT = int(sys.argv[1])
attempt("lookup in a passage", lambda: asyncio.run(by_name_in_passage()))

async def outlives():
    ended = asyncio.Event()
    async def later():
        await ended.wait()
        await asyncio.open_connection("127.0.0.1", PORT)
    with passage():
        task = asyncio.create_task(later())
    ended.set()
    await task

attempt("started in a passage", lambda: asyncio.run(outlives()))
"""


def test_tenures_own_carrier_passes(listening: socket.socket) -> None:
    """The carrier gets out, lookup included, and opens no way for anybody else meanwhile."""
    said, reports = said_by(OWN, listening)
    assert said["carried"] == "ok"
    assert "around the gate" in said["inside"]
    assert said["lookup in a passage"] == "went through"
    assert said["started in a passage"].startswith("CallForbidden")
    assert len(reports) == 2


SERVER = """
guard.install("refuse", reports.append)
import socket

async def listen():
    server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    server.close()

attempt("listen", lambda: asyncio.run(listen()))
attempt("pair", socket.socketpair)
attempt("literal", lambda: socket.getaddrinfo("127.0.0.1", 80))
attempt("files", lambda: open("/dev/null").close())
"""


def test_what_reaches_nobody_is_left_alone(listening: socket.socket) -> None:
    """Listening, pairs of sockets, literal addresses and files are nobody's business here."""
    said, reports = said_by(SERVER, listening)
    assert set(said.values()) == {"went through"}
    assert reports == []


SWALLOWED = """
guard.install("refuse", reports.append)
import socket
for _ in range(3):
    try:
        socket.create_connection(("127.0.0.1", PORT))
    except Exception:
        pass
"""


def test_refusal_that_is_swallowed_is_reported(listening: socket.socket) -> None:
    """An author's broad except hides nothing: each attempt is reported before it is refused."""
    _, reports = said_by(SWALLOWED, listening)
    assert len(reports) == 3
    assert nobody_came(listening)


MODES = """
guard.install(%r, reports.append)
import socket, subprocess
attempt("connect", lambda: socket.create_connection(("127.0.0.1", PORT)).close())
attempt("subprocess", lambda: subprocess.run(["/bin/true"]))
before = len(reports)
attempt("again", lambda: guard.install(%r, reports.append))
attempt("then", lambda: socket.create_connection(("127.0.0.1", PORT)).close())
attempt("loosened", lambda: guard.install("allow"))
"""


def test_warning_guard_journals_and_lets_pass(listening: socket.socket) -> None:
    """In a live process the same hook only reports; it can be made stricter, and never looser."""
    said, reports = said_by(MODES % ("warn", "refuse"), listening)
    assert said["connect"] == said["subprocess"] == said["again"] == "went through"
    assert said["then"].startswith("CallForbidden")
    assert said["loosened"].startswith("ConfigurationError")
    assert sum("a connection" in report for report in reports) == 2
    assert any("a subprocess" in report and "/bin/true" in report for report in reports)


def test_guard_is_set_once(listening: socket.socket) -> None:
    """Setting the same guard again changes nothing: one attempt, one report."""
    said, reports = said_by(MODES % ("warn", "warn"), listening)
    assert said["again"] == said["then"] == "went through"
    assert sum("a connection" in report for report in reports) == 2


def test_allowing_guard_says_nothing(listening: socket.socket) -> None:
    """Where the operator allows calls around the gate they are neither refused nor told."""
    said, reports = said_by(MODES % ("allow", "allow"), listening)
    assert set(said.values()) == {"went through"}
    assert reports == []
