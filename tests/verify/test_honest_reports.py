"""Two programs, one answer: whatever the question, the verdicts and the budget, an honest report is verified."""

import json

import numpy as np
from hypothesis import given, settings, strategies as st

from physupport._codec import array_json
from physupport.aeb import FixedOrder, RandomOrder, RegionalPolicy
from physupport.analysis import AnalysisProtocol, report
from physupport.banks import table_regions
from physupport.judges import TableJudge
from physupport.questions import RegionalMap, RegionRule, Resolution
from physupport.report import document_hash
from physupport.verify import verify

ASKS = ("fine", "group", "presence", "absence", "ambiguity")


@st.composite
def rules(draw, names):
    asks = draw(st.just("finest") | st.lists(st.sampled_from(ASKS), min_size=1, unique=True).map(tuple))
    members = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    deep = {
        "outer": {"inner": {"core": members[:1], "shell": members}, "one more": names[:1]},
        "overlapping": names[-2:],
    }
    entries = draw(st.lists(st.integers(0, 3), min_size=len(names) ** 2, max_size=len(names) ** 2))
    half = np.triu(np.reshape(entries, (len(names), len(names))), 1)  # no triangle inequality
    return RegionRule(
        tolerance=draw(st.sampled_from([0.0, 0.5, 1.0, 2.5])),
        distances=draw(st.none() | st.just((half + half.T).astype(float))),
        groups=draw(st.none() | st.just({"outer": {"inner": members, "one more": names[:1]}}) | st.just(deep)),
        asks=asks,
        absence_threshold=draw(st.sampled_from([None, 0.5, 1.5])),
        absent_witness=draw(st.sampled_from(["any", "persistent_only"])),
    )


@st.composite
def maps(draw):
    size, columns, places, strengths, asked = draw(st.integers(1, 14)), {}, {}, {}, {}
    for region in draw(st.sampled_from(["P", "PQ", "PQR"])):
        names = [f"{region}{i}" for i in range(draw(st.integers(1, 4)))]
        options = st.sampled_from(names if draw(st.booleans()) else [*names, None])
        columns[region] = draw(st.lists(options, min_size=size, max_size=size))
        corners = draw(st.booleans())  # on a line, or in a plane
        places[region] = {name: [i % 2, i // 2] if corners else float(i) for i, name in enumerate(names)}
        levels = draw(st.lists(st.sampled_from([0.4, 1.0, 2.0]), min_size=size, max_size=size))
        strengths[region] = [level if there else 0.0 for level, there in zip(levels, columns[region], strict=True)]
        asked[region] = draw(rules(names))
    return RegionalMap(table_regions(columns, coordinates=places, strengths=strengths), asked), size


@st.composite
def resolutions(draw):
    size, count = draw(st.integers(1, 14)), draw(st.integers(1, 5))
    places = np.array(draw(st.lists(st.integers(0, count - 1), min_size=size, max_size=size)))
    x = np.array(draw(st.lists(st.integers(0, 8), min_size=count, max_size=count))) / 4
    near, wide = sorted(draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5]), min_size=2, max_size=2)))
    slack = draw(st.sampled_from([1e-12, np.inf]))
    return Resolution(
        places, np.abs(x[:, None] - x), np.abs(x - draw(st.integers(0, 8)) / 4), near, wide, slack=slack
    ), size


def check(question, size, data, policies):
    codes = np.array(data.draw(st.lists(st.sampled_from([0, 1, 1, 1, 2]), min_size=size, max_size=size)))
    margins = None
    if data.draw(st.booleans()):
        heights = np.array(data.draw(st.lists(st.integers(1, 4), min_size=size, max_size=size)), dtype=float)
        middle = np.select([codes == 1, codes == 0], [heights, -heights], 0.0)
        margins = np.column_stack([middle - 0.5, middle + 0.5])
    protocol = AnalysisProtocol(
        question, data.draw(st.sampled_from(policies)), 0.1, data.draw(st.integers(0, size)),
        until_witnessed=data.draw(st.booleans()), stop=data.draw(st.sampled_from(["label", "set"])),
    )  # fmt: skip
    seal = protocol.freeze(TableJudge(codes, margins))
    trace = seal.run()
    for part in (trace, trace.at(data.draw(st.integers(0, len(trace))))):
        assert verify(report(seal, part).json(), protocol=seal.digest).findings == ()


def test_a_report_grows_with_its_elements_and_not_with_their_square():
    """Distances follow from coordinates; written out, those of 400 elements alone would take a million characters."""
    sizes = {}
    for count in (100, 400):
        names = [f"e{i}" for i in range(count)]
        places = np.random.default_rng(count).standard_normal((count, 2))
        view = table_regions({"A": names}, coordinates={"A": dict(zip(names, places, strict=True))})
        seal = AnalysisProtocol(RegionalMap(view, {"A": RegionRule(0.5)}), FixedOrder(), 0.1, 0.1).freeze(
            TableJudge(np.zeros(count, dtype=np.uint8))
        )
        text = report(seal, seal.run()).json()
        assert verify(text).is_verified
        sizes[count] = len(text)
        document = json.loads(text)
        assert document["question"]["distances"] == ["of the view"]
        assert document["protocol"]["question"]["regions"][0]["distances"] == "of the view"
        # Others that are written out in their place are not those that were asked about.
        document["question"]["distances"] = [array_json(np.zeros((count, count)))]
        document["digests"]["document"] = document_hash(document)
        assert "protocol.question.regions[0].distances" in " ".join(verify(document).findings)
    assert sizes[400] < 6 * sizes[100]


@settings(max_examples=60)
@given(maps(), st.data())
def test_reports_about_random_maps_are_verified(drawn, data):
    check(*drawn, data, [RandomOrder(0), RandomOrder(1), RegionalPolicy()])


@settings(max_examples=60)
@given(resolutions(), st.data())
def test_reports_about_random_resolutions_are_verified(drawn, data):
    check(*drawn, data, [RandomOrder(0), RandomOrder(1)])
