"""From a project file to checked settings; its channels have one order and one unit for all inputs."""

import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from pydantic import ValidationError

from .._errors import Clause, MissingError, MisuseError, misuse_named, shown
from .._typing import Array, BoolArray, Field, IntArray
from ..io import Axis, files_read, is_numbering, order_of, place_of, same_unit
from ._region_sections import EVERY, Region
from ._schema import ProjectFile

if TYPE_CHECKING:
    from ._learnt import LearntProject

CHANNELS = "channels"


@final
@dataclass(slots=True, eq=False)
class Channels:
    """The order in which the first input that names its channels has them, filled as inputs are read.

    The deployment rows come first, so that these are never moved: all others are brought into their order.
    """

    names: tuple[str, ...] | None = None
    source: str = ""  # the key of that input
    unit: str = ""  # of the deployment rows
    unnamed: list[str] = field(default_factory=list)  # keys of inputs whose channels are only numbered
    moved: list[str] = field(default_factory=list)  # keys of inputs that have them in another order
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)  # names along the other axis of a stream
    sensors: tuple[str, ...] | None = None  # names of the channels of a recording
    places: Array | None = None  # (q,) of the channels on their axis, where a window or the background needs it
    window: BoolArray | None = None  # (q,) channels that are used; None if all are
    ends: tuple[tuple[float, float], ...] = ()  # of the window
    window_unit: str = ""
    hidden: dict[str, str] = field(default_factory=dict)  # elements without a line in the window, and their regions
    visible: dict[str, int] = field(default_factory=dict)  # elements of each region that have one, if there is a window
    bins: int = 1  # channels of the file that are summed up to one
    resolution: dict[str, object] | None = None  # facts of elements made of lines: how wide these and channels are

    def begin(self) -> None:
        """Forget what an earlier reading left."""
        self.names = None
        self.sensors = None
        self.source = ""
        self.unit = ""
        self.unnamed.clear()
        self.moved.clear()
        self.rows.clear()
        self.places = None
        self.window = None
        self.ends = ()
        self.hidden.clear()
        self.visible.clear()
        self.bins = 1
        self.resolution = None

    @property
    def window_facts(self) -> dict[str, object] | None:
        """The window as a protocol has it; None without one."""
        if self.window is None:
            return None
        facts = {"ends": [[*ends] for ends in self.ends], "unit": self.window_unit, "without_lines": [*self.hidden]}
        return facts | ({} if self.resolution is None else {"resolution": self.resolution})

    def total(self, n_channels: int) -> int:
        """The number of channels in the files, of which so many are used."""
        return n_channels if self.window is None else len(self.window)

    def cut(self, values: Field, *axes: int) -> Field:
        """The part of an array in the window; axes: those that run over the channels of the files."""
        if self.window is None:
            return values
        for axis in axes:
            values = np.compress(self.window, values, axis=axis)
        return values

    @property
    def axis(self) -> Axis:
        """The names so far."""
        return Axis(CHANNELS, self.names, self.source)

    @property
    def are_places(self) -> bool:
        """True if channels are named by numbers on an axis, such as 400 nm."""
        return self.names is not None and all(place_of(each) is not None for each in self.names)

    def order(self, name: str, key: str, given: Sequence[str] | None) -> IntArray | None:
        """(q,) where each channel stands in an input; None where that has no names.  name: for messages."""
        if given is None or is_numbering(given):
            self.unnamed.append(key)
            return None
        if self.names is None:
            self.names = tuple(given)
            self.source = key
        order = order_of(name, self.axis, given)
        if order is not None and not np.array_equal(order, np.arange(len(order))):
            self.moved.append(key)
        return order

    def check_unit(self, name: str, unit: str) -> None:
        """Refuse rows in another unit than those of the deployment."""
        if not same_unit(unit, self.unit):
            remedy = "Bring both to one unit: numbers are never converted."
            raise MisuseError(name, f"be in the unit {self.unit} of data.deployment", unit, remedy)

    def check_named(self, name: Callable[[str], str]) -> None:
        """Refuse an input whose channels are only numbered where named ones show that orders differ.

        name: what a key is called in messages.
        """
        if self.moved and self.unnamed:
            remedy = "Name its channels too, or bring all files into one order."
            rule = f"name its channels, which {self.source} and {self.moved[0]} have in different orders"
            raise MisuseError(name(self.unnamed[0]), rule, Clause("they have no names"), remedy)


# What pydantic calls a broken rule, and how we say it; what it knows of the rule is filled in.
_RULES = {
    "greater_than": "be above {gt:g}",
    "greater_than_equal": "be at least {ge:g}",
    "less_than": "be below {lt:g}",
    "less_than_equal": "be at most {le:g}",
    "finite_number": "be finite",
    "float_type": "be a number",
    "int_type": "be a whole number",
    "int_from_float": "be a whole number",
    "string_type": "be a text",
    "string_too_short": "be a text that is not empty",
    "list_type": "be a list",
    "tuple_type": "be a list",
    "dict_type": "be a table",
    "model_type": "be a table",
    "model_attributes_type": "be a table",
    "too_short": "hold at least one entry",
    "literal_error": "be {expected}",
    "string_pattern_mismatch": "be written module:function",
}


def misuse(details: Mapping[str, Any], name: Callable[[str], str]) -> MisuseError:
    """Convert an error of pydantic to one of ours.  name: key -> how it is called in messages."""
    key = _key(details["loc"])
    context = dict(details.get("ctx", {}))
    kind = details["type"]
    if kind == "rule":
        return MisuseError(name(_joined(key, context["key"])), context["rule"], context["value"], context["remedy"])
    if kind in ("missing", "needed"):
        return MissingError(name(_joined(key, context.get("key", ""))), "be given", "nothing")
    rule = _RULES.get(kind, f"keep a rule ({details['msg']})").format(**context)
    return MisuseError(name(key), rule, _shown(details["input"]))


def _joined(table: str, key: str) -> str:
    return ".".join(filter(None, (table, key)))


def _key(place: tuple[int | str, ...]) -> str:
    """The place of a value as keys joined by dots; branches of a choice, in <>, are no keys."""
    text = ""
    for part in place:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not part.startswith("<"):
            text += f".{part}" if text else part
    return text.replace("elements.kind.", "elements.")  # keys of a kind of list stand beside it


def _shown(value: object) -> str:
    text = shown(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


Entry: TypeAlias = dict[str, Any]

# Where a file has what a run may find fault with.
_RUN_KEYS = {
    "rows": "data.deployment.file",
    "exposure": "data.deployment.exposure",
    "split": "data.deployment.split",
    "snr": "cover.snr",
    "report": "output.folder",
} | {key: key for key in ("judge", "level", "budget", "draws", "statistic", "outsiders", "policy", "cover")}


@final
@dataclass(frozen=True, slots=True)
class Project:
    """A checked project file; the files that it names are not read yet.

    overridden: the keys whose values came from elsewhere than the file.  is_trusted: whether it may reach outside its
    folder and run a function.  read: filled as its files are read, other than those of rows, by key.  channels: what
    these and the rows say of the channels, likewise.  learnt: what the calibration rows of a learnt dictionary leave.
    """

    path: Path
    settings: ProjectFile
    overridden: frozenset[str] = frozenset()
    is_trusted: bool = False
    read: dict[str, Entry] = field(default_factory=dict, repr=False, compare=False)
    channels: Channels = field(default_factory=Channels, repr=False, compare=False)
    learnt: "LearntProject | None" = field(default=None, repr=False, compare=False)

    def name(self, key: str) -> str:
        """The name of a key in messages."""
        return _name(self.path, self.overridden, key)

    def misuse(self, key: str, rule: str, value: object, remedy: str = "") -> MisuseError:
        """The error of a key whose value breaks a rule."""
        return MisuseError(self.name(key), rule, value, remedy)

    def file(self, key: str, name: str) -> Path:
        """The path that a key names, relative to the project file; outside its folder only if the project is trusted.

        An override is the caller's own, and may lie anywhere; folders to write are then as seen from where one is.
        """
        is_own = key in self.overridden
        folder = _real(self.path.parent)
        path = Path(name) if is_own and key.startswith("output.") else self.path.parent / name
        leads = [_real(each) for each in files_read(path)]
        if not is_own and not self.is_trusted and not all(each.is_relative_to(folder) for each in leads):
            remedy = "It leads elsewhere: look at it, then run again with --trust."
            raise self.misuse(key, "stay in the folder of the project", repr(name), remedy)
        return path

    def named_run(self) -> AbstractContextManager[None]:
        """Put the file, and the key if one is to blame, before what an error says that its rows or its judge meet.

        An option of a command keeps its name.
        """

        def name(argument: str) -> str:
            first, *_ = (*argument.split(), "")
            if argument.startswith((self.path.name, "--")):
                return argument
            key = f"data.{first}.file" if first in ("calibration", "deployment") else _RUN_KEYS.get(argument, "")
            return self.name(key) if key.endswith(argument) else f"{self.name(key)}: {argument}"

        return misuse_named(name)

    @property
    def regions(self) -> dict[str, Region]:
        """The regions as the window shows them, once elements are read.

        A region is left out if no element of it has a line there.  If some have none, these may be what is active: the
        others may then be fewer than the file says, or none of them.
        """
        seen = {}
        for name, region in self.settings.regions.items():
            visible = self.channels.visible.get(name, 1)
            hidden = [*self.channels.hidden.values()].count(name)
            low, high = region.count
            if hidden and visible:
                count = (max(1, low - hidden), min(high, visible))
                seen[name] = region.model_copy(update={"presence": "optional", "count": count})
            elif visible:
                seen[name] = region
        return seen

    @property
    def folder(self) -> Path:
        """The folder of the report."""
        return self.file("output.folder", self.settings.output.folder)

    @property
    def map_folder(self) -> Path:
        """The folder of the map; as one that was begun is added to, no link in it may lead elsewhere either."""
        folder = self.file("output.map", self.settings.output.map)
        for link in (each for each in folder.rglob("*") if each.is_symlink()):
            self.file("output.map", str(Path(self.settings.output.map) / link.relative_to(folder)))
        return folder

    @property
    def title(self) -> str:
        """The title, or else the name of the folder of the project."""
        return self.settings.title or self.path.resolve().parent.name


def load_project(path: str | Path, overrides: Mapping[str, object] | None = None, *, trust: bool = False) -> Project:
    """Read a TOML file and check every key of it.

    overrides: values that replace those of the file, by key, such as {"level": 0.05, "output.folder": "again"}.
    trust: whether the project may name files outside its folder, also through links, and a function of the user's own,
    which is then imported and called.
    """
    path = Path(path)
    keys = dict(overrides or {})
    content = _read(path)
    for key, value in keys.items():
        _replace(content, key.split("."), value)
    try:
        settings = ProjectFile.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise misuse(dict(first), lambda key: _name(path, frozenset(keys), key)) from None
    project = Project(path, settings, frozenset(keys), trust)
    if settings.data.learnt is not None:
        from ._learnt import with_learnt_dictionary  # which reads the calibration rows

        return with_learnt_dictionary(project)
    asks = EVERY in settings.regions or any("column" in (region.groups or {}) for region in settings.regions.values())
    if not asks or not settings.elements.are_listed:
        return project
    from ._element_list import element_columns  # which reads files of a project
    from ._library import with_listed_regions

    return with_listed_regions(project, element_columns(replace(project, read={})))


def _replace(table: dict[str, Any], keys: list[str], value: object) -> None:
    """Set a value some tables deep; what is no table stays, for the checks to find."""
    if len(keys) == 1:
        table[keys[0]] = value
    elif isinstance(inner := table.setdefault(keys[0], {}), dict):
        _replace(inner, keys[1:], value)


def _name(path: Path, overridden: frozenset[str], key: str) -> str:
    if key in overridden:
        return f"override {key}"
    return f"{path.name}: {key}" if key else path.name


def _real(path: Path) -> Path:
    """Resolve a path; unlike the method of a path, links that go in circles are no fault."""
    return Path(os.path.realpath(path))


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise OSError(None, "a device or a pipe")
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        remedy = "`physupport init` writes an example." if isinstance(error, FileNotFoundError) else ""
        raise MisuseError(f"project {path}", "be a readable file", error.strerror, remedy) from None
    except UnicodeDecodeError:
        raise MisuseError(f"project {path}", "be UTF-8 text", "other bytes") from None
    except ValueError as error:  # a name that no file can have
        raise MisuseError("project", "be a readable file", Clause(f"{str(path)!a} is not ({error})")) from None
    try:
        # The parser takes time and memory by the square of the number of parts of a key.
        if any(word["long"] is not None for word in _WORD.finditer(text)):
            raise RecursionError
        return tomllib.loads(text)
    except ValueError as error:  # also of numbers with more digits than Python reads
        fault = str(error)
        raise MisuseError(path.name, "be TOML", fault[:1].lower() + fault[1:].rstrip(".")) from None
    except RecursionError:
        raise MisuseError(path.name, "be TOML that is not nested too deeply", "hundreds of levels") from None


# Up to here a file of such keys takes the parser no longer than one of its size with short ones.
_MOST_PARTS = 100
# Comments and texts of several lines, which may hold anything; parts of keys, in quotes or not, and the dots between.
_BETWEEN = r"#[^\n]*|\"{3}(?:[^\\]|\\.)*?(?:\"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)"
_PART = r"(?:[\w-]++|\"(?:[^\"\\\n]|\\.)*+\"?+|'[^'\n]*+'?+)"
_WORD = re.compile(rf"{_BETWEEN}|(?:{_PART}[ \t]*\.[ \t]*){{{_MOST_PARTS}}}(?P<long>)|{_PART}", re.DOTALL)


def named_by_key(project: Project, key: str) -> AbstractContextManager[None]:
    """Put file and key before what an error says; what names the file itself knows the key better."""
    file = project.name("")
    return misuse_named(lambda argument: argument if argument.startswith(file) else f"{project.name(key)}: {argument}")
