"""Labelled arrays in Python: names of elements and channels are matched wherever they are given, or refused."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from physupport import MisuseError
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank, product_grid
from physupport.io import Source, Table
from physupport.judges.conformal import ByConformal, Replicates
from physupport.responses import Parameter, settings_grid

RNG = np.random.default_rng(12)
IDS, CHANNELS = tuple(f"e{i}" for i in range(5)), tuple(f"c{i}" for i in range(5))  # as many: lengths tell nothing
RESPONSES = RNG.normal(size=(5, 5))
RESPONSES /= np.linalg.norm(RESPONSES, axis=0)
FRAME = pd.DataFrame(RESPONSES, CHANNELS, IDS)
ROWS = pd.DataFrame(9.0 * RESPONSES[:, [3]].T + 0.02 * RNG.normal(size=(2, 5)), columns=CHANNELS)
PLACES = np.arange(5.0)[:, None]
BACK = [4, 3, 2, 1, 0]


def library(responses):
    return Library(IDS, ["r"] * 5, PLACES, responses)


def plan(**options):
    return StreamPlan("gaussian", noises=[4e-4], **options)


def cell(responses, rows, **options):
    model = PhysicalSupport(library(responses), calibration=None, deployment=plan(**options))
    return model.fit().report(rows).fields[0].cell


@pytest.mark.parametrize(
    "responses",
    [
        FRAME,
        FRAME.iloc[:, BACK],
        FRAME.iloc[BACK],
        FRAME.T,
        FRAME.T.iloc[BACK, BACK],
        xr.DataArray(RESPONSES[:, BACK], dims=("c", "e"), coords={"c": [*CHANNELS], "e": [*IDS[::-1]]}),
    ],
)
def test_a_library_takes_labelled_responses_in_any_order(responses):
    for rows in (ROWS, ROWS.iloc[:, BACK], ROWS.iloc[:, [1, 0, 2, 4, 3]]):
        assert cell(responses, rows) == ("e3",)
    made = library(responses)
    np.testing.assert_array_equal(pd.DataFrame(made.responses, made.channels, IDS).loc[[*CHANNELS]], RESPONSES)


def test_a_library_refuses_columns_that_are_no_elements():
    with pytest.raises(
        MisuseError, match="responses must name its elements as ids does, not no 'e3' and the unknown 'x'"
    ):
        library(FRAME.rename(columns={"e3": "x"}))
    with pytest.raises(MisuseError, match="responses must name its channels as channels does, not no 'c0'"):
        Library(IDS, ["r"] * 5, PLACES, FRAME.rename(index={"c0": "x"}), channels=CHANNELS)


def test_a_library_has_a_name_for_each_channel():
    with pytest.raises(MisuseError, match="channels must name each of the 5 channels, not 3 names"):
        Library(IDS, ["r"] * 5, PLACES, RESPONSES, channels=CHANNELS[:3])


def test_names_of_channels_say_nothing_of_a_report():
    """Rows and laws decide, and what a bank is hashed by."""
    plain, named = (library_bank(library(each), [["r"]], {"r": 1.0}) for each in (RESPONSES, FRAME))
    assert plain.digest == named.digest
    assert (plain.channels, named.channels) == (None, CHANNELS)


def test_rows_with_other_channels_than_the_library_are_refused():
    with pytest.raises(MisuseError, match="deployment must name its channels as the library does, not no 'c1'"):
        cell(FRAME, ROWS.rename(columns={"c1": "x"}))


def test_what_was_read_is_in_the_order_of_the_library_and_verifies():
    model = PhysicalSupport(library(FRAME), calibration=None, deployment=plan()).fit()
    model.report(ROWS.iloc[:, BACK])
    table = model.result_.tables["deployment"]
    assert table.channels == CHANNELS
    np.testing.assert_array_equal(table.values, ROWS)


VARIANCES = np.array([1.0, 4.0, 1.0, 1.0, 9.0])
NOISE = pd.DataFrame(np.diag(VARIANCES), CHANNELS, CHANNELS)


@pytest.mark.parametrize("given", [NOISE, NOISE.iloc[BACK, BACK], pd.Series(VARIANCES, CHANNELS).iloc[BACK]])
def test_a_covariance_with_names_is_brought_into_the_order_of_the_library(given):
    bank = library_bank(library(FRAME), [["r"]], {"r": 1.0})
    law = plan(covariance=given).law.completed(bank)
    expected = VARIANCES if given.ndim == 1 else np.diag(VARIANCES)
    np.testing.assert_array_equal(law.covariance, expected)
    assert cell(FRAME, ROWS.iloc[:, BACK], covariance=given) == ("e3",)


def test_a_background_and_variants_with_names_are_brought_into_the_order_of_the_library():
    bank = library_bank(library(FRAME), [["r"]], {"r": 1.0})
    background = pd.DataFrame({"slope": np.arange(1.0, 6.0)}, CHANNELS)
    dims = ("variant", "channel", "element")
    variants = xr.DataArray(RESPONSES[None, ::-1], dims=dims, coords={"channel": [*CHANNELS], "element": [*IDS]})
    shuffled = variants.isel(channel=BACK, element=BACK)
    law = plan(background=background.iloc[BACK], variants=shuffled).law.completed(bank)
    np.testing.assert_array_equal(law.background, background)
    np.testing.assert_array_equal(law.variants, variants)
    counts = StreamPlan("poisson", background=background.iloc[BACK]).law
    positive = library_bank(library(FRAME.abs() / np.linalg.norm(FRAME, axis=0)), [["r"]], {"r": 1.0})
    np.testing.assert_array_equal(counts.completed(positive).background, background)


def test_options_of_other_channels_or_in_another_order_than_unnamed_responses_are_refused():
    with pytest.raises(MisuseError, match="covariance must name its channels as the library does, not no 'c2'"):
        cell(FRAME, ROWS, covariance=NOISE.rename(index={"c2": "x"}, columns={"c2": "x"}))
    with pytest.raises(
        MisuseError,
        match="covariance must have the channels of deployment in their order, but channel 0 is 'c4' and not 'c0'",
    ):
        cell(RESPONSES, ROWS, covariance=NOISE.iloc[BACK, BACK])
    assert cell(RESPONSES, ROWS, covariance=NOISE) == ("e3",)


def test_replicates_with_names_are_brought_into_the_order_of_the_library():
    spectra = pd.DataFrame(np.repeat(RESPONSES.T, 3, axis=0) + 0.01 * RNG.normal(size=(15, 5)), columns=CHANNELS)
    elements = tuple(name for name in IDS for _ in range(3))
    units = tuple(f"u{i % 3}" for i in range(15))

    def judge(given):
        return ByConformal(Replicates(given, elements, units))

    def report(given, rows):
        model = PhysicalSupport(library(FRAME), calibration=None, deployment="gaussian", judge=judge(given), alpha=0.4)
        return model.fit().report(rows)

    expected = report(spectra, ROWS[:1])
    assert expected.fields[0].cell == ("e3",)
    found = report(spectra.iloc[:, BACK], ROWS[:1].iloc[:, [1, 0, 2, 4, 3]])
    assert found.digests == expected.digests
    with pytest.raises(MisuseError, match="replicates must name its channels as the library does, not no 'c0'"):
        report(spectra.rename(columns={"c0": "x"}), ROWS[:1])
    with pytest.raises(
        MisuseError, match=r"replicates must hold other spectra than the one that is judged, but it is among them \(4\)"
    ):
        report(spectra, spectra[4:5])


def test_streams_in_different_units_or_with_the_same_rows_are_refused():
    bank = library_bank(library(RESPONSES), [["r"]], {"r": 1.0}, calibration=product_grid(p=[0.3], noise=[0.2]),
                        deployment=product_grid(noise=[0.2]))  # fmt: skip
    rows = RNG.normal(size=(60, 5))

    def table(values, unit=""):
        return Table(values, CHANNELS, Source("rows", None, None, values.shape, "float64", unit))

    model = PhysicalSupport(bank).fit(table(rows, "mV"))
    model.report(table(RNG.normal(size=(60, 5)), "mV"))
    with pytest.raises(MisuseError, match="unit of deployment must be mV, as that of calibration, not V"):
        model.report(table(RNG.normal(size=(60, 5)), "V"))
    for same in (rows, rows[::-1], rows[:40], np.vstack([rows[:40], RNG.normal(size=(20, 5))])):
        with pytest.raises(
            MisuseError, match="deployment must have other rows than calibration, but they are the same"
        ):
            model.report(same)
    model.report(np.vstack([rows[:20], RNG.normal(size=(40, 5))]))  # fewer than half of them
    whole = PhysicalSupport(bank).fit(RNG.integers(-1, 2, (60, 5)).astype(float))
    whole.report(RNG.integers(-1, 2, (60, 5)).astype(float))  # coarse numbers repeat by chance


def test_ids_and_regions_that_look_alike_are_refused():
    with pytest.raises(MisuseError, match="ids must have names that look different, not 'e1' and '\u04351'"):
        Library(["e1", "\u04351"], ["r", "r"], PLACES[:2], RESPONSES[:, :2])
    with pytest.raises(MisuseError, match="regions must have names that look different, not 'r' and 'r '"):
        Library(["e1", "e2"], ["r", "r "], PLACES[:2], RESPONSES[:, :2])


def test_settings_and_shared_columns_with_names_are_brought_into_the_order_of_the_library():
    gains = [Parameter("gain", [0.0, 0.1], pattern=np.ones(5))]
    expected = settings_grid(RESPONSES, PLACES, gains)
    shared = pd.DataFrame({"dark": np.eye(5)[1]}, CHANNELS)
    for order in (slice(None), BACK):
        grid = settings_grid(FRAME.iloc[order, order], PLACES[order], gains)
        bank = library_bank(library(FRAME), [["r"]], {"r": 1.0}, settings=grid, extra=shared.iloc[order])
        np.testing.assert_allclose(bank.states.responses, expected.responses, rtol=1e-14)  # norms are sums
        np.testing.assert_array_equal(bank.states.extra, shared)
    grid = settings_grid(FRAME.rename(columns={"e0": "x"}), PLACES, gains)
    with pytest.raises(MisuseError, match="settings must name its elements as the library does, not no 'e0'"):
        library_bank(library(FRAME), [["r"]], {"r": 1.0}, settings=grid)
