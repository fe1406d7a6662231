"""The studio as a process: one line, a quick start, a quiet end, and one sentence where it cannot start."""

import os
import pty
import signal
import socket
import subprocess
import sys
import time

import pytest

from .conftest import SOURCES, START

COMMAND = [sys.executable, "-m", "dpselect.use.command_line", "studio"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCES), "OPENBLAS_NUM_THREADS": "1"}


def run(*arguments, **options):
    return subprocess.run(
        [*COMMAND, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False, **options
    )


def test_one_line_and_a_quiet_end(tmp_path):
    process = subprocess.Popen(
        [*COMMAND, "--no-browser"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    address = process.stdout.readline()
    assert address.startswith("http://127.0.0.1:")
    assert list(tmp_path.iterdir()) == []  # nothing is written before something is stated
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=300) == ("", "")
    assert process.returncode == 0


def test_it_listens_on_this_computer_alone(shared):
    listening = subprocess.run(
        ["cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True, check=False
    ).stdout
    lines = [line.split() for line in listening.splitlines() if f":{shared.port:04X} " in line]
    local = {each[1] for each in lines if each[3] == "0A"}
    if not local:
        pytest.skip("this system does not tell who listens")
    assert local == {f"0100007F:{shared.port:04X}"}


def test_a_closed_terminal_ends_it(tmp_path):
    ours, theirs = pty.openpty()
    own = (
        "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
        "signal.signal(signal.SIGHUP, signal.SIG_DFL); "  # under nohup it would be ignored
        "os.execv(sys.executable, sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", own, *COMMAND, "--no-browser"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    said = b""
    while b"token=" not in said:
        said += os.read(ours, 1000)
    os.close(ours)
    try:
        process.wait(60)  # ended, by itself
    finally:
        process.kill()
        process.wait()


def test_a_taken_port_is_one_sentence(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        made = run("--no-browser", "--port", str(port), cwd=tmp_path)
    assert (made.returncode, made.stdout) == (2, "")
    assert f"cannot listen at port {port}" in made.stderr
    assert len(made.stderr.splitlines()) == 1


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    made = run("--no-browser", "nowhere/study.toml", cwd=tmp_path)
    assert (made.returncode, len(made.stderr.splitlines())) == (2, 1)
    assert "does not exist" in made.stderr


def test_without_the_extra_it_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['starlette'] = sys.modules['uvicorn'] = None\n"
        "from dpselect.use.command_line import main; main(['studio', '--no-browser'])"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (made.returncode, made.stdout) == (2, "")
    assert "install dpselect[studio]" in made.stderr


def test_the_browser_gets_the_address_by_a_file_of_its_owner(tmp_path):
    """Anybody on the computer can read the arguments of a program, so the token is not among them."""
    code = (
        "import click, os, stat, sys\n"
        "from pathlib import Path\n"
        "from dpselect.use.studio import server\n"
        "server.serve = lambda study, port, tell: tell('http://127.0.0.1:1/?token=secret')\n"
        "def launch(url):\n"
        "    assert 'secret' not in url and 'secret' in Path(url).read_text()\n"
        "    assert stat.S_IMODE(Path(url).parent.stat().st_mode) == 0o700\n"
        "    print('launched')\n"
        "click.launch = launch\n"
        "from dpselect.use.command_line import main; main(['studio'])"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.splitlines() == ["http://127.0.0.1:1/?token=secret", "launched"]


def test_a_release_under_way_is_written_before_it_ends(start):
    slow = (
        "import time\nfrom pathlib import Path\nfrom dpselect.use import spend\nhonest = spend.draw_selection\n"
        "def slowly(*a, **k):\n    Path('drawing').touch()\n"
        "    while not Path('told').exists():\n        time.sleep(0.01)\n    return honest(*a, **k)\n"
        "spend.draw_selection = slowly\n"
    )
    studio = start(start=slow + START)
    studio.state().ask()
    assert studio.post("confirm", {"nonce": studio.nonce(), "amount": "1"})[0] == 303
    while not (studio.folder / "drawing").exists():
        time.sleep(0.01)
    studio.process.send_signal(signal.SIGINT)
    assert studio.process.stderr.readline().startswith("A release is under way")
    (studio.folder / "told").touch()
    studio.process.communicate(timeout=300)
    assert studio.process.returncode == 0
    assert (studio.folder / "study.report-1.html").exists()
