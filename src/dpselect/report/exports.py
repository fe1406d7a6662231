"""Public. The table and the figure of a released result as files for other programs: Word, LaTeX, Markdown, CSV, SVG and PNG.

Everything is formatted from the facts that the page shows; no row is read and nothing is spent.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any

from dpselect.errors import StudyError
from dpselect.release.analysis import AnalysisRecord
from dpselect.report.facts import Facts, facts_of
from dpselect.report.figure import effects_figure
from dpselect.report.numbers import MINUS, TIMES
from dpselect.report.page import report_page, require_public
from dpselect.report.phrases import HIDDEN_BY_NOISE, capitalized
from dpselect.report.table import plain_cells

PIXELS_A_UNIT = 2.0
"""Of a PNG: sharp on paper and on fine screens."""
HEAD_ALONE = "0620"
"""Of a table in Word: its style marks the first row, and neither bands nor the first column."""
FIGURE_CENTIMETERS = 16.5
WORD_CENTIMETERS = (4.7, 2.7, 3.4, 3.4, 2.3)
"""Widths in a Word file: of the figure, and of the columns of the table of effects."""


def export_text(analysis: AnalysisRecord, kind: str) -> str:
    """A result as text of this kind: html, md, tex, csv, svg or json."""
    return TEXT_EXPORTS[kind](analysis)


def export_bytes(analysis: AnalysisRecord, kind: str) -> bytes:
    """A result as a file of this kind: any of EXPORT_KINDS."""
    if kind in BINARY_EXPORTS:
        return BINARY_EXPORTS[kind](analysis)
    if kind not in TEXT_EXPORTS:
        raise StudyError(f"A report cannot be written as {kind!r}. Use one of {', '.join(EXPORT_KINDS)}.")
    return export_text(analysis, kind).encode()


def _public(analysis: AnalysisRecord) -> Facts:
    facts = facts_of(analysis)
    require_public(facts)
    return facts


def _cells(facts: Facts) -> tuple[list[str], list[list[str]]]:
    """The head and the cells of the table: effects, or directions where nothing was estimated."""
    if facts.table is not None and facts.table.effects:
        head, cells = plain_cells(facts.table)
        return [capitalized(each) for each in head], cells
    words = {"up": "up", "down": "down", None: "no clear direction"}
    return ["Variable", "Direction"], [[each.title, words[each.direction]] for each in facts.selected]


def notes_of(facts: Facts) -> list[str]:
    """What stands below the table: what was explained, from how many rows, at which cost."""
    cards = [f"{name}: {value}{f' ({note})' if note else ''}." for name, value, note in facts.cards]
    said = [" ".join(cards)]
    if any(facts.hidden):
        said.append(" ".join(facts.hidden))
    said += [*facts.category_directions, *(f"{name}. {sentence}" for name, sentence in facts.clashes)]
    said += [*facts.fit, *filter(None, (facts.weights,))]
    said.append(f"Privacy: {facts.strength} ({facts.cost}). {facts.suspicion}")
    return said


def to_markdown(analysis: AnalysisRecord) -> str:
    """The answer, the table and its notes in Markdown."""
    facts = _public(analysis)
    head, rows = _cells(facts)
    said = [f"# {_md(facts.title)}", "", _md(facts.summary), ""]
    if rows:
        align = ["---", *["---:"] * (len(head) - 2), "---"]
        said.append(_md_row(head))
        said.append(f"| {' | '.join(align)} |")
        said += [
            _md_row([cell.replace("  ", "\N{EM SPACE}", 1) if cell.startswith("  ") else cell for cell in row])
            for row in rows
        ]
        said.append("")
    return "\n".join([*said, *(f"{_md(note)}\n" for note in notes_of(facts)), _md(facts.citation)]) + "\n"


def _md_row(cells: list[str]) -> str:
    return f"| {' | '.join(map(_md, cells))} |"


def _md(text: str) -> str:
    """Text that Markdown takes as text."""
    return "".join(f"\\{letter}" if letter in "\\`*_[]<>|#" else letter for letter in text)


_TEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    MINUS: "$-$",
    TIMES: r"$\times$",
    "\N{BLACK UP-POINTING TRIANGLE}": r"$\uparrow$",
    "\N{BLACK DOWN-POINTING TRIANGLE}": r"$\downarrow$",
    "²": "$^2$",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    "<": "$<$",
    ">": "$>$",
    "°": r"$^\circ$",
    "…": r"\ldots{}",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "''",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{EM DASH}": "---",
    "\N{EN DASH}": "--",
    "€": r"\texteuro{}",
}
_RAISED_DIGITS = {"⁻": "-", **dict(zip("⁰¹³⁴⁵⁶⁷⁸⁹", "013456789", strict=True))}


def tex_text(text: str) -> str:
    """Text that LaTeX takes as text."""
    found, raised = [], ""
    for letter in f"{text}\0":
        if letter in _RAISED_DIGITS or (raised and letter == "²"):
            raised += _RAISED_DIGITS.get(letter, "2")
            continue
        if raised:
            found.append(f"$^{{{raised}}}$")
            raised = ""
        found.append(_TEX.get(letter, letter))
    return "".join(found).rstrip("\0")


def to_latex(analysis: AnalysisRecord) -> str:
    """The table as a LaTeX float, no wider than the line; it needs the packages booktabs and graphicx."""
    facts = _public(analysis)
    head, rows = _cells(facts)
    columns = "l" + "r" * (len(head) - 2) + "l"
    said = [
        "% needs \\usepackage{booktabs,graphicx}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{tex_text(facts.summary)}}}",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        rf"{' & '.join(map(tex_text, head))} \\",
        r"\midrule",
    ]
    for row in rows:
        indent = r"\quad " if row[0].startswith("  ") else ""
        first = indent + tex_text(row[0].strip())
        if not any(row[1:]):
            said.append(rf"\multicolumn{{{len(head)}}}{{l}}{{{first}}} \\")
            continue
        cells = [r"\emph{hidden by noise}" if cell == HIDDEN_BY_NOISE else tex_text(cell) for cell in row[1:]]
        said.append(rf"{' & '.join([first, *cells])} \\")
    notes = "\n\n".join(map(tex_text, notes_of(facts)))
    said += [
        r"\bottomrule",
        r"\end{tabular}}",
        r"",
        rf"\medskip\parbox{{\linewidth}}{{\footnotesize {notes}}}",
        r"\end{table}",
    ]
    return "\n".join(said) + "\n"


def to_csv(analysis: AnalysisRecord) -> str:
    """One line a term with full precision: the columns of `tidy()`."""
    rows: list[dict[str, Any]] = analysis.tidy()
    if not rows:
        facts = _public(analysis)
        rows = [{"term": each.name, "label": each.title, "direction": each.direction} for each in facts.selected]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0] if rows else ("term", "label", "direction"))
    writer.writerows([_csv(cell) for cell in row.values()] for row in rows)
    return text.getvalue()


def _csv(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: names come from whoever made the table."""
    if cell is None:
        return ""
    if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r", "\n"):
        return f"'{cell}"
    return str(cell).lower() if isinstance(cell, bool) else cell


def to_svg(analysis: AnalysisRecord) -> str:
    """The figure by itself."""
    return effects_figure(_public(analysis)) + "\n"


def to_png(analysis: AnalysisRecord) -> bytes:
    """The same as a picture of dots; it needs the extra `exports`."""
    try:
        import resvg_py
    except ImportError:
        raise StudyError(
            "A PNG needs the package resvg-py: pip install 'dpselect[exports]', or write an SVG."
        ) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=to_svg(analysis), zoom=PIXELS_A_UNIT, background="#ffffff"))


def to_docx(analysis: AnalysisRecord) -> bytes:
    """The answer, the figure, the table and its notes as a Word document; it needs the extra `exports`."""
    try:
        from docx import Document
        from docx.enum.text import WD_ALIGN_PARAGRAPH
        from docx.oxml.ns import qn
        from docx.shared import Cm, Pt
    except ImportError:
        raise StudyError("A Word file needs the package python-docx: pip install 'dpselect[exports]'.") from None
    facts = _public(analysis)
    head, rows = _cells(facts)
    document = Document()
    document.core_properties.title, document.core_properties.author = facts.title, ""
    document.add_heading(facts.title, level=1)
    paragraph = document.add_paragraph()
    for text, kind in (*facts.headline, *(((f" {facts.hidden_sentence}", ""),) if facts.hidden_sentence else ())):
        run = paragraph.add_run(text)
        run.bold = kind == "name"
        if kind == "code":
            run.font.name = "Consolas"
    section = document.sections[0]
    section.left_margin = section.right_margin = Cm(2)
    if facts.table is not None and facts.table.effects:
        document.add_picture(io.BytesIO(to_png(analysis)), width=Cm(FIGURE_CENTIMETERS))
    if rows:
        table = document.add_table(rows=1, cols=len(head), style="Light Shading")
        table.autofit = False
        look = table._tbl.tblPr.find(qn("w:tblLook"))
        look.attrib.clear()
        look.set(qn("w:val"), HEAD_ALONE)
        wide = WORD_CENTIMETERS if len(head) == len(WORD_CENTIMETERS) else (FIGURE_CENTIMETERS / len(head),) * len(head)
        for place, row in enumerate([head, *rows]):
            cells = table.rows[0].cells if place == 0 else table.add_row().cells
            for cell, width in zip(cells, wide, strict=True):
                cell.width = Cm(width)
            if not any(row[1:]):  # the name of a variable with categories has the whole line
                cells[0].merge(cells[-1])
            for column, text in enumerate(row if any(row[1:]) else row[:1]):
                written = cells[column].paragraphs[0]
                run = written.add_run(text)
                run.font.size = Pt(9)
                written.paragraph_format.space_after = Pt(1)
                run.italic = text == HIDDEN_BY_NOISE
                if 0 < column < len(head) - 1:
                    written.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    for note in [*notes_of(facts), facts.citation]:
        document.add_paragraph(note).runs[0].font.size = Pt(9)
    found = io.BytesIO()
    document.save(found)
    return found.getvalue()


TEXT_EXPORTS: dict[str, Callable[[AnalysisRecord], str]] = {
    "html": report_page,
    "md": to_markdown,
    "tex": to_latex,
    "csv": to_csv,
    "svg": to_svg,
    "json": lambda analysis: analysis.to_json(),
}
BINARY_EXPORTS: dict[str, Callable[[AnalysisRecord], bytes]] = {"docx": to_docx, "png": to_png}
EXPORT_KINDS = (*TEXT_EXPORTS, *BINARY_EXPORTS)
"""The endings of the files that a result can be written to."""
