"""Pictures of a result show the numbers of its details, and nothing is guessed."""

import copy
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from physupport import MisuseError
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.analysis.diagnose import diagnose
from physupport.banks import Library, library_bank, product_grid
from physupport.io import as_pairs
from physupport.report import Details
from physupport.report.plots import (
    plot_brackets,
    plot_elements,
    plot_evidence,
    plot_learnt,
    plot_library,
    plot_library_coherence,
    plot_map,
)

IDS, REGIONS, PLACES = ["A0", "A1", "A2", "B0", "B1"], list("AAABB"), [[0.0], [1.0], [2.0], [5.0], [6.0]]
CHANNELS, NOISE = 6, 0.5
PICTURES = (plot_map, plot_elements, plot_library, plot_library_coherence, plot_evidence, plot_brackets)


def draw(picture, details, ax=None):
    """Any picture; the one of elements needs a field."""
    return picture(details, ax, **({"field": "B"} if picture is plot_elements else {}))


def make_result(is_complex=False, n_rows=20):
    """Elements of a region A that is always there and an optional B; the truth is A1 with B0."""
    rng = np.random.default_rng(5)
    responses = rng.standard_normal((CHANNELS, 5)) + (1j * rng.standard_normal((CHANNELS, 5)) if is_complex else 0.0)
    responses /= np.linalg.norm(responses, axis=0)
    rows = responses @ [0.0, 1.0, 0.0, 0.8, 0.0] + np.sqrt(NOISE) * rng.standard_normal((n_rows, CHANNELS))
    library = Library(IDS, REGIONS, PLACES, as_pairs(responses, axis=0) if is_complex else responses)
    nuisances = {"calibration": product_grid(p=[0.2], noise=[1.0]), "deployment": product_grid(noise=[NOISE])}
    bank = library_bank(library, ["A", "AB"], {"A": 1.0, "B": 0.8}, **nuisances)
    plan = StreamPlan("mean", 0.5, is_complex=is_complex, first=4)
    model = PhysicalSupport(bank, calibration=None, deployment=plan, channels=1).fit(None)
    model.report(rows)
    return model.result_


@pytest.fixture(scope="module")
def result():
    return make_result()


@pytest.fixture(scope="module")
def details(result):
    return diagnose(result)


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    plt.close("all")  # of tests before
    yield
    plt.close("all")


def changed(details, change):
    """Details with a change of a copy of the document."""
    document = copy.deepcopy(details.document)
    change(document)
    return Details(document)


def in_the_plane(document):
    for entry in document["fields"]:
        entry["coordinate_names"] = ["east", "north"]
        for k, element in enumerate(entry["elements"]):
            element["coordinates"] = [element["coordinates"][0], float(k * k)]


def empty(document):
    for entry in document["fields"]:
        entry["label"] = "EMPTY"
        for part in (*entry["elements"], entry["absent"]):
            if part is not None:
                part.update(state="excluded", n_kept=0, n_not_asked=0)


def without_elements(document):
    for entry in document["fields"]:
        entry.update(elements=[], absent=None, coherence=None, coordinate_names=[])
    document.update(library=None, library_coherence=None)


def many_regions(document):
    fields = document["fields"]
    document["fields"] = [{**copy.deepcopy(fields[i % 2]), "field": rf"region $\{i}$ of many"} for i in range(60)]
    library = document["library"]
    library["regions"] = [rf"region $\{i // 2}$ of many" for i in range(120)]
    library["ids"] = [f"_element {i}" for i in range(120)]
    library["responses"] = [library["responses"][i % 5] for i in range(120)]
    matrix = np.eye(60).tolist()
    document["library_coherence"] = {"ids": library["ids"][:60], "matrix": matrix}
    curve = document["evidence"]["curves"][0]
    document["evidence"]["curves"] = [{**curve, "explanation": i, "fields": [f"region {i}"]} for i in range(40)]


def long_names_and_large_counts(document):
    document["brackets"]["possible"] = [1_234_567 * count for count in document["brackets"]["possible"]]
    for entry in document["fields"]:
        entry["coordinate_names"] = ["distance from the middle of the array in metres"]
        for element in entry["elements"]:
            element.update(id=f"an element with the long name {element['id']}", n_not_asked=1_234_567)
    library = document["library"]
    library["ids"] = document["library_coherence"]["ids"] = [f"an element with the long name {id}" for id in IDS]
    library["channels"] = [f"a channel with the long name {channel}" for channel in library["channels"]]


def points(axes, label):
    """All points drawn under a label, in order."""
    found = [np.column_stack(line.get_data()) for line in axes.lines if line.get_label() == label]
    return sorted(map(tuple, np.concatenate(found).tolist())) if found else []


def texts(axes):
    return [text.get_text() for text in axes.texts]


def assert_inside(axes):
    """Whatever is drawn lies on the paper; a pixel is left to rounding of the layout."""
    axes.figure.draw_without_rendering()
    box, page = axes.figure.get_tightbbox(), axes.figure.get_size_inches()
    slack = 1.0 / axes.figure.dpi
    assert box.x0 >= -slack
    assert box.y0 >= -slack
    assert box.x1 <= page[0] + slack
    assert box.y1 <= page[1] + slack


@pytest.mark.parametrize("picture", PICTURES)
def test_a_given_axes_is_used_and_returned_and_pyplot_is_left_alone(picture, details):
    figure, (mine, other) = plt.subplots(2)
    plt.sca(other)
    settings = dict(matplotlib.rcParams)
    assert draw(picture, details, mine) is mine
    assert plt.get_fignums() == [figure.number]
    assert plt.gca() is other
    assert not other.has_data()
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("picture", PICTURES)
def test_without_axes_one_figure_of_a_column_is_made(picture, details):
    axes = draw(picture, details)
    assert plt.get_fignums() == [axes.figure.number]
    assert axes.figure.get_size_inches()[0] * 25.4 == pytest.approx(85.0, abs=0.1)
    assert_inside(axes)


@pytest.mark.parametrize("picture", PICTURES)
def test_a_result_and_its_details_give_one_picture(picture, result, details):
    one, other = draw(picture, result), draw(picture, details)
    assert texts(one) == texts(other)
    for mine, theirs in zip(one.lines, other.lines, strict=True):
        assert np.array_equal(mine.get_data(), theirs.get_data(), equal_nan=True)


@pytest.mark.parametrize("picture", PICTURES)
def test_what_is_no_result_is_refused_by_name(picture, result):
    with pytest.raises(MisuseError, match="result must be of type Result or Details, not Report"):
        draw(picture, result.report)
    assert plt.get_fignums() == []


def test_without_matplotlib_the_extra_is_named(details, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MisuseError, match=r"drawn with matplotlib.*physupport\[plot\]"):
        plot_brackets(details)


def test_a_map_has_every_element_at_its_place_under_its_state(details, result):
    axes = plot_map(details)
    for state in ("kept", "not asked", "excluded"):
        expected = [
            (element["coordinates"][0], -i)
            for i, entry in enumerate(details.document["fields"])
            for element in entry["elements"]
            if element["state"] == state
        ]
        # The column of nothing stands beside the axes, in widths of these.
        drawn = [point for point in points(axes, state) if point != (1.09, -1.0)]
        assert drawn == sorted(expected)
    absent = details.document["fields"][1]["absent"]["state"]
    assert (1.09, -1.0) in points(axes, absent)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["A", "B"]
    labels = [field.label.replace("_", "\n").lower() for field in result.report.fields]
    assert texts(axes) == ["nothing", "–", *labels]
    plug_in = [each.cell for each in result.plug_in]
    assert points(axes, "best fit") == [(PLACES[IDS.index(cell[0])][0], -i) for i, cell in enumerate(plug_in)]


def test_two_coordinates_make_a_plane(details):
    plane = changed(details, in_the_plane)
    axes = plot_map(plane)
    elements = [element for entry in plane.document["fields"] for element in entry["elements"]]
    drawn = [point for state in ("kept", "not asked", "excluded") for point in points(axes, state)]
    assert sorted(drawn) == sorted(tuple(element["coordinates"]) for element in elements)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("east", "north")
    assert_inside(axes)


def test_fields_of_different_coordinates_are_drawn_apart(details):
    def turn(document):
        document["fields"][1]["coordinate_names"] = ["angle"]

    mixed = changed(details, turn)
    with pytest.raises(MisuseError, match=r"share their coordinates, not \(angle\) and \(x\)"):
        plot_map(mixed)
    assert plot_map(mixed, fields=["B"]).get_xlabel() == "angle"
    with pytest.raises(MisuseError, match="fields must be among A, B, not 'Z'"):
        plot_map(mixed, fields=["Z"])


def test_an_empty_profile_shows_everything_excluded(details):
    nothing = changed(details, empty)
    axes = plot_map(nothing)
    assert len(points(axes, "excluded")) == 6
    assert points(axes, "kept") == points(axes, "not asked") == []
    assert texts(axes)[1:] == ["–", "empty", "empty"]
    assert_inside(plot_elements(nothing, field="B"))


def test_bars_count_the_explanations_behind_each_element(details):
    axes = plot_elements(details, field="B")
    entry = details.document["fields"][1]
    parts = [*entry["elements"], entry["absent"]]
    both, kept = axes.containers
    assert [bar.get_width() for bar in both] == [part["n_kept"] + part["n_not_asked"] for part in parts]
    assert [bar.get_width() for bar in kept] == [part["n_kept"] for part in parts]
    assert texts(axes) == [f"{part['n_kept']} + {part['n_not_asked']}" for part in parts]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["B0 (5)", "B1 (6)", "nothing there"]
    with pytest.raises(
        MisuseError, match=r"field must be given where there are several, but none is given\. They are A, B"
    ):
        plot_elements(details)


def test_of_very_many_elements_those_not_excluded_are_drawn(details):
    def grow(document):
        (pattern,) = (each for each in document["fields"][0]["elements"] if each["state"] == "kept")
        excluded = {**pattern, "state": "excluded", "n_kept": 0, "n_not_asked": 0}
        document["fields"][0]["elements"] = [{**excluded, "id": str(i)} for i in range(99)] + [pattern]

    axes = plot_elements(changed(details, grow), field="A")
    assert len(axes.get_yticks()) == 60
    assert axes.get_yticklabels()[0].get_text().startswith("A1")
    assert axes.get_xlabel().endswith("40 more elements not drawn")


@pytest.mark.parametrize("is_complex", [False, True])
def test_responses_are_those_of_the_library(is_complex):
    details = diagnose(make_result(is_complex))
    library = details.document["library"]
    axes = plot_library(details)
    lanes = dict(zip("AB", axes.get_yticks(), strict=True))
    curves = [line.get_ydata() for line in axes.lines if len(line.get_ydata()) == CHANNELS]
    expected = [np.array(each) + lanes[region] for each, region in zip(library["responses"], REGIONS, strict=True)]
    # A sum and its lane, both of size one.
    assert np.allclose(curves, expected, rtol=0.0, atol=1e-15)
    assert axes.get_ylabel().startswith("response, real part" if is_complex else "response,")
    one = plot_library(details, region="B")
    drawn = {line.get_label(): line.get_ydata().tolist() for line in one.lines if ":" in str(line.get_label())}
    states = {element["id"]: element["state"] for element in details.document["fields"][1]["elements"]}
    assert drawn == {f"{states[name]}: {name}": library["responses"][IDS.index(name)] for name in ("B0", "B1")}


def test_regions_that_were_not_asked_about_have_no_state(details):
    def rename(document):
        document["fields"] = document["fields"][:1]

    axes = plot_library(changed(details, rename))
    assert "of no question" in [text.get_text() for text in axes.get_legend().get_texts()]
    assert_inside(axes)
    one = plot_library(changed(details, rename), region="B")
    assert [line.get_label() for line in one.lines[1:]] == ["of no question: B0", "of no question: B1"]


def test_the_setting_of_the_responses_is_named(details):
    def tune(document):
        document["library"]["setting"] = {"width": 0.9, "gain": -0.125}

    tuned = changed(details, tune)
    assert plot_library(tuned).get_xlabel() == "channel\nwidth 0.9\ngain −0.125"
    assert plot_library(details).get_xlabel() == "channel"
    for axes in (plot_library_coherence(tuned), plot_library_coherence(tuned, field="B")):
        assert axes.figure.axes[1].get_ylabel() == "absolute inner product\nwidth 0.9\ngain −0.125"


def test_coherence_is_the_matrix_and_its_colours_run_from_zero_to_one(details):
    axes = plot_library_coherence(details)
    (image,) = axes.images
    assert image.get_array().tolist() == details.document["library_coherence"]["matrix"]
    assert image.get_clim() == (0.0, 1.0)
    assert [tick.get_text() for tick in axes.get_yticklabels()] == IDS
    assert len(axes.lines) == 2  # a frame for each region
    within = plot_library_coherence(details, field="B").images[0].get_array()
    assert within.tolist() == details.document["fields"][1]["coherence"]["matrix"]


def test_evidence_is_the_middle_of_its_bounds_below_and_above_the_threshold(details):
    evidence = details.document["evidence"]
    axes = plot_evidence(details)
    threshold, *curves = axes.lines
    assert [*threshold.get_ydata()] == [evidence["threshold"]] * 2
    distinct = {curve["explanation"]: curve for curve in evidence["curves"]}
    assert len(curves) == len(distinct) > 1
    for line, curve in zip(curves, distinct.values(), strict=True):
        assert np.all((curve["lower"] <= line.get_ydata()) & (line.get_ydata() <= curve["upper"]))
    assert [text.split()[0] for text in texts(axes)] == [str(explanation) for explanation in distinct]
    low, high = axes.get_ylim()
    assert low < min(line.get_ydata().min() for line in curves)
    assert high > max(line.get_ydata().max() for line in curves)


def test_unbounded_evidence_is_a_gap_and_not_a_number(details):
    def cut(document):
        for curve in document["evidence"]["curves"]:
            curve["upper"][-1] = None

    def cut_all(document):
        for curve in document["evidence"]["curves"]:
            curve["upper"] = [None] * len(curve["upper"])

    curves = plot_evidence(changed(details, cut)).lines[1:]
    assert all(np.isnan(line.get_ydata()[-1]) and np.isfinite(line.get_ydata()[0]) for line in curves)
    assert all(np.isnan(line.get_ydata()).all() for line in plot_evidence(changed(details, cut_all)).lines[1:])


def test_brackets_are_steps_through_the_counts(details):
    brackets = details.document["brackets"]
    axes = plot_brackets(details)
    for line, name in zip(axes.lines, ("possible", "witnessed"), strict=True):
        assert line.get_label() == name
        assert line.get_drawstyle() == "steps-post"
        assert np.array_equal(line.get_data(), [brackets["queries"], brackets[name]])
    (strip,) = axes.child_axes
    assert np.array_equal(strip.lines[0].get_data(), [brackets["queries"], brackets["open"]])
    assert texts(axes) == [f"{brackets[name][-1]} {name}" for name in ("witnessed", "possible")]


def test_a_question_without_elements_has_evidence_and_brackets_alone(details):
    resolution = changed(details, without_elements)
    for picture in (plot_map, plot_elements):
        with pytest.raises(MisuseError, match=r"have fields with elements, but it has none\. Only maps of regions"):
            draw(picture, resolution)
    for picture in (plot_library, plot_library_coherence):
        with pytest.raises(MisuseError, match="a library of responses, but its bank has none"):
            draw(picture, resolution)
    assert plt.get_fignums() == []
    assert_inside(plot_evidence(resolution))
    assert_inside(plot_brackets(resolution))


def test_without_curves_there_is_no_picture_of_evidence(details):
    with pytest.raises(MisuseError, match="have evidence at checkpoints"):
        plot_evidence(changed(details, lambda document: document["evidence"].update(curves=[])))


@pytest.mark.parametrize("picture", [plot_map, plot_library, plot_library_coherence, plot_evidence])
def test_sixty_regions_fit_on_a_page(picture, details):
    """Names with signs of mathematics stay names."""
    axes = picture(changed(details, many_regions))
    assert axes.figure.get_size_inches()[1] <= 11.0
    assert_inside(axes)
    if picture is plot_evidence:
        assert axes.get_xlabel().endswith("16 more curves not drawn")


@pytest.mark.parametrize("picture", PICTURES)
def test_long_names_and_large_counts_stay_on_the_paper(picture, details):
    assert_inside(draw(picture, changed(details, long_names_and_large_counts)))


def test_a_report_of_no_learnt_dictionary_has_no_picture_of_one(result):
    with pytest.raises(MisuseError, match="be of a learnt dictionary"):
        plot_learnt(result.report)
