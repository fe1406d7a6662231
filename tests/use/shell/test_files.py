"""Private pages are written to files of ours alone, whatever lies in their place."""

import os
import stat

from dpselect.use.shell.files import require_writable, write_text


def test_a_private_file_is_not_written_through_a_link(tmp_path):
    """In a folder that others may write to, somebody could have put a link where the page is first written."""
    theirs = tmp_path / "theirs"
    theirs.write_text("before")
    target = tmp_path / "custodian.html"
    for act in (lambda: require_writable(target), lambda: write_text(target, "private", mode=0o600)):
        (tmp_path / f".custodian.html.{os.getpid()}.part").symlink_to(theirs)
        act()
        assert theirs.read_text() == "before"
    assert target.read_text() == "private"
    assert not target.is_symlink()


def test_a_file_that_others_can_read_does_not_become_the_private_one(tmp_path):
    partial, target = tmp_path / f".custodian.html.{os.getpid()}.part", tmp_path / "custodian.html"
    partial.write_text("left behind")
    partial.chmod(0o666)
    with partial.open() as theirs:
        write_text(target, "private", mode=0o600)
        assert theirs.read() == "left behind"
    assert stat.S_IMODE(os.stat(target).st_mode) == 0o600
