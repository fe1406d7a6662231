"""Follow one run of a command with sys.setprofile: the functions of dpselect that run, and what the run asks of the world.

A run is followed cold, in a process of its own in which nothing of dpselect was imported: no cache is warm, and the modules
that are loaded are those that the command needs. What modules do while they are being imported is no part of the walk.

What is counted outside of dpselect needs no name of ours, so no renaming hides it: files by Python's audit events and at the
doors of PyArrow, which opens them by itself; databases at the door of sqlite3, and their transactions by SQLite's own trace.
"""

import http.client
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import urlencode, urlsplit

CONNECTIONS, WRITES, OPENED = "SQLite connections", "durable transactions", "file opened to be read"
OUTSIDE = (CONNECTIONS, WRITES, OPENED)
_WRITING = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER|PRAGMA \w+ ?=)", re.IGNORECASE)
_SYNCHRONOUS = re.compile(r"\s*PRAGMA synchronous ?= ?(\w+)", re.IGNORECASE)


class _Thread(threading.local):
    """How deep a thread is in functions of dpselect, and in how many of its modules that are being imported."""

    depth = importing = 0


class Walk:
    """What has run since it began, or since it was last begun anew."""

    def __init__(self, package, roles, once, source):
        self.package, self.source = f"{package}{os.sep}", os.stat(source)
        self.roles, self.once = roles, once
        self._last = {pattern.rpartition(":")[2].rpartition(".")[2] for each in roles.values() for pattern in each}
        self._codes, self._thread, self._lock = {}, _Thread(), threading.RLock()
        self.lines = {}
        self.begin_anew()

    def begin_anew(self):
        """Forget what was counted, as what came before was preparation."""
        with self._lock:
            self.functions, self.outside, self.crossings = Counter(), Counter(), []
            self.derived = {role: Counter() for role in self.roles}
            self.deepest = 0

    @contextmanager
    def followed(self):
        """Look at every call of every thread that is started from here on."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _look(self, frame, event, argument):
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(self.package):
            return
        thread, step = self._thread, 1 if event == "call" else -1
        if code.co_name == "<module>" and not code.co_filename.endswith("__main__.py"):
            thread.importing += step
        elif not thread.importing and code.co_name != "<module>":
            thread.depth += step
            if step == 1:
                with self._lock:
                    self._count(frame, code, thread.depth)

    def _count(self, frame, code, depth):
        # By identity, as equal code may stand in two places; it is held here, so that no other gets its number.
        _, name = self._codes.get(id(code)) or self._describe(code)
        self.deepest = max(self.deepest, depth)
        self.functions[name] += 1
        back = frame.f_back.f_code.co_filename if frame.f_back else ""
        if back.startswith(f"{self.package}use{os.sep}") and not name.startswith("use/"):
            self.crossings.append(name)
        if code.co_name in self._last:
            self._derive(frame, code, name)

    def _describe(self, code):
        name = f"{Path(code.co_filename[len(self.package) :]).as_posix()}:{code.co_qualname}"
        self._codes[id(code)] = code, name
        self.lines[name] = len({line for *_, line in code.co_lines() if line})
        return code, name

    def _derive(self, frame, code, name):
        """A method is called by the class it works for, wherever it was inherited from: hash of Study, not of every record."""
        given = frame.f_locals
        owner = given.get("self", given.get("cls"))
        if "." in code.co_qualname and owner is not None:
            owner = owner if isinstance(owner, type) else type(owner)
            name = f"{name.partition(':')[0]}:{owner.__name__}.{code.co_name}"
        for role, patterns in self.roles.items():
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                self.derived[role][repr(given) if role in self.once else ""] += 1

    def watch_the_world(self):
        """Count databases, their transactions, and the times the source is opened."""
        import sqlite3

        import pyarrow
        from pyarrow import csv

        def heard(event, arguments):
            if event == "open" and arguments[1] is not None:  # without a mode it is a descriptor, not yet a reader
                self._opened(arguments[0])

        def connect(*given, **named):
            connection = connecting(*given, **named)
            self.outside[CONNECTIONS] += 1
            connection.set_trace_callback(self._statements())
            return connection

        sys.addaudithook(heard)
        connecting, sqlite3.connect = sqlite3.connect, connect
        for module, door in (
            (pyarrow, "input_stream"),
            (pyarrow, "OSFile"),
            (pyarrow, "memory_map"),
            (csv, "open_csv"),
            (csv, "read_csv"),
        ):
            setattr(module, door, self._telling(getattr(module, door)))

    def _telling(self, door):
        def told(source, *rest, **named):
            self._opened(source)
            return door(source, *rest, **named)

        return told

    def _opened(self, source):
        if isinstance(source, str | bytes | os.PathLike | int):
            try:
                self.outside[OPENED] += os.path.samestat(os.stat(source), self.source)
            except OSError:
                pass  # it is not there yet, so it is not the source

    def _statements(self):
        """A listener of one connection, which remembers whether its open transaction has written, and waits for the disk."""
        inside = wrote = False
        durable = True

        def heard(statement):
            nonlocal inside, wrote, durable
            first = statement.split(None, 1)[0].rstrip(";").upper()
            if found := _SYNCHRONOUS.match(statement):
                durable = found[1].upper() in ("FULL", "EXTRA")
            elif first == "BEGIN":
                inside, wrote = True, False
            elif first in ("COMMIT", "END"):
                self.outside[WRITES] += wrote and durable
                inside = wrote = False
            elif first == "ROLLBACK":
                inside = wrote = False
            elif _WRITING.match(statement) and inside:
                wrote = True
            elif first in ("INSERT", "UPDATE", "DELETE", "REPLACE"):
                self.outside[WRITES] += durable

        return heard

    def counts(self):
        """All that was counted, by its name."""
        named = [name for name in self.functions if not name.endswith(("<lambda>", "comp>", "expr>"))]
        run = {name.partition(":")[0] for name in self.functions}
        text = [Path(self.package, each).read_text(encoding="utf-8") for each in run]
        sizes = {
            "modules loaded": sum(name.partition(".")[0] == "dpselect" for name in sys.modules),
            "modules run": len(run),
            "lines of the modules run": sum(len(each.splitlines()) for each in text),
            "functions run": len(named),
            "of these at most 3 lines": sum(self.lines[name] <= 3 for name in named),
            "deepest stack": self.deepest,
        }
        derived = {role: max(found.values(), default=0) for role, found in self.derived.items()}
        return {**sizes, **derived, **{what: self.outside[what] for what in OUTSIDE}}


def run_command(words):
    """A command as the shell gives it; its exit code."""
    import runpy

    sys.argv = ["dpselect", *words]
    try:
        runpy.run_module("dpselect", run_name="__main__", alter_sys=False)
    except SystemExit as end:
        return end.code or 0
    return 0


class Browser(threading.Thread):
    """What a custodian sends to a studio in the same process: state the source, then ask, confirm, wait, read the report.

    The walk begins anew where the release is asked for. The studio is ended as Ctrl-C ends it.
    """

    def __init__(self, walk, printed, data, price):
        super().__init__(daemon=True)
        self.walk, self.printed, self.data, self.price = walk, printed, data, price
        self.problem = "The studio said no address."

    def run(self):
        """Wait for the address, and go."""
        try:
            for _ in range(600):
                found = re.search(r"http://\S+/\?token=\S+", self.printed.getvalue())
                if found:
                    self._release(found[0])
                    self.problem = ""
                    break
                time.sleep(0.1)
        except Exception as problem:
            self.problem = f"{type(problem).__name__}: {problem}"
        os.kill(os.getpid(), signal.SIGINT)

    def _release(self, address):
        self.address = urlsplit(address)
        self.cookie = self.token = ""
        answer, text = self._send("GET", f"/?{self.address.query}")
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]
        self.home = re.search(r'href="(/\w+/)study"', text)[1]
        self.token = self._field("study", "form_token")
        self._post("study", address=self.data)
        self._post("budget", epsilon="10", delta="1e-5")
        self.walk.begin_anew()
        self._get("release")
        self._post("release", **self.price, title="What goes with income?", what="both")
        self._post("confirm", nonce=self._field("confirm", "nonce"), amount=self.price["epsilon"])
        if "report-1" not in self._get("progress"):  # which answers to its end when the release has ended
            raise AssertionError("the release has ended without a report")
        self._get("report-1")

    def _send(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.address.netloc, timeout=300)
        origin = {"Origin": f"http://{self.address.netloc}", "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, body, {"Cookie": self.cookie, **(origin if body else {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        if answer.status not in (200, 303):
            raise AssertionError(f"{method} {path} was answered with {answer.status}")
        return answer, text

    def _get(self, screen):
        return self._send("GET", self.home + screen)[1]

    def _field(self, screen, name):
        return re.search(rf'name="{name}" value="([^"]+)"', self._get(screen))[1]

    def _post(self, screen, **fields):
        self._send("POST", self.home + screen, urlencode({"form_token": self.token, **fields}))
