"""No row twice: the same file under two names, and folders whose files are more than the table."""

import bz2
import gzip
import os
import re

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from dpselect.assume.study import Study
from dpselect.assume.variables import Numeric
from dpselect.errors import DataError
from dpselect.gather.formats import COMPRESSIONS, FORMATS
from dpselect.gather.listed import listed_files, refuse_twins
from dpselect.gather.rows import gather
from dpselect.gather.sources.source import Csv

STUDY = Study(Numeric("y", -1, 1), [Numeric("a", -1, 1)])


@pytest.fixture
def folder(tmp_path):
    """Two files of ten rows."""
    (tmp_path / "t").mkdir()
    for name in ("1", "2"):
        values = np.random.default_rng(int(name)).uniform(-1, 1, 10)
        pq.write_table(pa.table({"a": values, "y": values}), tmp_path / "t" / f"{name}.parquet")
    return tmp_path / "t"


def symbolic_link(folder):
    os.symlink(folder / "1.parquet", folder / "3.parquet")
    return folder


def hard_link(folder):
    os.link(folder / "1.parquet", folder / "3.parquet")
    return folder


def linked_folder(folder):
    os.symlink(folder, folder.parent / "u")
    return [folder, folder.parent / "u"]


def relative(folder):
    return [str(folder / "1.parquet"), os.path.relpath(folder / "1.parquet")]


def elsewhere(folder):
    """A file system that is not this machine's, as far as Arrow knows."""
    system = fs.PyFileSystem(Elsewhere(fs.LocalFileSystem()))
    return ds.dataset([str(folder / "1.parquet")] * 2, filesystem=system, format="parquet")


class Elsewhere(fs.FileSystemHandler):
    def __init__(self, real):
        self.real = real

    def __eq__(self, other):
        return isinstance(other, Elsewhere)

    __hash__ = None

    def get_type_name(self):
        return "elsewhere"

    def normalize_path(self, path):
        return path

    def get_file_info(self, paths):
        return self.real.get_file_info(paths)

    def open_input_file(self, path):
        return self.real.open_input_file(path)

    def _none(self, *_arguments, **_options):
        raise NotImplementedError

    get_file_info_selector = create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _none
    delete_file = move = copy_file = open_input_stream = open_output_stream = open_append_stream = _none


TWICE = {
    "the same path": lambda folder: [folder / "1.parquet"] * 2,
    "the same text": lambda folder: [str(folder / "1.parquet")] * 2,
    "another way to say it": relative,
    "a file and its folder": lambda folder: [folder / "1.parquet", folder],
    "a symbolic link in a folder": symbolic_link,
    "a hard link in a folder": hard_link,
    "a linked folder": linked_folder,
    "a pattern that matches a folder and what is in it": lambda folder: str(folder.parent / "**"),
    "two patterns": lambda folder: [str(folder / "*.parquet"), str(folder / "1*")],
    "an Arrow dataset in a folder of a file system": lambda folder: ds.dataset(
        ["1.parquet"] * 2, filesystem=fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()), format="parquet"
    ),
    "an Arrow dataset in a folder of a folder": lambda folder: ds.dataset(
        [f"{folder.name}/1.parquet", f"{folder.name}/./1.parquet"],
        filesystem=fs.SubTreeFileSystem("/", fs.SubTreeFileSystem(str(folder.parent), fs.LocalFileSystem())),
        format="parquet",
    ),
    "an Arrow dataset elsewhere": elsewhere,
    "an Arrow dataset": lambda folder: ds.dataset([str(folder / "1.parquet")] * 2),
    "Arrow datasets together": lambda folder: ds.dataset(
        [ds.dataset(folder / "1.parquet"), ds.dataset(str(folder / "1.parquet"))]
    ),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_file_that_would_count_twice_is_refused(name, folder):
    with pytest.raises(DataError, match=r"given twice|are the same file") as caught:
        gather(TWICE[name](folder), STUDY)
    assert "1.parquet" in str(caught.value) and "twice the noise" in str(caught.value)


def test_csv_files_too(tmp_path):
    (tmp_path / "1.csv").write_text("a,y\n0,1\n")
    os.symlink(tmp_path / "1.csv", tmp_path / "2.csv")
    with pytest.raises(DataError, match="are the same file"):
        gather(tmp_path, STUDY)


PACKED = [("p.csv", "p.csv.gz"), ("p.csv.gz", "p.csv.bz2"), ("p.csv", "p.tsv"), ("p.txt", "p.csv.gz")]


@pytest.mark.parametrize("names", PACKED, ids="+".join)
def test_a_text_file_and_the_same_packed_are_not_two(tmp_path, names):
    for name in names:
        kinds = {".gz": gzip.open, ".bz2": bz2.open}
        with kinds.get(name[name.rindex(".") :], open)(tmp_path / name, "wt") as file:
            file.write("a,y\n0,1\n")
    sources = [Csv(tmp_path), Csv(tmp_path / "*")]
    if "p.txt" not in names:
        sources += [tmp_path, str(tmp_path / "*"), [tmp_path / name for name in names]]
    for source in sources:
        with pytest.raises(DataError, match=r"'.*p\..*' and '.*p\..*' seem to be the same rows"):
            gather(source, STUDY)
    assert gather(Csv(tmp_path / names[0]), STUDY).n == 1


def test_each_end_that_is_read_is_one_that_says_nothing_of_the_rows():
    for end in FORMATS:
        for packed in ("", *COMPRESSIONS):
            with pytest.raises(DataError, match="seem to be the same rows"):
                refuse_twins(["people", f"people{end}{packed}"])


def test_nor_where_the_files_are_elsewhere(tmp_path):
    system = fs.PyFileSystem(Elsewhere(fs.LocalFileSystem()))
    files = [str(tmp_path / name) for name in ("p.parquet", "p.snappy.parquet")]
    for file in files:
        pq.write_table(pa.table({"a": [0.0], "y": [1.0]}), file)
    with pytest.raises(DataError, match="is given twice, or packed twice"):
        gather(ds.dataset(files, filesystem=system), STUDY)
    assert gather(ds.dataset(files[1], filesystem=system), STUDY).n == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("1.parquet", "1.pq"), ("1.parquet", "1.snappy.parquet"), ("1.feather", "1.arrow"), ("1.arrow", "1.ipc")],
)
def test_a_binary_file_under_two_endings_is_not_two(tmp_path, one, other):
    table = pa.table({"a": [0.0, 1.0], "y": [1.0, 0.0]})
    for name in (one, other):
        if name.endswith(("parquet", "pq")):
            pq.write_table(table, tmp_path / name)
        else:
            with pa.ipc.new_file(tmp_path / name, table.schema) as writer:
                writer.write_table(table)
    with pytest.raises(DataError, match="seem to be the same rows"):
        gather(tmp_path, STUDY)


def test_files_that_differ_in_more_than_their_endings_are_files_of_one_table(tmp_path):
    """Versions and dates with points, and parts of one name in several folders."""
    for name in ("p.2020.csv", "p.2021.csv", "q.csv.gz", "1/p.csv", "2/p.csv.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with (gzip.open if name.endswith(".gz") else open)(tmp_path / name, "wt") as file:
            file.write("a,y\n0,1\n")
    assert gather(tmp_path, STUDY).n == 5


def test_what_a_writer_has_not_finished_is_no_data(tmp_path):
    """Spark and others keep parts of a table that is being written in folders and files that begin with a point or a line."""
    for name in ("1.parquet", "_temporary/2.parquet", ".staging/0/3.parquet", "0/_4.parquet", "0/5.parquet"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"a": [0.0], "y": [1.0]}), tmp_path / name)
    assert gather(tmp_path, STUDY).n == 2


def test_one_link_to_a_file_elsewhere_is_a_file_like_any_other(folder, tmp_path):
    (tmp_path / "links").mkdir()
    os.symlink(folder / "1.parquet", tmp_path / "links" / "1.parquet")
    assert gather(tmp_path / "links", STUDY).integers() == gather(folder / "1.parquet", STUDY).integers()


def test_a_link_to_a_folder_within_a_folder_is_not_left_out_in_silence(folder, tmp_path):
    """Below a folder links are not followed, for one may lead back; a pattern follows them, and sees what it sees twice."""
    (tmp_path / "more").mkdir()
    os.rename(folder / "2.parquet", tmp_path / "more" / "2.parquet")
    os.symlink(tmp_path / "more", folder / "more")
    with pytest.raises(
        DataError, match=r"more' is a link to a folder or to nothing, .* put what it leads to in its place"
    ):
        gather(folder, STUDY)
    assert gather(str(folder / "**" / "*.parquet"), STUDY).n == 20
    os.rename(folder / "more", folder / "_more")  # what starts so is not data
    assert gather(folder, STUDY).n == 10


def test_a_link_to_nowhere_is_one_sentence(folder):
    os.symlink(folder / "none.parquet", folder.parent / "3.parquet")
    with pytest.raises(DataError, match=r"There is no file|cannot be read: No such file"):
        gather(str(folder.parent / "*.parquet"), STUDY)


def delta(table):
    (table / "_delta_log").mkdir()


def hudi(table):
    (table / ".hoodie").mkdir()


def iceberg(table):
    (table / "metadata").mkdir()
    (table / "metadata" / "00001-5f2c.metadata.json").write_text("{}")


def older_iceberg(table):
    (table / "metadata").mkdir()
    (table / "metadata" / "v3.metadata.json").write_text("{}")


def streaming(table):
    (table / "_spark_metadata").mkdir()


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (delta, "Delta"),
        (hudi, "Hudi"),
        (iceberg, "Iceberg"),
        (older_iceberg, "Iceberg"),
        (streaming, "Spark streaming"),
    ],
)
def test_tables_with_a_log_are_refused_with_what_reads_them(folder, make, kind):
    """Their folders keep the rows of people who were deleted, and the old version of every row that was changed."""
    (folder / "day=1").mkdir()
    os.rename(folder / "2.parquet", folder / "day=1" / "2.parquet")
    make(folder)
    sources = [
        folder,
        folder / "day=1",
        folder / "1.parquet",
        str(folder / "*.parquet"),
        [folder / "day=1" / "2.parquet"],
        ds.dataset(folder / "1.parquet"),
    ]
    for source in sources:
        with pytest.raises(DataError, match=rf"{re.escape(str(folder))}' is a table of {kind}, .* read it with"):
            gather(source, STUDY)


def test_a_stream_that_writes_text_has_a_log_too(tmp_path):
    """What a batch that failed left behind is in the folder, and not in the log."""
    (tmp_path / "part-0.csv").write_text("y,a\n1,0\n2,1\n")
    assert gather(tmp_path, STUDY).n == 2
    delta(tmp_path)  # a log of Delta says nothing about text
    assert gather(tmp_path, STUDY).n == 2
    streaming(tmp_path)
    for source in (tmp_path, tmp_path / "part-0.csv"):
        with pytest.raises(DataError, match="is a table of Spark streaming"):
            gather(source, STUDY)


def test_a_folder_named_metadata_is_no_table(folder):
    (folder.parent / "metadata").mkdir()
    (folder.parent / "metadata" / "notes.metadata.json").write_text("{}")
    assert gather(folder, STUDY).n == 20


def test_a_link_to_nothing_within_a_folder_is_not_left_out_in_silence(folder, tmp_path):
    os.symlink(tmp_path / "gone", folder / "gone.parquet")
    with pytest.raises(DataError, match=r"gone\.parquet' is a link to a folder or to nothing"):
        gather(folder, STUDY)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_is_refused_at_once_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(DataError, match="is a pipe"):
        listed_files([tmp_path / "rows.csv"])


OWN = ["dpselect.ledgers", "t.budget.db", "t.budget.db-wal", "t.budget.db-shm", "study.toml", "r.html", "r.json"]


@pytest.mark.parametrize("spelled", ["t", "t/", "./t", "t/.", "t/*", "t/*.parquet"])
def test_what_dpselect_keeps_in_a_folder_of_data_is_no_data(folder, monkeypatch, spelled):
    monkeypatch.chdir(folder.parent)
    for name in OWN:
        (folder / name).write_text("no rows")
    assert [os.path.basename(file) for file in listed_files([spelled])] == ["1.parquet", "2.parquet"]
    assert gather(spelled, STUDY).n == 20


def test_what_is_known_by_its_own_name_is_not_left_out(folder):
    """Named by itself a study is meant; and a JSON file without a page beside it may hold rows."""
    (folder / "study.toml").write_text("")
    assert listed_files([folder / "study.toml"]) == [str(folder / "study.toml")]
    (folder / "3.json").write_text("[]")
    with pytest.raises(DataError, match=r"3\.json.* among the files, .* move it elsewhere, or give the data alone"):
        gather(folder, STUDY)
    (folder / "alone").mkdir()
    (folder / "alone" / "t.budget.db").write_text("")
    with pytest.raises(DataError, match="holds no data files"):
        listed_files([folder / "alone"])


def test_a_pattern_passes_over_own_files_and_no_folder(tmp_path):
    """A folder may be called what a study file is called."""
    (tmp_path / "people.toml").mkdir()
    for name in ("people.toml/a.csv", "people.csv", "people.budget.db"):
        (tmp_path / name).write_text("x\n1\n")
    assert listed_files([tmp_path / "p*"]) == [str(tmp_path / "people.csv"), str(tmp_path / "people.toml" / "a.csv")]
