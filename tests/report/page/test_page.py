"""The page as text: what stands in it, what cannot get into it."""

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from physupport._errors import MisuseError
from physupport.report import Details
from physupport.report.page import page_html, write_page

HOSTILE = "<script>alert(1)</script>"


class Seen(HTMLParser):
    """Tags, ids and texts of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.inside, self.kept = [], [], None, {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.tags.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        self.inside = found.get("id") or tag if tag in ("script", "style") else None

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.kept[self.inside] = self.kept.get(self.inside, "") + data


def test_the_embedded_json_is_what_the_report_says(four_regions):
    found, details = four_regions
    data = json.loads(Seen(page_html(found, details)).kept["data"])
    assert data["fields"] == found.document["fields"]
    assert (data["outcome"], data["digests"]) == (found.document["outcome"], found.digests)


def test_the_policy_allows_this_style_and_this_script_alone(four_regions):
    seen = Seen(page_html(*four_regions))
    policy = next(found["content"] for tag, found in seen.tags if found.get("http-equiv") == "Content-Security-Policy")
    hashes = re.findall(r"'sha256-([^']+)'", policy)
    texts = [seen.kept["style"], seen.kept["script"]]
    assert hashes == [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_nothing_points_outside_the_page(four_regions):
    links = [v for _, found in Seen(page_html(*four_regions)).tags for k, v in found.items() if k in ("href", "src")]
    assert links
    assert all(link.startswith("#") for link in links)


@pytest.mark.parametrize("kind", ["four regions", "resolution", "hostile", "empty"])
def test_ids_are_distinct_and_every_reference_has_its_target(kind, four_regions, kit):
    found, details = {
        "four regions": lambda: four_regions,
        "resolution": kit.make_resolution,
        "hostile": lambda: kit.make_map({HOSTILE: ["a", "b"], "B": ["c", None]}, [0, 0]),
        "empty": lambda: kit.make_map({"A": ["A1", "A2"]}, [1, 1]),
    }[kind]()
    seen = Seen(page_html(found, details))
    assert len(seen.ids) == len({*seen.ids})
    references = ("aria-labelledby", "aria-describedby", "aria-controls")
    wanted = {v for _, attributes in seen.tags for k, v in attributes.items() if k in references}
    wanted |= {v[1:] for _, attributes in seen.tags for k, v in attributes.items() if k == "href"}
    assert wanted <= {*seen.ids}


def test_a_hostile_name_stays_text_wherever_it_stands(kit):
    found, details = kit.make_map({HOSTILE: [f"{HOSTILE}1", f"{HOSTILE}2", None]}, [0, 0, 2], title=HOSTILE)
    text = page_html(found, details)
    assert HOSTILE not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert [tag for tag, _ in Seen(text).tags].count("script") == 2  # the data and our own


def test_no_name_ends_the_embedded_data(kit):
    """An end tag ends a script also with a space and more behind its name."""
    name = "</script x"
    text = page_html(*kit.make_map({"A": [name, "a"]}, [0, 0]))
    assert name not in text
    assert json.loads(Seen(text).kept["data"])["fields"][0]["cell"] == [name, "a"]


def test_headings_follow_each_other_without_gaps(four_regions):
    levels = [int(tag[1]) for tag, _ in Seen(page_html(*four_regions)).tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_details_of_another_report_are_refused(four_regions, kit):
    found, _ = four_regions
    _, other = kit.make_map({"A": ["A1", "A2"]}, [0, 0])
    with pytest.raises(MisuseError, match="details must belong to the report"):
        page_html(found, other)


def test_the_page_is_small_and_the_same_on_every_call(four_regions, tmp_path):
    for name in ("one.html", "two.html"):
        write_page(tmp_path / name, *four_regions)
    content = (tmp_path / "one.html").read_bytes()
    assert content == (tmp_path / "two.html").read_bytes()
    assert len(content) < 300_000
    assert b"\r" not in content


def commands(text):
    return [html.unescape(each) for each in re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", text)]


def test_without_a_command_for_the_rows_the_report_alone_is_checked(four_regions):
    found, details = four_regions
    plain = "physupport verify report.json"
    assert commands(page_html(found, details)) == [plain, f"{plain} --protocol {found.digests['protocol']}"]


def test_the_command_for_the_rows_stands_as_it_was_given(four_regions):
    found, details = four_regions
    command = "physupport verify report.json --project '../my project & <b>.toml'"
    text = page_html(found, Details(details.document | {"verify": command}))
    assert commands(text)[2:] == [command]


def test_regions_that_were_not_asked_about_have_no_state(four_regions):
    found, details = four_regions
    library = details.document["library"] | {"regions": ["elsewhere", *details.document["library"]["regions"][1:]]}
    text = page_html(found, Details(details.document | {"library": library}))
    keys = re.findall(
        r'class="(curve response [^"]*)"[^>]*>(?:</path>)?</svg> ([^<]*) <span class="muted">([^<]*)', text
    )
    assert len(keys) == len(library["ids"])
    assert (keys[0][1], keys[0][2]) == (library["ids"][0], "of no question")
    assert "curve response of-no-question" in keys[0][0]
    assert all(state in ("kept", "not asked", "excluded") for _, _, state in keys[1:])


def test_the_setting_of_the_pictures_is_named(four_regions):
    found, details = four_regions
    assert "first setting" not in page_html(found, details)
    library = details.document["library"] | {"setting": {"width": 0.9, "gain": -0.1}}
    text = page_html(found, Details(details.document | {"library": library}))
    assert "they are those of the first setting, width 0.9, gain −0.1" in text
    assert text.count("In the first setting: width 0.9, gain −0.1.") == 4  # the coherence of each region


def test_what_is_weaker_than_the_threshold_is_explained_where_a_region_is_absent(kit):
    weak = "Elements that remain possible do so with strengths below it."
    columns, codes = {"A": ["A1", "A2", None]}, [0, 1, 0]
    found, details = kit.make_map(columns, codes, threshold=0.5, weak=[0])
    text = page_html(found, details)
    assert found.fields[0].label == "ABSENT"
    assert "as strong as the threshold 0.5 counts" in text
    assert weak in text
    assert "nothing there, or nothing as strong as the threshold, by every explanation" in text
    # Without a threshold an ABSENT region has no element left.
    bare, details = kit.make_map(columns, [1, 1, 0])
    assert bare.fields[0].label == "ABSENT"
    assert "as strong as the threshold" not in page_html(bare, details)
    assert weak not in page_html(bare, details)


def test_a_margin_of_zero_does_not_reject(four_regions):
    assert "An explanation is rejected if it lies above 0." in page_html(*four_regions)


def test_margins_are_rounded_away_from_what_they_prove(four_regions):
    found, details = four_regions
    excluded = found.document["fields"][0]["excluded"]
    assert 37.28 < excluded["margin"][0] < 37.29
    assert "≥ 37.28" in page_html(found, details)
    witness = found.document["fields"][2]["witnesses"][0]
    assert -2.547 < witness["margin"][1] < -2.546
    assert "≤ −2.546" in page_html(found, details)
