"""Files of spectrometers and images, each written by a program that is not ours, where there is one."""

from struct import pack

import numpy as np
import pytest
from scipy.io import netcdf_file

from physupport import MisuseError
from physupport.io import read_array, read_spectra, read_table
from physupport.maps import as_signals

AXIS = np.linspace(400.0, 800.0, 41)
VALUES = np.round(100.0 * np.exp(-0.5 * ((AXIS - 600.0) / 40.0) ** 2), 3)


def test_jcamp(tmp_path):
    jcamp = pytest.importorskip("jcamp")
    content = {
        "title": "line",
        "data type": "RAMAN SPECTRUM",
        "xunits": "1/CM",
        "yunits": "COUNTS",
        "x": AXIS,
        "y": VALUES,
    }
    jcamp.writefile(str(tmp_path / "line.jdx"), content, linewidth=75)
    (spectrum,) = read_spectra(tmp_path / "line.jdx")
    assert (spectrum.name, spectrum.axis_unit) == ("line", "cm-1")
    np.testing.assert_allclose(spectrum.places, AXIS)
    np.testing.assert_allclose(spectrum.values, VALUES, atol=2e-3)


@pytest.mark.parametrize(("written", "unit"), [("cm-1", "cm-1"), ("Wavelength (nm)", "nm"), ("M/Z", "")])
def test_the_unit_of_jcamp_may_be_written_as_people_do(tmp_path, written, unit):
    pytest.importorskip("jcamp")
    head = [
        "##TITLE=a",
        "##JCAMP-DX=4.24",
        "##DATA TYPE=INFRARED SPECTRUM",
        f"##XUNITS={written}",
        "##YUNITS=ABSORBANCE",
    ]
    places = ["##XFACTOR=1", "##YFACTOR=1", "##FIRSTX=400", "##LASTX=402", "##DELTAX=1", "##NPOINTS=3"]
    (tmp_path / "a.jdx").write_text("\n".join([*head, *places, "##XYDATA=(X++(Y..Y))", "400 1 2 3", "##END=", ""]))
    (spectrum,) = read_spectra(tmp_path / "a.jdx")
    assert spectrum.axis_unit == unit


def test_a_jcamp_file_without_a_spectrum_is_refused(tmp_path):
    pytest.importorskip("jcamp")
    (tmp_path / "peaks.jdx").write_text("##TITLE=none\n##JCAMP-DX=4.24\n##DATA TYPE=INFRARED SPECTRUM\n##END=\n")
    with pytest.raises(MisuseError, match="must hold whole spectra, as XYDATA or XYPOINTS"):
        read_spectra(tmp_path / "peaks.jdx")


def test_spc(tmp_path):
    spc_io = pytest.importorskip("spc_io")
    held = spc_io.SPC(xarray=AXIS)
    held.add_subfile(yarray=VALUES)
    content = bytearray(held.to_spc_raw().to_bytes())
    content[28] = 1  # wavenumbers, which the package leaves out
    (tmp_path / "line.spc").write_bytes(content)
    (spectrum,) = read_spectra(tmp_path / "line.spc")
    assert spectrum.axis_unit == "cm-1"
    np.testing.assert_allclose(spectrum.places, AXIS)
    np.testing.assert_allclose(spectrum.values, VALUES, rtol=1e-6)


def wdf(rows, axis, shape=None):
    """A file of WiRE by the published layout of its blocks."""

    def block(kind, content, head=16):
        return kind + pack("<IQ", 0, head + len(content)) + content

    header = bytearray(512)
    header[:16] = b"WDF1" + pack("<IQ", 1, 512)
    header[60:96] = pack("<iqqiiii", len(axis), len(rows), len(rows), 1, 1, len(axis), 0)
    content = bytes(header) + block(b"DATA", np.asarray(rows, "<f4").tobytes())
    content += block(b"XLST", pack("<ii", 1, 1) + np.asarray(axis, "<f4").tobytes())
    if shape is not None:
        ny, nx = shape
        content += block(b"WMAP", pack("<ii6f4i", 0, 0, *[0.0] * 6, nx, ny, 1, 0))
    return content


def test_wdf(tmp_path):
    (tmp_path / "line.wdf").write_bytes(wdf([VALUES], AXIS[::1]))
    (spectrum,) = read_spectra(tmp_path / "line.wdf")
    assert spectrum.axis_unit == "cm-1"
    np.testing.assert_allclose(spectrum.values, VALUES, rtol=1e-6)
    image = np.arange(6.0)[:, None] + VALUES
    (tmp_path / "map.wdf").write_bytes(wdf(image, AXIS, (2, 3)))
    signals = as_signals(tmp_path / "map.wdf")
    assert (signals.shape, signals.bands[0]) == ((2, 3), "400 cm-1")
    np.testing.assert_allclose(signals.at((1, 2))[0], image[5], rtol=1e-6)
    (tmp_path / "end.wdf").write_bytes(wdf([VALUES], AXIS) + b"WXDA" + pack("<IQ", 0, 123) + b"cut off")
    np.testing.assert_array_equal(read_spectra(tmp_path / "end.wdf")[0].values, spectrum.values)
    (tmp_path / "cut.wdf").write_bytes(wdf([VALUES], AXIS)[:600])
    with pytest.raises(MisuseError, match="must hold the blocks WDF1, DATA and XLST, not WDF1"):
        read_spectra(tmp_path / "cut.wdf")


def test_a_tiff_has_its_bands_last_wherever_they_were(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    cube = np.random.default_rng(1).normal(size=(4, 5, 6)).astype(np.float32)
    tifffile.imwrite(tmp_path / "bands.tif", np.moveaxis(cube, -1, 0), photometric="minisblack")
    np.testing.assert_array_equal(read_array(tmp_path / "bands.tif"), cube)
    assert read_table(tmp_path / "bands.tif", label="deployment").values.shape == (20, 6)


def test_a_classic_netcdf_file_is_unpacked_and_names_its_bands(tmp_path):
    stored = np.arange(24, dtype=np.int16).reshape(4, 2, 3)
    with netcdf_file(tmp_path / "scene.nc", "w") as file:
        for name, length in zip(("band", "y", "x"), stored.shape, strict=True):
            file.createDimension(name, length)
        file.createVariable("band", "f8", ("band",))[:] = [450.0, 550.0, 650.0, 750.0]
        file.variables["band"].units = "nm"
        variable = file.createVariable("reflectance", "i2", ("band", "y", "x"))
        variable[:] = stored
        variable.scale_factor, variable.add_offset = 0.1, 1.0
    table = read_table(tmp_path / "scene.nc", channels="band", label="deployment")
    assert table.channels == ("450 nm", "550 nm", "650 nm", "750 nm")
    np.testing.assert_allclose(table.values, stored.reshape(4, -1).T * 0.1 + 1.0)
    signals = as_signals(tmp_path / "scene.nc", channels="band")
    assert (signals.shape, signals.axes, signals.bands[1]) == ((2, 3), ("y", "x"), "550 nm")
