"""The program starts at once, answers plainly, and tells misuse from faults by its exit code."""

import contextlib
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from physupport import MisuseError
from physupport._version import __version__
from physupport.cli import app
from physupport.project import check_size, load_project

HEAVY = ["numpy", "scipy", "numba", "matplotlib", "pydantic", "jinja2"]


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60)


def program(*arguments, setup=""):
    """The installed entry point, with its name and arguments as a shell would give them."""
    shell = f"import sys\nsys.argv = ['physupport', *{list(arguments)!r}]"
    return run("-c", f"{shell}\nfrom physupport.__main__ import main\nfrom physupport.cli import app\n{setup}\nmain()")


def loaded_after(statement):
    names = f"[name for name in {HEAVY!r} if name in sys.modules]"
    answer = run("-c", f"import sys\n{statement}\nprint(*{names})")
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()[-1].split()


def test_version_is_printed():
    assert program("--version").stdout == f"physupport {__version__}\n"


def test_help_shows_the_usage():
    answer = program("--help")
    assert answer.returncode == 0
    assert "Usage: physupport" in answer.stdout


@pytest.mark.parametrize(
    "statement", ["import physupport", "import physupport.cli", "import physupport; physupport.__version__"]
)
def test_starting_loads_nothing_heavy(statement):
    assert loaded_after(statement) == []


def test_negative_control_the_same_look_sees_what_geometry_loads():
    assert "numpy" in loaded_after("from physupport.local.shell import Shell")


def test_help_of_the_program_loads_nothing_heavy():
    shown = "from physupport.cli import app\napp(['--help'], standalone_mode=False)"
    assert loaded_after(shown) == []


# Presses Ctrl-C where a module is looked for.
INTERRUPTING = """
import signal, sys

class Interrupting:
    def find_spec(name, path=None, target=None):
        if name == {name!r}:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting)
sys.argv = ["physupport", "run", {path!r}]
from physupport.__main__ import main
main()
"""


@pytest.mark.parametrize("name", ["typer", "numpy.linalg"])
def test_ctrl_c_while_modules_are_loaded_is_silent(tmp_path, name):
    assert CliRunner().invoke(app, ["init", str(tmp_path / "example")]).exit_code == 0
    answer = run("-c", INTERRUPTING.format(name=name, path=str(tmp_path / "example")))
    assert (answer.returncode, answer.stdout, answer.stderr) == (-signal.SIGINT, "", "")  # 130 in a shell


def test_ctrl_c_while_a_run_loads_its_kernels_says_that_nothing_was_written(tmp_path):
    assert CliRunner().invoke(app, ["init", str(tmp_path / "example")]).exit_code == 0
    answer = run("-c", INTERRUPTING.format(name="numba", path=str(tmp_path / "example")))
    assert (answer.returncode, answer.stdout) == (130, "")
    assert answer.stderr == "Stopped before there was anything to report; nothing was written.\n"
    assert not (tmp_path / "example" / "report").exists()


# What takes far longer to load than it takes to say that a bank is too large.
ENGINE = ["numba", "llvmlite", "jinja2", "matplotlib", "physupport.judges.rotation._kernels"]
# Forty regions that may be left out are 2^40 explanations.
HUGE = """
level = 0.05
[data.deployment]
file = "rows.npy"
channels = 1
{law}
[elements]
file = "elements.csv"
coordinates = ["x"]
response = {{ kind = "uniform linear array", n_sensors = 8, spacing = 0.5 }}
{regions}
"""
LAWS = {
    "mean": 'law = "mean"\nnoise = 0.5\nproposal = 0.5',
    "gaussian": 'law = "gaussian"\nrows = "same mean"',
    "poisson": 'law = "poisson"',
}
# Each of several commands in turn, and after each what it has loaded.
STARTED = """
import sys
from physupport.__main__ import main
for arguments in {commands!r}:
    sys.argv = ["physupport", *arguments]
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    print(code, *(name for name in {engine!r} if name in sys.modules))
"""


def started(*commands):
    """The lines that such a process writes: messages, and exit codes with what is loaded."""
    answer = run("-c", STARTED.format(commands=commands, engine=ENGINE))
    assert answer.returncode == 0, answer.stderr
    return answer.stderr.splitlines(), answer.stdout.splitlines()


@pytest.fixture
def huge(tmp_path):
    def written(law, count=40):
        folder = tmp_path / law
        folder.mkdir()
        regions = "".join(f'[regions.R{i}]\npresence = "optional"\n' for i in range(count))
        strength = "" if law in ("gaussian", "poisson") else "strength = 1.0\n"
        text = HUGE.format(law=LAWS[law], regions=regions.replace("\npresence", f"\n{strength}presence"))
        (folder / "project.toml").write_text(text)
        listed = "".join(f"r{i},R{i},0.5\n" for i in range(count))
        (folder / "elements.csv").write_text("id,region,x\n" + listed)
        np.save(folder / "rows.npy", np.ones((4, 8), dtype=complex))
        return str(folder)

    return written


COMMANDS = {
    "run": ["run"],
    "dry run": ["run", "--dry-run"],
    "map": ["map"],
    "watch": ["watch", "-", "--project"],
    "plan": ["plan", "--project"],
}


def test_a_bank_that_is_too_large_is_refused_before_anything_is_loaded_to_build_it(huge):
    """By every command with one law, and with every law by one command."""
    folders = {law: huge(law) for law in LAWS}
    commands = [[*command, folders["mean"]] for command in COMMANDS.values()]
    commands += [["run", folders["gaussian"]], ["run", folders["poisson"]]]
    messages, codes = started(*commands)
    assert codes == ["2"] * len(commands)  # and none of the modules
    assert len(messages) == len(commands)
    for message in messages:
        assert "must describe at most 200,000,000 explanations, not 1,099,511,627,776 or more" in message


# A second region beside that of the project of a cover: some 10^4 explanations.
SECOND = (
    ("snr = 8.1", "snr = 80.0"),
    ("proposal = 0.5\n", ""),  # as simulations need none, which only their judge knows
    ("[regions.line]", "[cover.box.B]\nx = [0.3, 0.7]\n\n[regions.B]\nstrength = 1.0\n\n[regions.line]"),
)
SOME = "strength = { between = [1e-3, 1e3] }"
# What is said -> changes of the file.
LARGE_COVERS = {
    "need at most 1048576 cells": [("snr = 80.0", "snr = 1e9")],
    "describe at most 200,000,000 explanations": [("snr = 80.0", "snr = 1e4")],
    "the range of the strength of 'B' must need at most 1048576 cells": [("strength = 1.0", SOME), ("0.25", "1e-9")],
    "explanations, not": [("strength = 1.0", SOME), ("strength = 1.0", SOME)],
}


@pytest.fixture
def cover(tmp_path, write_cover):
    def written(*changes, name="cover"):
        folder = tmp_path / name
        folder.mkdir()
        return str(write_cover(folder, np.ones((16, 20)), *changes).parent)

    return written


def cost(folder):
    """The time of the processor in seconds, and the memory in bytes, that the message takes."""
    project = load_project(Path(folder) / "project.toml")
    tracemalloc.start()
    try:
        start = time.process_time()
        with contextlib.suppress(MisuseError):
            check_size(project)
        return time.process_time() - start, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_cover_that_is_too_large_is_refused_before_anything_is_loaded_to_build_it(cover):
    folders = [cover(*SECOND, *changes, name=str(i)) for i, changes in enumerate(LARGE_COVERS.values())]
    messages, codes = started(*(["run", folder] for folder in folders))
    assert codes == ["2"] * len(folders)  # and none of the modules
    assert len(messages) == len(folders)
    for words, message, folder in zip(LARGE_COVERS, messages, folders, strict=True):
        assert words in message
        took, most = cost(folder)
        assert took < 1.0
        assert most < 100e6


def test_supports_of_a_cover_are_not_made_to_count_them(cover):
    """Twenty regions that may be left out are a million supports, which took over a second to make."""
    names = [f"R{i}" for i in range(20)]
    boxes = "".join(f"[cover.box.{name}]\nx = [0.3, 0.7]\n" for name in names)
    regions = "".join(f'[regions.{name}]\nstrength = 1.0\npresence = "optional"\n' for name in names)
    path = cover(("[cover.box.line]", f"{boxes}[cover.box.line]"), ("[regions.line]", f"{regions}[regions.line]"))
    took, _ = cost(path)
    assert took < 0.5


def test_cells_of_many_regions_are_counted_and_not_listed(cover):
    names = [f"R{i}" for i in range(20)]
    boxes = "".join(f"[cover.box.{name}]\nx = [0.3, 0.7]\n" for name in names)
    regions = "".join(f"[regions.{name}]\nstrength = 1.0\n" for name in names)
    snr = ("snr = 8.1", "snr = 2e4")  # nearly as many cells as a region may have
    path = cover(snr, ("[cover.box.line]", f"{boxes}[cover.box.line]"), ("[regions.line]", f"{regions}[regions.line]"))
    _, most = cost(path)
    assert most < 10e6
    assert "describe at most 200,000,000 explanations, not about 10^1" in program("run", path).stderr


def test_negative_control_a_bank_of_two_loads_the_engine(huge):
    _, lines = started(["run", "--dry-run", huge("mean", count=1)])
    code, *loaded = lines[-1].split()
    assert code == "0"
    assert {"numba", "llvmlite"} <= {*loaded}


def test_pictures_load_matplotlib_only_when_drawn():
    assert "matplotlib" not in loaded_after("import physupport.report.plots")


RAISES = "from physupport._errors import MisuseError\n@app.command()\ndef wrong():\n    raise {error}"


def test_an_argument_that_breaks_a_rule_ends_in_one_message_and_code_two():
    answer = program("wrong", setup=RAISES.format(error="MisuseError('alpha', 'lie below 1', 2)"))
    assert answer.returncode == 2
    assert answer.stderr == "physupport: alpha must lie below 1, not 2.\n"
    assert answer.stdout == ""


def test_an_unknown_option_ends_with_code_two():
    answer = program("--nonsense")
    assert answer.returncode == 2
    assert "nonsense" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_misuse_never_commands_the_terminal():
    answer = program("wrong", setup=RAISES.format(error="MisuseError('x', 'be plain', 'a\\x1b[2Jb')"))
    assert answer.stderr == "physupport: x must be plain, not a\\x1b[2Jb.\n"


PEAK = 'kind = "peak", axis = { from = 0, to = 1, count = 8 }, width = 0.15'


@pytest.fixture
def project(tmp_path, write_peaks):
    def written(response=PEAK):
        rows = np.random.default_rng(2).normal(size=(300, 8))
        return write_peaks(tmp_path, (PEAK, response), deployment=rows).parent

    return written


def test_the_number_of_workers_changes_no_byte_of_a_report(project):
    folder = project()
    alone = CliRunner().invoke(app, ["run", str(folder), "--workers", "1", "--json"])
    assert alone.exit_code == 0, alone.exception
    first = (folder / "report" / "report.json").read_bytes()
    # A process of its own: how many threads there may be is settled when the kernels are loaded.
    both = program("run", str(folder), "--workers", "2", "--json")
    assert both.returncode == 0, both.stderr
    assert (both.stdout, (folder / "report" / "report.json").read_bytes()) == (alone.stdout, first)


def test_a_trusted_function_that_fails_is_misuse_in_one_message(project):
    folder = project('function = "mine:peaks"')
    (folder / "mine.py").write_text("def peaks(places):\n    raise RuntimeError('no answer')\n")
    answer = program("run", str(folder), "--trust")
    assert answer.returncode == 2
    assert answer.stderr.startswith("physupport: project.toml: elements")
    assert answer.stderr.endswith("not RuntimeError: no answer.\n")
    assert answer.stderr.count("\n") == 1


def test_a_fault_of_the_program_ends_with_code_one_and_its_traceback():
    answer = program("wrong", setup=RAISES.format(error="RuntimeError('broken')"))
    assert answer.returncode == 1
    assert "Traceback" in answer.stderr
    assert answer.stderr.endswith("RuntimeError: broken\n")


def test_shells_complete_commands_and_the_names_of_examples():
    def completed(*words):
        env = {
            "_PHYSUPPORT_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        return CliRunner().invoke(app, env=env, prog_name="physupport").stdout.split()

    assert {"run", "init", "verify"} <= {*completed("physupport", "")}
    assert completed("physupport", "init", "--example", "s") == ["soil"]
