"""A reader and a response that are registered from outside serve a project file like those of the package."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pytest

from physupport import MisuseError
from physupport._codec import Refusal
from physupport._typing import Array, Positive
from physupport.io import ReaderOutput, read_table, register_reader
from physupport.io._read import FORMATS
from physupport.judges import JUDGES, ByEvidence, make_judge, register as register_judge
from physupport.laws import LAWS, Mean, decode_law, register as register_law
from physupport.project import assemble, load_project, run_project
from physupport.responses import RESPONSES, register

PEAK = 'response = { kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15 }'


@dataclass(frozen=True)
class Decay:
    """Answers exp(-rate t x) of channels at times t."""

    times: Array
    rate: Positive = 1.0

    def __call__(self, places):
        return np.exp(-self.rate * np.asarray(self.times)[:, None] * places[:, 0])


@pytest.fixture
def decay(monkeypatch):
    monkeypatch.setitem(RESPONSES, "decay", None)
    del RESPONSES["decay"]
    return register("decay")(Decay)


@pytest.fixture
def text_reader(monkeypatch):
    """Files of one line a row, numbers separated by bars."""
    monkeypatch.setitem(FORMATS, ".bar", None)
    del FORMATS[".bar"]

    def read(name, path, member):
        return ReaderOutput(
            np.array([[float(cell) for cell in line.split("|")] for line in path.read_text().splitlines()])
        )

    register_reader(".bar", read)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tempered(Mean):
    """The law `mean` with a noise that is so many times as large."""

    name: ClassVar[str] = "tempered"
    factor: float = 1.0

    def stream(self, bank, rows, checkpoints):
        return replace(Mean(noises=self.factor * self.variances)).stream(bank, rows, checkpoints)

    def encode(self):
        return super().encode() | {"factor": self.factor}

    @classmethod
    def decode(cls, node, stream="the stream"):
        return replace(super().decode(node, stream), factor=node["factor"])


@dataclass(frozen=True)
class Patient(ByEvidence):
    """Evidence with a word of its own."""

    kind: ClassVar[str] = "patient"
    word: str = ""

    @classmethod
    def of_options(cls, options):
        return cls(**options)

    def encode(self):
        return super().encode() | {"judge": self.kind, "word": self.word}


@pytest.fixture
def extended(monkeypatch):
    for known, name in ((LAWS, "tempered"), (JUDGES, "patient")):
        monkeypatch.setitem(known, name, None)
        del known[name]
    register_law(Tempered)
    register_judge(Patient)


def test_options_of_a_law_and_a_judge_of_ones_own_come_from_a_project_file(extended, write, refused):
    law = ('law = "covariance"', 'law = "tempered"\noptions = { factor = 2.0 }')
    judge = ("level =", 'judge = "patient"\njudge_options = { word = "slowly" }\nlevel =')
    report = run_project(load_project(write(law, judge))).result.report
    protocol = report.document["protocol"]
    assert protocol["streams"][0]["law"]["factor"] == 2.0
    assert protocol["judge"]["word"] == "slowly"
    assert "no key of their own, not rows. Write rows = ... beside data.deployment.options" in refused(
        write((law[0], law[1].replace("factor = 2.0", 'rows = "free"')))
    )
    assert "factr" in refused(write((law[0], law[1].replace("factor", "factr"))))
    assert "judge_options.words must be left out with the judge patient" in refused(
        write((judge[0], judge[1].replace("word", "words")))
    )


def test_a_law_whose_options_no_report_would_hold_is_refused(monkeypatch):
    @dataclass(frozen=True, eq=False, kw_only=True)
    class Forgetful(Mean):
        name: ClassVar[str] = "forgetful"
        factors: tuple[float, ...] = (1.0,)

    with pytest.raises(MisuseError, match="the law forgetful must have methods encode and decode of its own"):
        register_law(Forgetful)


def test_plain_options_of_a_law_are_written_and_read_back_without_methods_of_its_own(monkeypatch):
    @dataclass(frozen=True, eq=False, kw_only=True)
    class Stretched(Mean):
        name: ClassVar[str] = "stretched"
        factor: float = 1.0
        is_loud: bool = False
        word: str = "plain"

    monkeypatch.setitem(LAWS, "stretched", None)
    del LAWS["stretched"]
    register_law(Stretched)
    node = Stretched(noises=[0.3], factor=2.5, is_loud=True, word="other").encode()
    assert {"factor": 2.5, "is_loud": True, "word": "other"}.items() <= node.items()
    again = decode_law(node)
    assert (again.factor, again.is_loud, again.word) == (2.5, True, "other")
    for changed in ({"factor": "much"}, {"is_loud": 2}, {"word": 3}):
        with pytest.raises(Refusal):
            decode_law(node | changed)


def test_a_judge_that_needs_an_option_says_so(monkeypatch):
    @dataclass(frozen=True)
    class Needy(ByEvidence):
        kind: ClassVar[str] = "needy"
        word: str = field(kw_only=True)

    monkeypatch.setitem(JUDGES, "needy", None)
    register_judge(Needy)
    with pytest.raises(MisuseError, match=r"word is required\. The judge needy needs it\."):
        make_judge("needy", {})


def test_a_response_of_ones_own_is_named_in_a_project_file(decay, write, refused):
    spec = 'response = { kind = "decay", times = { from = 0, to = 1, count = 8 }, rate = 2.0 }'
    columns = Decay(np.linspace(0.0, 1.0, 8), 2.0)(np.array([[0.2], [0.35], [0.7], [0.9]]))
    bank = assemble(load_project(write((PEAK, spec)))).bank
    # Responses are scaled to norm 1, with one rounding in the norm and one in the quotient.
    np.testing.assert_allclose(bank.states.elements, columns / np.linalg.norm(columns, axis=0), rtol=1e-15)
    assert refused(write((PEAK, spec.replace("2.0", "0.0")))) == (
        "project.toml: elements.response.rate must be above 0, not 0.0."
    )
    assert "have no other keys than kind, times, rate, not rat. Did you mean rate?" in refused(
        write((PEAK, spec.replace("rate", "rat")))
    )


def test_arrays_of_a_response_may_lie_in_files(decay, write):
    path = write((PEAK, 'response = { kind = "decay", times = "times.npy" }'))
    np.save(path.parent / "times.npy", np.linspace(0.0, 1.0, 8))
    project = load_project(path)
    columns = Decay(np.linspace(0.0, 1.0, 8))(np.array([[0.2], [0.35], [0.7], [0.9]]))
    elements = assemble(project).bank.states.elements
    np.testing.assert_allclose(elements, columns / np.linalg.norm(columns, axis=0), rtol=1e-15)
    assert "elements.response.times" in project.read


def test_a_reader_of_ones_own_serves_tables_and_projects(text_reader, write, small):
    rows = small.make_rows(small.columns([0.2, 0.7]), 400)
    path = write(('"deployment.npy"', '"deployment.bar"'))
    (path.parent / "deployment.bar").write_text("\n".join("|".join(map(repr, row)) for row in rows.tolist()))
    np.testing.assert_array_equal(
        read_table(path.parent / "deployment.bar", channels=1, label="deployment").values, rows
    )
    assert run_project(load_project(path)).result.report.status == "REPORT"


def test_what_a_reader_raises_is_one_message(text_reader, tmp_path):
    (tmp_path / "rows.bar").write_text("1|2\n3|four\n")
    with pytest.raises(MisuseError, match=r"be a sound \.bar file, but reading it fails \(ValueError"):
        read_table(tmp_path / "rows.bar", channels=1, label="rows")


@pytest.mark.parametrize("ending", [".npy", "spe", ".SPE"])
def test_an_ending_is_registered_once_and_as_files_have_it(ending):
    with pytest.raises(MisuseError, match="ending must be new, in small letters, and begin with a dot"):
        register_reader(ending, lambda name, path, member: ReaderOutput(np.zeros((1, 1))))


def test_a_kind_is_registered_once():
    with pytest.raises(MisuseError, match="kind must be new, not 'peak'"):
        register("peak")(Decay)
