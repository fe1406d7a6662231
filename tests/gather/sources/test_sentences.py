"""What is wrong with a table, in a sentence that leads to what was meant."""

import gzip

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import dpselect
from dpselect.errors import DataError
from dpselect.gather.rows import gather
from dpselect.gather.sources.arrow import require_named

STUDY = dpselect.Study(response=dpselect.Numeric("y", 0, 1), predictors=[dpselect.Numeric("age", 0, 1)])


@pytest.mark.parametrize("name", [" age ", "AGE", "Age", "agee"])
@pytest.mark.parametrize("form", ["frame", "dictionary", "csv"])
def test_a_column_that_looks_like_the_one_that_is_missing_is_told(tmp_path, name, form):
    frame = pd.DataFrame({"y": [0.5, 0.6], name: [0.5, 0.6]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = {"frame": frame, "dictionary": {"y": [0.5], name: [0.5]}, "csv": str(tmp_path / "t.csv")}[form]
    with pytest.raises(DataError, match=f"'age' is not in the table; there is '{name}': correct"):
        gather(source, STUDY)


def test_where_a_file_has_no_line_of_names_no_cell_is_told(tmp_path):
    (tmp_path / "t.csv").write_text("0.25,0.987654\n0.5,0.5\n")
    with pytest.raises(DataError, match=r"is not in the table: correct") as problem:
        gather(tmp_path / "t.csv", STUDY)
    assert "987654" not in str(problem.value)


def test_a_packed_file_that_was_cut_short_is_said_to_be_packed(tmp_path):
    whole = gzip.compress(b"y,age\n" + b"".join(b"0.%d,0.5\n" % i for i in range(9000)))
    (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) // 3])
    with pytest.raises(DataError, match=r"compress|cut short"):
        gather(tmp_path / "t.csv.gz", STUDY)


def test_a_sparse_matrix_is_called_one():
    with pytest.raises(DataError, match=r"sparse matrix: give an ordinary one, values.toarray\(\)"):
        gather((sparse.csr_matrix(np.eye(3)[:, :1]), np.zeros(3)), STUDY)


def test_a_person_that_is_missing_is_told_as_such():
    study = dpselect.Study(
        response=STUDY.response, predictors=STUDY.predictors, person="id", max_rows_per_person=2, rows=3
    )
    frame = pd.DataFrame({"y": [0.5] * 3, "age": [0.5] * 3, "id": [1, None, 2]})
    with pytest.raises(DataError, match="where a cell is missing"):
        gather(frame, study)


@pytest.mark.parametrize("as_frame", [True, False])
def test_one_complex_number_changes_no_other_cell(as_frame):
    """It makes NumPy and pandas call the whole column complex; a row decides nothing but itself."""
    study = dpselect.Study(response=STUDY.response, predictors=STUDY.predictors, missing="zero-row")
    plain = {"y": np.array([0.25, 0.5, 0.75]), "age": np.array([0.5, np.nan, 0.125])}
    odd = {"y": plain["y"], "age": np.array([0.5, 1j, 0.125])}
    make = pd.DataFrame if as_frame else dict
    assert gather(make(odd), study).integers() == gather(make(plain), study).integers()


@pytest.mark.parametrize("others", [[3], [("a", "age")]])
def test_a_column_that_is_missing_among_names_that_are_no_text_is_one_sentence(others):
    with pytest.raises(DataError, match="The column 'age' is not in the table"):
        require_named("age", ["y", *others])
