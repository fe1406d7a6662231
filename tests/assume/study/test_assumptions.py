import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpselect.assume.study import Study
from dpselect.assume.variables import Categorical, Numeric, is_printable
from dpselect.errors import StudyError

PRICE = Numeric("price", 100, 900)
SIZE = Numeric("size", 0, 3000)
COUNTY = Categorical("county", ["Marin", "Napa", "Sonoma"])


def test_columns_come_in_the_promised_order():
    study = Study(PRICE, [COUNTY, SIZE])
    assert [column.name for column in study.columns] == ["intercept", "county[Napa]", "county[Sonoma]", "size"]
    assert [column.term for column in study.columns] == [0, 1, 1, 2]
    assert [c.name for c in Study(PRICE, [SIZE], intercept="none").columns] == ["size"]


def test_the_default_radius_is_half_the_responses_range():
    study = Study(PRICE, [SIZE])
    assert (study.radius, study.r, study.rho) == (400, 400, 1)
    assert Study(PRICE, [SIZE], radius=100).rho == 0.25


def test_the_hash_is_stable_and_changes_with_every_statement():
    # The number is the contract: a release of last year must still match its study file.
    study = Study(PRICE, [SIZE, COUNTY])
    assert study.hash == Study(Numeric("price", 100.0, 900.0), (SIZE, COUNTY), radius=400).hash
    others = [
        Study(Numeric("price", 100, 901), [SIZE, COUNTY]),
        Study(PRICE, [COUNTY, SIZE]),
        Study(PRICE, [SIZE, COUNTY], intercept="candidate"),
        Study(PRICE, [SIZE, COUNTY], radius=399),
        Study(PRICE, [SIZE, COUNTY], neighbors="add-remove-one"),
        Study(PRICE, [SIZE, COUNTY], missing="midpoint"),
        Study(PRICE, [SIZE, Categorical("county", ["Marin", "Napa", "Sonoma"], "Napa")]),
    ]
    assert len({study.hash, *(other.hash for other in others)}) == len(others) + 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Study(COUNTY, [SIZE]), "response must be Numeric"),
        (lambda: Study(PRICE, ["size"]), "Each predictor"),
        (lambda: Study(PRICE, [SIZE, SIZE]), "named twice"),
        (lambda: Study(PRICE, [PRICE]), "named twice"),
        (lambda: Study(PRICE, [Numeric("intercept", 0, 1)]), "rename"),
        (lambda: Study(PRICE, [Numeric("intercept", 0, 1)], intercept="none"), "rename"),
        (lambda: Study(PRICE, [SIZE], intercept="maybe"), "intercept is 'maybe'"),
        (lambda: Study(PRICE, [SIZE], missing="drop"), "missing is 'drop'"),
        (lambda: Study(PRICE, [SIZE], neighbors="any"), "neighbors is 'any'"),
        (lambda: Study(PRICE, [SIZE], radius=-1), "radius is -1"),
        (lambda: Study(PRICE, [SIZE], radius=float("nan")), "radius is nan"),
        (lambda: Study(PRICE, [SIZE], radius=1e12), "a million times"),
        (lambda: Study(PRICE, [], intercept="none"), "nothing to choose"),
        (lambda: Study.from_dict({"response": PRICE.to_dict()}), "predictors"),
        (lambda: Study.from_dict({"response": COUNTY.to_dict(), "predictors": []}), "lower and upper"),
        (lambda: Study.from_dict({"response": PRICE.to_dict(), "predictors": [], "epsilon": 1}), "epsilon"),
    ],
)
def test_contradictions_are_refused_in_one_sentence(make, message):
    with pytest.raises(StudyError, match=message):
        make()


names = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=8).filter(
    lambda text: text.strip() and is_printable(text) and text != "?"
)


@st.composite
def studies(draw):
    listed = draw(st.lists(names.filter(lambda name: name != "intercept"), min_size=2, max_size=4, unique=True))
    variables = []
    for name in listed[1:]:
        if draw(st.booleans()):
            levels = draw(
                st.lists(draw(st.sampled_from([names, st.integers(-9, 9)])), min_size=2, max_size=4, unique=True)
            )
            variables.append(Categorical(name, levels, draw(st.sampled_from(levels))))
        else:
            low = draw(st.floats(-1e6, 1e6))
            variables.append(Numeric(name, low, low + draw(st.floats(0.5, 1e6))))
    return Study(
        Numeric(listed[0], -1.25, 3), variables, neighbors=draw(st.sampled_from(["replace-one", "add-remove-one"]))
    )


@settings(derandomize=True)
@given(studies())
def test_a_study_survives_toml_and_plain_values(study):
    again = Study.parse(study.text())
    assert again == study == Study.from_dict(study.to_dict())
    assert again.hash == study.hash


def test_a_study_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "study.toml"
    Study(PRICE, [SIZE]).write(path)
    assert Study.read(path) == Study(PRICE, [SIZE])
    with pytest.raises(StudyError, match="cannot be written"):
        Study(PRICE, [SIZE]).write(tmp_path / "nowhere" / "study.toml")
    assert [each.name for each in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"response = 3", r"\[response\]"),
        (b"not toml at all", "not valid TOML"),
        (b"\xff\xfe", "UTF-8"),
        (b"", r"\[response\]"),
        (b"predictors = [1]\n[response]\nname='y'\nlower=0\nupper=1\n", r"\[\[predictors\]\]"),
    ],
)
def test_broken_study_files_are_refused_in_one_sentence(tmp_path, content, message):
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    with pytest.raises(StudyError, match=message):
        Study.read(path)


def test_a_missing_study_file_is_named():
    with pytest.raises(StudyError, match=r"nowhere\.toml"):
        Study.read("nowhere.toml")
