"""Names of elements and channels in the files of a project: matched in any order, or refused; never ignored."""

import json
import re

import h5py
import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport.cli import app
from physupport.project import assemble, load_project, run_project

RNG = np.random.default_rng(8)
IDS, CHANNELS = [f"e{i}" for i in range(6)], [f"c{i}" for i in range(6)]  # as many: lengths tell nothing
RESPONSES = RNG.normal(size=(6, 6))
RESPONSES /= np.linalg.norm(RESPONSES, axis=0)
ROW = 9.0 * RESPONSES[:, [4]].T + 0.02 * RNG.normal(size=(1, 6))
ELEMENTS = "id,region\n" + "".join(f"{name},r\n" for name in IDS)
BACK = [5, 4, 3, 2, 1, 0]
PROJECT = """\
level = 0.05

[data.deployment]
file = "row.csv"
channels = "columns"
law = "gaussian"
noise = 0.0004

[elements]
file = "elements.csv"
responses = "responses.csv"

[regions.r]
"""


def table(path, values, columns=None, rows=None):
    """A CSV with names above, and in its first column."""
    lines = [[*map(repr, row)] for row in np.asarray(values).tolist()]
    if rows is not None:
        lines = [[name, *line] for name, line in zip(rows, lines, strict=True)]
    if columns is not None:
        lines.insert(0, [*([""] if rows is not None else []), *columns])
    path.write_text("".join(",".join(line) + "\n" for line in lines))


@pytest.fixture
def write(tmp_path):
    """Write the project, changed: every file in its own order unless another is given."""

    def written(*changes, row=(ROW, CHANNELS), responses=(RESPONSES, IDS, CHANNELS), elements=ELEMENTS):
        text = PROJECT
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new, 1)
        (tmp_path / "project.toml").write_text(text)
        (tmp_path / "elements.csv").write_text(elements)
        table(tmp_path / "row.csv", *row)
        table(tmp_path / "responses.csv", *responses)
        return tmp_path / "project.toml"

    return written


def cell(path):
    return run_project(load_project(path)).result.report.fields[0].cell


def test_columns_in_another_order_than_the_list_are_those_of_their_elements(write):
    assert cell(write()) == ("e4",)
    assert cell(write(responses=(RESPONSES[:, BACK], [IDS[i] for i in BACK]))) == ("e4",)


def test_the_command_line_finds_the_element_of_a_file_headed_the_other_way(write):
    path = write(responses=(RESPONSES[:, BACK], [IDS[i] for i in BACK]))
    done = CliRunner().invoke(app, ["run", str(path), "--json", "--quiet"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["claims"][0]["elements"] == ["e4"]


@pytest.mark.parametrize(
    ("responses", "told"),
    [
        ((RESPONSES, ["e0", "e1", "e2", "e3", "e4", "x"]), r"responses must name its elements as elements\.csv does, "
         r"not no 'e5' and the unknown 'x'"),
        ((RESPONSES, ["e0", "e1", "e2", "e3", "e4", "\u04355"]), "CYRILLIC SMALL LETTER IE"),
        ((RESPONSES[:, :5], IDS[:5]), "not no 'e5'"),
        ((RESPONSES[:, [0, 1, 2, 3, 4, 5, 5]], [*IDS, "e6"]), "not the unknown 'e6'"),
        ((RESPONSES, IDS, [*CHANNELS[:5], "d"]), r"responses must name its channels as data\.deployment\.file does, "
         "not no 'c5' and the unknown 'd'"),
    ],
)  # fmt: skip
def test_names_that_are_no_elements_or_channels_are_refused(write, refused, responses, told):
    assert re.search(told, refused(write(responses=responses)))


def test_a_square_table_that_was_turned_is_noticed_by_its_names(write):
    for rows, columns in ((IDS, CHANNELS), (IDS, None), (None, CHANNELS)):
        assert cell(write(responses=(RESPONSES.T, columns, rows))) == ("e4",)


def test_without_names_the_order_is_that_of_the_list(write):
    assert cell(write(responses=(RESPONSES,))) == ("e4",)
    assert cell(write(responses=(RESPONSES[:, BACK],))) == ("e1",)  # a control: nothing tells the order
    counted = write(
        ('"responses.csv"', '{ file = "responses.csv", header = true }'), responses=(RESPONSES, [*"012345"])
    )
    assert cell(counted) == ("e4",)


def test_rows_of_responses_go_to_the_channels_of_the_data(write):
    assert cell(write(responses=(RESPONSES[BACK], IDS, [CHANNELS[i] for i in BACK]))) == ("e4",)
    assert cell(write(row=(ROW[:, BACK], [CHANNELS[i] for i in BACK]))) == ("e4",)


def test_columns_may_be_named_by_the_one_coordinate_of_the_elements(write):
    elements = "id,region,x\n" + "".join(f"{name},r,{0.5 * i}\n" for i, name in enumerate(IDS))
    coordinates = ("[elements]\n", '[elements]\ncoordinates = ["x"]\nunit = "mm"\n')
    named = [f"{0.5 * i} mm" for i in BACK]
    assert cell(write(coordinates, elements=elements, responses=(RESPONSES[:, BACK], named))) == ("e4",)


def test_variants_in_one_file_are_found_by_element_and_variant(write):
    lines = [(name, variant) for variant in "ab" for name in IDS]
    elements = "id,region,variant\n" + "".join(f"{name},r,{variant}\n" for name, variant in lines)
    both = np.hstack([RESPONSES, np.roll(RESPONSES, 1, axis=0)])
    for joint in (" ", "_", "/"):
        named = [joint.join(line) for line in lines]
        assert cell(write(elements=elements, responses=(both[:, ::-1], named[::-1]))) == ("e4",)


def test_every_file_of_a_list_of_variants_is_matched_by_itself(write, tmp_path):
    table(tmp_path / "other.csv", np.roll(RESPONSES, 1, axis=0)[:, BACK], [IDS[i] for i in BACK])
    files = ('"responses.csv"', '["other.csv", "responses.csv"]')
    assert cell(write(files)) == ("e4",)
    table(tmp_path / "other.csv", RESPONSES, [*IDS[:5], "x"])
    with pytest.raises(MisuseError, match=r"elements\.responses\[0\] must name its elements as elements\.csv does"):
        assemble(load_project(write(files)))


COVARIANCE = np.diag([4.0, 1.0, 1.0, 1.0, 1.0, 0.25]) * 4e-4


def covariance(path):
    """As the law has it, in the order of the deployment rows."""
    return np.asarray(assemble(load_project(path)).protocol.streams["deployment"].law.covariance)


@pytest.mark.parametrize(
    ("rows", "columns"), [(None, CHANNELS), (CHANNELS, None), (CHANNELS, CHANNELS), (CHANNELS[::-1], CHANNELS[::-1])]
)
def test_a_covariance_is_brought_into_the_order_of_the_rows(write, tmp_path, rows, columns):
    given = COVARIANCE if (rows or columns) == CHANNELS else COVARIANCE[::-1, ::-1]
    table(tmp_path / "c.csv", given, columns, rows)
    noise = ("noise = 0.0004", 'noise = { covariance = "c.csv" }')
    np.testing.assert_array_equal(covariance(write(noise)), COVARIANCE)


def test_variances_and_empty_rows_are_brought_into_the_order_of_the_rows(write, tmp_path):
    table(tmp_path / "v.csv", np.diag(COVARIANCE)[None, ::-1], CHANNELS[::-1])
    noise = ("noise = 0.0004", 'noise = { variance = "v.csv" }')
    np.testing.assert_array_equal(covariance(write(noise)), np.diag(COVARIANCE))
    empty = RNG.normal(size=(200, 6)) * np.sqrt(np.diag(COVARIANCE))
    table(tmp_path / "empty.csv", empty[:, ::-1], CHANNELS[::-1])
    noise = ("noise = 0.0004", 'noise = { rows = "empty.csv" }')
    np.testing.assert_allclose(covariance(write(noise)), np.cov(empty.T), rtol=1e-10)
    table(tmp_path / "empty.csv", empty, [*CHANNELS[:5], "x"])
    with pytest.raises(
        MisuseError, match=r"noise\.rows must name its channels as data\.deployment\.file does, not no 'c5'"
    ):
        covariance(write(noise))


def test_an_input_without_names_is_refused_where_the_others_have_different_orders(write, tmp_path):
    """Nobody could say which of the two orders it has."""
    np.save(tmp_path / "c.npy", COVARIANCE)
    noise = ("noise = 0.0004", 'noise = { covariance = "c.npy" }')
    np.testing.assert_array_equal(covariance(write(noise)), COVARIANCE)
    moved = (RESPONSES[BACK], IDS, [CHANNELS[i] for i in BACK])
    with pytest.raises(
        MisuseError, match=r"covariance must name its channels, which data\.deployment\.file and elements"
    ):
        covariance(write(noise, responses=moved))


def test_background_atoms_are_matched_to_channels(write, tmp_path):
    atom = np.arange(1.0, 7.0)[:, None]
    table(tmp_path / "atoms.csv", atom[BACK], ["slope"], [CHANNELS[i] for i in BACK])
    path = write(("[elements]", '[background]\natoms = "atoms.csv"\n\n[elements]'))
    background = assemble(load_project(path)).protocol.streams["deployment"].law.background
    np.testing.assert_array_equal(background, atom)


CALIBRATION = """
[data.calibration]
file = "calibration.csv"
channels = "columns"
law = "known codes"
noise = 1.0
proposal = 0.5

[data.deployment]"""
CODED = (
    ("[data.deployment]", CALIBRATION),
    ('law = "gaussian"\nnoise = 0.0004', 'law = "covariance"\nnoise = 0.0004\nproposal = 0.5'),
    ("[regions.r]", "[regions.r]\nstrength = 1.0\n\n[regions.s]\nstrength = 1.0"),
)


def test_calibration_rows_and_their_codes_are_brought_into_order(write, tmp_path):
    elements = "id,region\n" + "".join(f"{name},{'rs'[i % 2]}\n" for i, name in enumerate(IDS))
    rows, codes = RNG.normal(size=(40, 6)), RNG.normal(size=(40, 2))
    table(tmp_path / "calibration.csv", np.hstack([rows[:, BACK], codes[:, ::-1]]), [*CHANNELS[::-1], "s", "r"])
    data = (RNG.normal(size=(40, 6)), CHANNELS)
    path = write(*CODED, row=data, elements=elements)
    np.testing.assert_array_equal(assemble(load_project(path)).tables["calibration"].values, np.hstack([rows, codes]))
    table(tmp_path / "calibration.csv", rows[:, BACK], CHANNELS[::-1])
    table(tmp_path / "codes.csv", codes[:, ::-1], ["s", "r"])
    apart = ('law = "known codes"', 'law = "known codes"\ncodes = "codes.csv"')
    path = write(*CODED, apart, row=data, elements=elements)
    assert cell(path)
    found = CliRunner().invoke(app, ["verify", str(path.parent / "report"), "--project", str(path)])
    assert (found.exit_code, "every verdict from the rows" in found.stdout) == (0, True), found.output
    table(tmp_path / "codes.csv", codes, ["s", "t"])
    with pytest.raises(
        MisuseError, match=r"codes must name its codes as the project does, not no 'r' and the unknown 't'"
    ):
        assemble(load_project(path))


def test_rows_whose_channels_are_named_along_the_other_axis_are_refused(write, tmp_path):
    rows = RNG.normal(size=(6, 6))
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["rows"] = rows
        file["sensor"] = CHANNELS
        file["sensor"].make_scale()
        file["rows"].dims[0].attach_scale(file["sensor"])
    data = ('file = "row.csv"\nchannels = "columns"', 'file = "rows.h5"\nchannels = 1')
    with pytest.raises(
        MisuseError, match=r"data\.deployment\.channels must be the axis along which the channels of elem"
    ):
        assemble(load_project(write(data)))
    assemble(load_project(write((data[0], 'file = "rows.h5"\nchannels = 0'))))


def test_replicates_are_matched_to_the_channels_of_the_row(write, tmp_path):
    lines = ["element,unit," + ",".join(CHANNELS[::-1])]
    lines += [
        ",".join([name, f"u{u}", *map(repr, (RESPONSES[::-1, i] + 0.01 * RNG.normal(size=6)).tolist())])
        for i, name in enumerate(IDS)
        for u in range(3)
    ]
    (tmp_path / "replicates.csv").write_text("\n".join(lines) + "\n")
    listed = ("[elements]", '[elements]\nreplicates = "replicates.csv"\nreplicate_unit = "unit"')
    path = write(listed, ("noise = 0.0004\n", ""), ("level = 0.05", "level = 0.4"))
    spectra = assemble(load_project(path)).protocol.judge.replicates.spectra
    assert np.abs(spectra - np.repeat(RESPONSES.T, 3, axis=0)).max() < 0.1
    (tmp_path / "replicates.csv").write_text("\n".join([lines[0].replace("c5", "x"), *lines[1:]]) + "\n")
    with pytest.raises(
        MisuseError, match=r"replicates must name its channels as data\.deployment\.file does, not no 'c5'"
    ):
        assemble(load_project(path))


def test_sensors_are_matched_by_name_and_their_coordinates_too(write, tmp_path):
    sensors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [1.0, 1.5], [2.0, 2.0]])
    elements = "id,region,x,y\n" + "".join(f"{name},r,{4 + i},{7 - i}\n" for i, name in enumerate(IDS))
    near = ('responses = "responses.csv"', 'coordinates = ["x", "y"]\nresponse = { kind = "near field array", '
            'sensors = "sensors.csv", wavelength = 3.0 }')  # fmt: skip
    row = (ROW + 1j * ROW[:, ::-1], CHANNELS)

    def states(places, columns, names=None):
        table(tmp_path / "sensors.csv", places, columns, names)
        return assemble(load_project(write(near, row=row, elements=elements))).bank.states.elements

    expected = states(sensors, ["x", "y"])
    np.testing.assert_array_equal(states(sensors[:, ::-1], ["y", "x"]), expected)
    np.testing.assert_array_equal(states(sensors[BACK], ["x", "y"], [CHANNELS[i] for i in BACK]), expected)
    with pytest.raises(
        MisuseError, match=r"sensors must name its coordinates as elements\.coordinates does, not no 'y'"
    ):
        states(sensors, ["x", "z"])


def test_a_formula_takes_coordinates_by_their_names(write):
    elements = "id,region,x,y\n" + "".join(f"{name},r,{4 + i},{7 - i}\n" for i, name in enumerate(IDS))

    def states(places):
        response = f'response = {{ kind = "formula", formula = "1 / (t + x + 2 * y)", places = "{places}", axis = {{ '
        text = f'coordinates = ["x", "y"]\n{response} from = 1, to = 2, count = 6 }} }}'
        return assemble(
            load_project(write(('responses = "responses.csv"', text), elements=elements))
        ).bank.states.elements

    np.testing.assert_array_equal(states("y x"), states("x y"))
    with pytest.raises(MisuseError, match=r"elements\.response: places must name the coordinates x, y, or have names"):
        states("z x")
    with pytest.raises(MisuseError, match=r"elements\.response: formula must have no other names"):
        states("x z")


def test_rows_that_arrive_under_a_header_are_matched_to_the_channels(write, tmp_path):
    known = (
        ('law = "gaussian"\nnoise = 0.0004', 'law = "mean"\nnoise = 0.0004\nproposal = 0.5'),
        ("[regions.r]", "[regions.r]\nstrength = 9.0"),
    )
    rows = ROW + 0.02 * RNG.normal(size=(8, 6))
    path = write(*known, row=(rows, CHANNELS))

    def watched(values, names):
        table(tmp_path / "more.csv", values, names)
        return CliRunner().invoke(app, ["watch", str(tmp_path / "more.csv"), "--project", str(path)])

    for done in (watched(rows, CHANNELS), watched(rows[:, ::-1], CHANNELS[::-1])):
        assert "r FINE e4" in done.stdout, done.output
    done = watched(rows, [*CHANNELS[:5], "x"])
    assert "must name its channels as the project does, not no 'c5' and the unknown 'x'" in str(done.exception)


@pytest.mark.parametrize("is_moved", [False, True])
def test_signals_of_a_map_are_matched_to_the_channels(write, tmp_path, is_moved):
    """And the rows of one of them, which stay beside its report, keep the names that they need."""
    responses = (RESPONSES[BACK], IDS, [CHANNELS[i] for i in BACK]) if is_moved else (RESPONSES, IDS, CHANNELS)
    path = write(("noise = 0.0004\n", ""), responses=responses)
    with h5py.File(tmp_path / "image.h5", "w") as file:
        file["image"] = np.tile(ROW[0, ::-1], (2, 3, 1))
        for axis, (name, places) in enumerate((("line", [0, 1]), ("sample", [0, 1, 2]), ("sensor", CHANNELS[::-1]))):
            file[name] = places
            file[name].make_scale()
            file["image"].dims[axis].attach_scale(file[name])
    command = ["map", str(path), "--signals", str(tmp_path / "image.h5"), "--out", str(tmp_path / "map")]
    done = CliRunner().invoke(app, [*command, "--quiet"])
    assert done.exit_code == 0, done.output
    assert np.unique(np.load(tmp_path / "map" / "map.npz")["best"]).tolist() == [4]
    done = CliRunner().invoke(app, [*command, "--signal", "1,2"])
    assert (done.exit_code, "e4" in done.stdout) == (0, True), done.output


# Inputs that contradict each other.

SPECTRUM = """#FORMAT : EMSA/MAS Spectral Data File
#NPOINTS : 6
#XUNITS : keV
#YUNITS : counts
#DATATYPE : Y
#XPERCHAN : 0.5
#OFFSET : 10
#SPECTRUM :
{}
#ENDOFDATA :
"""


@pytest.mark.parametrize(
    ("header", "places", "unit", "told"),
    [
        ("energy", [10.0, 10.5, 11.0, 11.5, 12.0, 12.5], "keV", None),
        ("energy", [10000, 10500, 11000, 11500, 12000, 12500], "eV", None),
        ("energy", [10.0, 10.5, 11.0, 11.5, 12.0, 12.5], "eV", r"at 10 keV, as in data\.deployment\.file, not 10 eV"),
        ("energy", [10000, 10500, 11000, 11500, 12000, 12500], "", "not 10000. Give the units of both"),
        ("energy", [10000, 10500, 11000, 11500, 12000, 12500], "keV", "at 10 keV, as in .*, not 10000 keV"),
        ("energy", [10.0, 10.5, 11.0, 11.5, 12.0, 12.5], "nm", "channels in the unit keV, as in .*, not nm"),
        ("keV", [10.0, 10.5, 11.0, 11.5, 12.0, 12.5], "", None),
        ("eV", [10.0, 10.5, 11.0, 11.5, 12.0, 12.5], "keV", r"axis_unit must be eV, as axis\.csv states, not 'keV'"),
    ],
)
def test_an_axis_is_where_the_spectrum_says_that_its_channels_are(write, tmp_path, header, places, unit, told):
    (tmp_path / "row.msa").write_text(SPECTRUM.format("\n".join(map(repr, ROW[0].tolist()))))
    table(tmp_path / "axis.csv", np.array(places)[:, None], [header])
    path = write(
        ('file = "row.csv"\nchannels = "columns"', 'file = "row.msa"\nchannels = "channels"'),
        ('"responses.csv"\n', f'"responses.csv"\naxis = "axis.csv"\naxis_unit = "{unit}"\n'),
        responses=(RESPONSES, IDS),
    )
    if told is None:
        assemble(load_project(path))
    else:
        with pytest.raises(MisuseError, match=told):
            assemble(load_project(path))


@pytest.mark.parametrize(
    ("unit", "first", "is_fine"), [("keV", 10.0, True), ("eV", 10000.0, True), ("eV", 10.0, False)]
)
def test_peaks_lie_on_the_axis_of_the_spectrum(write, tmp_path, unit, first, is_fine):
    (tmp_path / "row.msa").write_text(SPECTRUM.format("\n".join(map(repr, ROW[0].tolist()))))
    elements = "id,region,x\n" + "".join(f"{name},r,{first * (1 + 0.04 * i)}\n" for i, name in enumerate(IDS))
    axis = f"{{ from = {first * 1.25}, to = {first}, count = 6 }}"  # the other way round, which numbers tell
    peak = f'coordinates = ["x"]\nunit = "{unit}"\nresponse = {{ kind = "peak", axis = {axis}, width = {first / 20} }}'
    path = write(
        ('file = "row.csv"\nchannels = "columns"', 'file = "row.msa"\nchannels = "channels"'),
        ('responses = "responses.csv"', peak),
        elements=elements,
    )
    if not is_fine:
        with pytest.raises(
            MisuseError, match=r"response\.axis must have one of its channels at 10 keV, as in .*, not 10 eV"
        ):
            assemble(load_project(path))
    else:
        largest = assemble(load_project(path)).bank.states.elements.argmax(axis=0)
        assert (np.diff(largest) >= 0).all()
        assert largest[0] == 0


def test_rows_in_millivolts_beside_rows_in_volts_are_refused(write, tmp_path):
    table(tmp_path / "calibration.csv", RNG.normal(size=(40, 8)), [*CHANNELS, "r", "s"])
    elements = "id,region\n" + "".join(f"{name},{'rs'[i % 2]}\n" for i, name in enumerate(IDS))

    def run(calibration, deployment):
        coded = CODED[0][0], CALIBRATION.replace("noise = 1.0", f'noise = 1.0\nunit = "{calibration}"')
        units = ('file = "row.csv"', f'file = "row.csv"\nunit = "{deployment}"')
        return run_project(load_project(write(coded, *CODED[1:], units, row=(RNG.normal(size=(40, 6)), CHANNELS),
                                              elements=elements)))  # fmt: skip

    run("V", "volts")
    with pytest.raises(
        MisuseError, match=r"unit of deployment must be mV, as that of calibration, not V\. Bring both to one"
    ):
        run("mV", "V")


def test_a_unit_of_the_project_that_its_file_contradicts_is_refused(write, tmp_path, refused):
    with h5py.File(tmp_path / "row.h5", "w") as file:
        file["row"] = ROW
        file["row"].attrs["units"] = "mV"
    data = ('file = "row.csv"\nchannels = "columns"', 'file = "row.h5"\nchannels = 1\nunit = "V"')
    assert "must have the unit mV, which it states itself, not 'V'" in refused(write(data))


@pytest.mark.parametrize(("unit", "is_fine"), [("uV^2", True), ("V^2", False), ("uV", True), ("mV", False)])
def test_a_noise_in_another_unit_than_the_rows_is_refused(write, tmp_path, unit, is_fine):
    with h5py.File(tmp_path / "noise.h5", "w") as file:
        file["noise"] = COVARIANCE
        file["noise"].attrs["units"] = unit
    path = write(("noise = 0.0004", 'noise = { covariance = "noise.h5" }\nunit = "uV"'))
    if is_fine:
        covariance(path)
    else:
        with pytest.raises(MisuseError, match=r"covariance must be in the unit uV of data\.deployment, not m?V"):
            covariance(path)


@pytest.mark.parametrize("change", [lambda rows: rows, lambda rows: rows[::-1], lambda rows: rows[:30]])
def test_rows_that_calibrate_cannot_be_asked_about(write, tmp_path, refused, change):
    """The same rows in a file of another name: its content tells."""
    rows = RNG.normal(size=(40, 6))
    elements = "id,region\n" + "".join(f"{name},{'rs'[i % 2]}\n" for i, name in enumerate(IDS))
    np.save(tmp_path / "codes.npy", RNG.normal(size=(len(change(rows)), 2)))
    apart = ('law = "known codes"', 'law = "known codes"\ncodes = "codes.npy"')
    path = write(*CODED, apart, row=(rows, CHANNELS), elements=elements)
    table(tmp_path / "calibration.csv", change(rows), CHANNELS)
    assert "deployment (row.csv) must have other rows than calibration, but they are the same" in refused(path)
    table(tmp_path / "calibration.csv", RNG.normal(size=change(rows).shape), CHANNELS)
    run_project(load_project(path))  # a control


def test_one_file_for_both_streams_is_refused_before_anything_is_read_of_it(write, tmp_path):
    elements = "id,region\n" + "".join(f"{name},{'rs'[i % 2]}\n" for i, name in enumerate(IDS))
    np.save(tmp_path / "codes.npy", RNG.normal(size=(40, 2)))
    apart = ('law = "known codes"', 'law = "known codes"\ncodes = "codes.npy"')
    (tmp_path / "calibration.csv").symlink_to("row.csv")
    path = write(*CODED, apart, row=(RNG.normal(size=(40, 6)), CHANNELS), elements=elements)
    with pytest.raises(
        MisuseError, match=r"calibration\.file must have other rows than data\.deployment, but it is the same file"
    ):
        assemble(load_project(path))
    noise = ("noise = 0.0004", 'noise = { rows = "row.csv" }')
    with pytest.raises(
        MisuseError, match=r"noise\.rows must have other rows than data\.deployment, but it is the same file"
    ):
        assemble(load_project(write(noise, row=(RNG.normal(size=(200, 6)), CHANNELS))))


@pytest.mark.parametrize("twin", ["\u04351", "e1\u200b", "\uff451"])
def test_ids_that_look_alike_are_refused(write, refused, twin):
    elements = "id,region\n" + "".join(f"{name},r\n" for name in [*IDS[:5], twin])
    assert "have names that look different, not 'e1' and" in refused(write(elements=elements, responses=(RESPONSES,)))
