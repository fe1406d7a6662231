"""Exports: each is read back by the program, or by a reader of the format, that it is for."""

import csv
import io
import re
import shutil
import subprocess
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from dpselect import Analysis
from dpselect.errors import StudyError
from dpselect.report.exports import EXPORT_KINDS, export_bytes, export_text, tex_text, to_markdown
from dpselect.report.facts import facts_of
from dpselect.report.table import table_of
from dpselect.use.command_line import dpselect


@pytest.fixture(scope="module")
def analysis(crafted):
    return Analysis(**{name: getattr(crafted, name) for name in crafted.__struct_fields__})


def test_word_has_the_answer_the_table_and_the_notes(analysis, tmp_path):
    docx = pytest.importorskip("docx", reason="install dpselect[exports]")
    read = docx.Document(str(analysis.to_docx(tmp_path / "table.docx")))
    assert read.paragraphs[0].text == analysis.title
    assert read.paragraphs[1].text.startswith("income rises with age")
    (table,) = read.tables
    cells = [[cell.text for cell in row.cells] for row in table.rows]
    assert cells[0][:3] == ["Variable", "Effect", "95% interval"]
    by_name = {row[0]: row for row in cells}
    for row in table_of(analysis).effects:
        shown = by_name[f"{'  ' if row.level else ''}{row.arrow + ' ' if row.arrow else ''}{row.label}"]
        assert shown[1:4] == [row.effect, row.interval, row.adjusted]
    assert any("10% suspicion" in each.text for each in read.paragraphs)


def test_csv_has_full_precision_and_no_formula(analysis):
    rows = list(csv.DictReader(io.StringIO(analysis.to_csv())))
    tidy = analysis.tidy()
    assert list(rows[0]) == list(tidy[0])
    assert [float(row["estimate"]) for row in rows] == [row["estimate"] for row in tidy]
    assert all(row["hidden"] in ("true", "false") for row in rows)


def test_a_cell_that_would_be_a_formula_is_text(document):
    from dpselect.report.exports import _csv

    assert _csv("=1+1") == "'=1+1" and _csv("age") == "age" and _csv(-1.5) == -1.5
    assert [_csv(f"{first}=1")[0] for first in "+-@\t\r\n"] == ["'"] * 6


def test_markdown_is_one_table_of_equal_rows(analysis, document):
    text = analysis.to_markdown()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    pipes = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert len(pipes) == 1 and len(lines) == 2 + len(table_of(analysis).rows)
    assert "\\<south\\>" in text
    assert "| Variable | Direction |" in to_markdown(document)


def test_latex_escapes_what_it_must(analysis, tmp_path):
    assert tex_text("5% & $1_000 {a} \\ ~^ #") == (
        r"5\% \& \$1\_000 \{a\} \textbackslash{} \textasciitilde{}\textasciicircum{} \#"
    )
    assert tex_text("10⁻⁶ and R²") == "10$^{-6}$ and R$^2$"
    text = analysis.to_latex()
    columns = len(re.search(r"begin\{tabular\}\{(.*?)\}", text)[1])
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")].splitlines()[1:]
    for line in body:
        assert line.startswith(r"\multicolumn") or len(re.findall(r"(?<!\\)&", line)) == columns - 1
    assert all(ord(letter) < 128 for letter in text if letter not in "é")
    if (
        shutil.which("pdflatex")
        and not subprocess.run(["kpsewhich", "booktabs.sty"], capture_output=True, check=False).returncode
    ):
        page = r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}" + text + r"\end{document}"
        (tmp_path / "page.tex").write_text(page, encoding="utf-8")
        subprocess.run(["pdflatex", "-halt-on-error", "page.tex"], cwd=tmp_path, check=True, capture_output=True)


def test_the_figure_is_well_formed_and_rasterized(analysis, document, tmp_path):
    for each in (analysis, document):
        root = ElementTree.fromstring(export_text(each, "svg"))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "linear" not in repr(analysis.plot()) and analysis.plot()._repr_svg_().startswith("<svg")
    pytest.importorskip("resvg_py", reason="install dpselect[exports]")
    analysis.plot(tmp_path / "effects.png")
    assert (tmp_path / "effects.png").read_bytes().startswith(b"\x89PNG")


def test_a_name_that_does_not_fit_is_refused_and_nothing_is_overwritten(analysis, tmp_path):
    with pytest.raises(StudyError, match=r"End it in \.docx"):
        analysis.to_docx(tmp_path / "table.doc")
    with pytest.raises(StudyError, match=r"End it in \.svg or \.png"):
        analysis.plot(tmp_path / "effects.pdf")
    analysis.to_csv(tmp_path / "table.csv")
    with pytest.raises(StudyError, match="already exists"):
        analysis.to_csv(tmp_path / "table.csv")
    with pytest.raises(StudyError, match="cannot be written as 'pdf'"):
        export_bytes(analysis, "pdf")


def test_the_command_writes_every_kind_from_either_file(analysis, tmp_path, monkeypatch):
    pytest.importorskip("docx", reason="install dpselect[exports]")
    pytest.importorskip("resvg_py", reason="install dpselect[exports]")
    monkeypatch.chdir(tmp_path)
    analysis.to_html("report.html")
    for source in ("report.json", "report.html"):
        stem = f"from_{source[-4:]}"
        asked = [part for kind in EXPORT_KINDS for part in ("-o", f"{stem}.{kind}")]
        done = CliRunner().invoke(dpselect, ["report", source, *asked], standalone_mode=False)
        assert done.exit_code == 0, done.exception
        assert "Nothing was spent." in done.output
        assert all((tmp_path / f"{stem}.{kind}").stat().st_size > 200 for kind in EXPORT_KINDS)
    assert (tmp_path / "from_json.tex").read_bytes() == (tmp_path / "from_html.tex").read_bytes()
    shown = CliRunner().invoke(dpselect, ["report", "report.json"], standalone_mode=False)
    assert facts_of(analysis).summary.split(".")[0] in shown.output
    board = CliRunner().invoke(
        dpselect, ["report", "report.json", "--board", "-o", "board.html"], standalone_mode=False
    )
    assert board.exit_code == 0 and "ethics board" in (tmp_path / "board.html").read_text(encoding="utf-8")
    code = CliRunner().invoke(dpselect, ["report", "report.json", "-o", "t.tex", "--show-code"], standalone_mode=False)
    assert "analysis.to_latex('t.tex')" in code.output
    for wrong in (["-o", "x.foo"], ["-o", "report.json"], ["--board", "-o", "x.svg"]):
        assert CliRunner().invoke(dpselect, ["report", "report.json", *wrong], standalone_mode=False).exception
