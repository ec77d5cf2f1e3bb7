"""Files of instruments, written here byte by byte from the descriptions of their formats."""

import struct
from contextlib import suppress
from time import perf_counter

import numpy as np
import pytest

from physupport import MisuseError
from physupport.io import read_table
from physupport.io._frames import open_image

COUNTS = [0, 3, 12, 40, 11, 2]


def read(path, **options):
    return read_table(path, **{"channels": "channels", "label": "deployment"} | options)


def refusal(path, content, **options):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(MisuseError) as caught:
        read(path, **options)
    return str(caught.value)


IAEA = """$SPEC_ID:
Gr\u00fcn
$MEAS_TIM:
10 11
$DATA:
4 9
{counts}
$ENER_FIT:
1.0 0.5
{more}"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_gamma_spectrum_is_a_row_of_counts_at_its_energies(tmp_path, newline):
    path = tmp_path / "a.Spe"
    text = IAEA.format(counts="0. 3. 12.\n40. 11. 2.", more="$MCA_CAL:\n3\n1.0 0.25 0.5 keV\n")
    path.write_bytes(text.replace("\n", newline).encode("latin-1"))
    table = read(path)
    np.testing.assert_array_equal(table.values, [COUNTS])
    assert table.channels == ("10 keV", "14.75 keV", "20.5 keV", "27.25 keV", "35 keV", "43.75 keV")
    assert table.source.unit == "counts"

    path.write_bytes(IAEA.format(counts=" ".join(map(str, COUNTS)), more="").encode("latin-1"))
    assert read(path).channels == ("3 keV", "3.5 keV", "4 keV", "4.5 keV", "5 keV", "5.5 keV")
    path.write_bytes(IAEA.replace("1.0 0.5", "0.0 0.0").format(counts=" ".join(map(str, COUNTS)), more="").encode())
    assert read(path).channels == ("4", "5", "6", "7", "8", "9")


def test_a_gamma_spectrum_that_is_not_whole(tmp_path):
    path = tmp_path / "a.spe"
    assert "counts of channels 4 to 9, not 2 of them" in refusal(path, IAEA.format(counts="1 2", more=""))
    assert "but 'DATA' appears more than once" in refusal(path, IAEA.format(counts="1 2", more="$DATA:\n0 0\n1\n"))
    assert "numbers in a section DATA, but it has the sections SPEC_ID" in refusal(path, "$SPEC_ID:\nname\n")
    assert "hold finite numbers, not 'many' in channel 0" in refusal(path, IAEA.format(counts="many", more=""))
    assert refusal(path, "$DATA:\n0\n").startswith(f"deployment {path} must be a sound .spe file")


def camera(frames, strips=1, version=2.5, footer=0, kind=3):
    header = bytearray(4100)
    struct.pack_into("<H", header, 42, np.shape(frames)[-1])
    struct.pack_into("<h", header, 108, kind)
    struct.pack_into("<H", header, 656, strips)
    struct.pack_into("<Q", header, 678, footer)
    struct.pack_into("<i", header, 1446, len(frames) // strips)
    struct.pack_into("<f", header, 1992, version)
    return bytes(header) + np.asarray(frames, {0: "<f4", 3: "<u2"}[kind]).tobytes()


def test_every_strip_of_a_camera_is_a_row(tmp_path):
    path, frames = tmp_path / "a.spe", np.arange(24).reshape(4, 6)
    path.write_bytes(camera(frames, strips=2))
    np.testing.assert_array_equal(read(path).values, frames)
    path.write_bytes(camera(frames / 7, kind=0, version=3.0, footer=4100 + 96) + b"<SpeFormat/>")
    np.testing.assert_array_equal(read(path).values, (frames / 7).astype("f4"))
    assert read(path).channels == tuple("012345")


def test_frames_of_another_size_than_the_header_names(tmp_path):
    path, whole = tmp_path / "a.spe", camera(np.ones((4, 6)))
    assert "hold the 4 x 6 numbers of 2 bytes that its header names, but it has 46 bytes" in refusal(path, whole[:-2])
    assert "but it has 50 bytes" in refusal(path, whole + b"--")
    assert "not the number type 77" in refusal(path, whole[:108] + b"\x4d\x00" + whole[110:])
    assert "not 100 bytes" in refusal(path, bytes(100))


AMPTEK = """<<PMCA SPECTRUM>>
TAG - live_data\xb0
LIVE_TIME - 12.5
<<CALIBRATION>>
LABEL - keV
1 2.0
5 4.0
<<DATA>>
{counts}
{end}
<<DP5 CONFIGURATION>>
RESC=Y;
"""


def test_counts_of_amptek(tmp_path):
    path, lines = tmp_path / "a.mca", "\n".join(map(str, COUNTS))
    path.write_bytes(AMPTEK.format(counts=lines, end="<<END>>").encode("latin-1"))
    table = read(path)
    np.testing.assert_array_equal(table.values, [COUNTS])
    assert table.channels == ("1.5 keV", "2 keV", "2.5 keV", "3 keV", "3.5 keV", "4 keV")
    path.write_text("<<PMCA SPECTRUM>>\n<<DATA>>\n1\n2\n<<END>>\n")
    assert read(path).channels == ("0", "1")
    path.write_text(lines)  # the column that PyMca writes
    np.testing.assert_array_equal(read(path).values, [COUNTS])

    assert "'<<DATA'" in refusal(path, "<<DATA\n1\n2\n")
    assert "sections none" in refusal(path, "\n")
    assert "close its data by <<END>>" in refusal(path, AMPTEK.format(counts=lines, end=""))
    assert "sections PMCA SPECTRUM, END" in refusal(path, "<<PMCA SPECTRUM>>\n<<END>>\n")
    assert "'1,5'" in refusal(path, AMPTEK.format(counts="1,5", end="<<END>>"))


EMSA = """#FORMAT      : EMSA/MAS Spectral Data File
#VERSION     : 1.0
#NPOINTS     : {points}
#NCOLUMNS    : 2.
#XUNITS      : keV
#YUNITS      : counts
#DATATYPE    : {kind}
#XPERCHAN    : 0.5
#OFFSET      : -1.0
#SPECTRUM    : Spectral data starts here
{data}
#ENDOFDATA   :
"""


@pytest.mark.parametrize("ending", ["msa", "emsa"])
def test_spectra_of_electron_microscopes(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_text(EMSA.format(points="3.", kind="Y", data="1., 2.5,\n4.,"))
    table = read(path)
    np.testing.assert_array_equal(table.values, [[1.0, 2.5, 4.0]])
    assert (table.channels, table.source.unit) == (("-1 keV", "-0.5 keV", "0 keV"), "counts")
    path.write_text(EMSA.format(points=1, kind="XY", data="7.25, 3.\n8, 4."))  # whole, as its end says
    assert read(path).channels == ("7.25 keV", "8 keV")
    np.testing.assert_array_equal(read(path).values, [[3.0, 4.0]])

    assert "hold the 4 points that its header names, not 2 numbers" in refusal(
        path, EMSA.format(points=4, kind="Y", data="1, 2")
    )
    assert "lacks its #FORMAT" in refusal(path, "#FORMAT : EMSA/MAS\n1, 2\n")
    assert "#NPOINTS or #SPECTRUM" in refusal(
        path, EMSA.replace("#NPOINTS ", "#POINTS ").format(points=1, kind="Y", data=1)
    )


def header(**keys):
    usual = {"samples": 4, "lines": 3, "bands": 2, "data type": 2, "interleave": "bsq", "byte order": 0}
    keys = usual | {key.replace("_", " "): value for key, value in keys.items()}
    return "ENVI\ndescription = {\n  any = text,\n  here }\n" + "".join(f"{k} = {v}\n" for k, v in keys.items())


CUBE = np.arange(24).reshape(3, 4, 2) - 5  # lines, samples, bands


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("interleave", ["bsq", "bil", "bip"])
def test_every_pixel_of_an_image_is_a_row_whatever_lies_beside_what(tmp_path, interleave, order):
    (tmp_path / "a.hdr").write_text(
        header(interleave=interleave, byte_order=int(order == ">"), header_offset=3)
        + "wavelength = { 0.5,\n 0.75 }\nwavelength units = Micrometers\n"
    )
    axes = {"bsq": (2, 0, 1), "bil": (0, 2, 1), "bip": (0, 1, 2)}[interleave]
    (tmp_path / "a.img").write_bytes(b"abc" + CUBE.transpose(axes).astype(f"{order}i2").tobytes())
    table = read(tmp_path / "a.hdr", channels="bands")
    np.testing.assert_array_equal(table.values, CUBE.reshape(12, 2))
    assert table.channels == ("0.5 Micrometers", "0.75 Micrometers")


def test_a_library_of_spectra_has_their_names_and_leaves_out_bad_bands(tmp_path):
    values = np.arange(12).reshape(3, 4)
    (tmp_path / "a.sli").write_bytes(values.astype("<f4").tobytes())
    library = {"file_type": "ENVI Spectral Library", "data_type": 4, "bands": 1}
    (tmp_path / "a.sli.hdr").write_text(header(**library, spectra_names="{tar, sand , clay}"))
    for name in ("a.sli", "a.sli.hdr"):
        np.testing.assert_array_equal(read(tmp_path / name).values, values)
        assert read(tmp_path / name, channels="spectra").channels == ("tar", "sand", "clay")

    more = {"bbl": "{1, 0, 1, 1}", "wavelength": "{1, 2, 3, 4}", "reflectance_scale_factor": 2}
    (tmp_path / "a.sli.hdr").write_text(header(**library, **more))
    table = read(tmp_path / "a.sli")
    np.testing.assert_array_equal(table.values, values[:, [0, 2, 3]] / 2)
    assert table.channels == ("1", "3", "4")


def test_an_image_that_its_header_does_not_describe(tmp_path):
    path, numbers = tmp_path / "a.hdr", tmp_path / "a.dat"
    assert "have the numbers beside it, under the same name" in refusal(path, header())
    numbers.write_bytes(CUBE.astype("<i2").tobytes())
    assert "hold the 2 x 3 x 5 numbers of 2 bytes that its header names, but it has 48" in refusal(
        path, header(samples=5)
    )
    assert "entries of -5, which its header calls missing" in refusal(path, header(data_ignore_value=-5))
    assert "'ENVY'" in refusal(path, header().replace("ENVI", "ENVY", 1))
    assert "a whole number as 'bands' in its header, not none" in refusal(path, header().replace("bands", "band"))
    assert "14, 15 in its header, not 77" in refusal(path, header(data_type=77))
    assert "one of bsq, bil, bip in its header, not bsp" in refusal(path, header(interleave="bsp"))
    assert "not a compressed file" in refusal(path, header(file_compression=1))
    assert "a whole number as 'samples' in its header, not -4" in refusal(path, header(samples=-4, lines=-3))
    assert "have the header .hdr beside it" in refusal(tmp_path / "b.sli", b"1234")


def test_gains_and_offsets_of_a_header_are_applied(tmp_path):
    path = tmp_path / "a.hdr"
    (tmp_path / "a.img").write_bytes(CUBE.transpose(2, 0, 1).astype("<i2").tobytes())
    expected = CUBE * [2.0, 0.5] + [1.0, -3.0]
    path.write_text(header(data_gain_values="{2, 0.5}", data_offset_values="{1, -3}"))
    np.testing.assert_array_equal(read(path, channels="bands").values, expected.reshape(12, 2))
    np.testing.assert_array_equal(open_image("image", path)[:], expected)
    path.write_text(header(data_gain_values="{2, 0.5}", data_offset_values="{1, -3}", bbl="{0, 1}"))
    np.testing.assert_array_equal(read(path, channels="bands").values, expected.reshape(12, 2)[:, 1:])
    np.testing.assert_array_equal(open_image("image", path)[:], expected[..., 1:])
    path.write_text(header(data_gain_values="{1, 1}", data_reflectance_gain_values="{1.0, 1}"))
    assert read(path, channels="bands").values.dtype == np.int16  # nothing to apply

    assert "2 entries of 'data gain values' in its header, not 1" in refusal(path, header(data_gain_values="{2}"))
    both = header(data_offset_values="{1, 1}", reflectance_scale_factor=100)
    assert "gains and offsets, or a reflectance scale factor, in its header, not both" in refusal(path, both)
    other = header(data_reflectance_gain_values="{1, 2}")
    assert "no 'data reflectance gain values' in its header, which are not applied here, not {1, 2}" in refusal(
        path, other
    )


def test_a_header_that_contradicts_itself_is_refused(tmp_path):
    path = tmp_path / "a.hdr"
    (tmp_path / "a.img").write_bytes(CUBE.transpose(2, 0, 1).astype("<i2").tobytes())
    for key in ("wavelength", "bbl", "band_names"):
        told = f"have 2 entries of {key.replace('_', ' ')!r} in its header, not 3"
        assert told in refusal(path, header(**{key: "{1, 2, 3}"}))
    assert "have one 'lines' in its header, but it has 3 and 4" in refusal(path, header() + "lines = 4\n")
    assert "close the braces of 'wavelength' in its header" in refusal(path, header() + "wavelength = {1,\n2\n")
    path.write_text(header(band_names="{ red, near infrared }") + "description = {again}\n")
    assert read(path, channels="bands").channels == ("red", "near infrared")


@pytest.mark.parametrize("text", ["a = {\n" * 200_000, "x" + " " * 200_000 + "\n", "a = b = c\n" * 200_000])
def test_a_header_takes_time_by_its_length_and_not_by_the_square_of_it(tmp_path, text):
    path = tmp_path / "a.hdr"
    (tmp_path / "a.img").write_bytes(CUBE.transpose(2, 0, 1).astype("<i2").tobytes())
    path.write_text(header() + text)
    start = perf_counter()
    with suppress(MisuseError):
        read(path)
    assert perf_counter() - start < 5.0  # a tenth of a second here; by the square it would be minutes


def wav(samples, bits=16):
    data = np.asarray(samples, "<i2").tobytes()
    channels = np.shape(samples)[1]
    form = struct.pack("<HHIIHH", 1, channels, 8000, 8000 * channels * 2, channels * 2, bits)
    body = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def test_samples_of_sound_are_rows(tmp_path):
    path, samples = tmp_path / "a.wav", np.array([[1, -2], [300, 4], [5, -600]])
    path.write_bytes(wav(samples))
    np.testing.assert_array_equal(read(path).values, samples)
    path.write_bytes(wav(samples[:, :1]))
    np.testing.assert_array_equal(read(path).values, samples[:, :1])
    assert refusal(path, wav(samples)[:-4]).startswith(f"deployment {path} must be a sound .wav file")
    assert "must be a sound .wav file" in refusal(path, b"RIFX" + bytes(40))
    assert "be read without a member" in refusal(path, wav(samples), member="left")
