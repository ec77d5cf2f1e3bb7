"""The places that an evoked response leaves, and what mne and a reader can do with them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from .._errors import Clause, MisuseError
from .._files import write_whole
from .._typing import Array, IntArray
from ..analysis import Result
from ..judges import Verdict
from ..judges.rotation import ByRotation, Rotation, RotationJudge
from ..laws import Linear
from ..report import Report
from ._whitened import White

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MILLIMETRES = 1000.0
# Sines tried for the smallest error at which something fits.
_ERRORS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
_BEST = 20  # fits that are tried with each
_MOST_NAMED = 3


@final
@dataclass(frozen=True, slots=True)
class Place:
    """One source of the forward solution."""

    name: str  # such as `lh 2041`: space and vertex
    source: int  # its number in the forward solution
    position: tuple[float, float, float]  # millimetres, in the coordinates of the forward solution
    side: str  # left, right or middle
    label: str  # anatomical; empty where nobody names it

    def __str__(self) -> str:
        """Its place for a sentence."""
        where = ", ".join(f"{x:.0f}" for x in self.position)
        return f"({where}) mm" + (f" in {self.label}" if self.label else "")


class Setting(NamedTuple):
    """The objects that were analysed, and how."""

    info: Any
    forward: Mapping[str, Any]
    white: White
    chosen: IntArray  # sources that were looked at
    grid: Array  # (k,) sines of the error of the grid
    error: float
    counts: tuple[int, int]
    labels: tuple[Any, ...]
    time: str


@final
@dataclass(frozen=True, eq=False)
class Location:
    """A set of places with a guarantee: all that the data do not exclude; `print` says it in words.

    places: every source that is in some explanation that is kept.  sets: the explanations, each a tuple of places,
    the best fit first.
    """

    result: Result = field(repr=False)
    setting: Setting = field(repr=False)

    @property
    def report(self) -> Report:
        """The report, which `physupport verify` can check."""
        return self.result.report

    @cached_property
    def kept(self) -> IntArray:
        """(k,) explanations that are not rejected, the best fit first."""
        trace = self.result.trace
        kept = trace.queries[trace.verdicts.codes != Verdict.REJECTED]
        return np.asarray(kept[np.argsort(self._left[kept], kind="stable")])

    @cached_property
    def sets(self) -> tuple[tuple[Place, ...], ...]:
        """The explanations that are kept, the best fit first."""
        return tuple(tuple(self._place(i) for i in self._members(int(e))) for e in self.kept)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The distinct sources of these sets."""
        return tuple({place.source: place for each in self.sets for place in each}.values())

    @property
    def positions(self) -> Array:
        """(p, 3) millimetres."""
        return np.array([place.position for place in self.places]).reshape(-1, 3)

    @property
    def centre(self) -> tuple[float, float, float]:
        """The mean of the places in millimetres."""
        if not self.places:
            raise MisuseError(
                "centre", "be asked for where something is kept", Clause("nothing is kept"), self.sentence
            )
        x, y, z = self.positions.mean(axis=0)
        return float(x), float(y), float(z)

    @property
    def extent(self) -> float:
        """The largest distance between two places in millimetres."""
        apart = self.positions[:, None] - self.positions
        return float(np.linalg.norm(apart, axis=2).max(initial=0.0))

    @property
    def sentence(self) -> str:
        """Return the answer in plain words."""
        sure = f"with probability at least {100 * (1 - self.report.level):g} %"
        sources = self._sources_in_words()
        if self.report.status == "EMPTY":
            return f"Nothing fits: no place explains the response by {sources}. {self._what_would_fit()}"
        doubt = ""
        if self.report.status == "WITHHELD":
            doubt = (
                " But the residuals of the best fit are more than noise, so the model may lack something: "
                f"{self.report.doubt}"
            )
        if not self.places:
            return self.report.sentence
        if self.setting.counts[1] > 1:
            first = " and ".join(str(place) for place in self.sets[0])
            many = f"{len(self.sets)} combinations of {len(self.places)} places"
            told = f"There are {sources}. {many} are left; the best fit is {first}."
            return f"{told} The truth is among them {sure}.{doubt}"
        where = ", ".join(f"{x:.0f}" for x in self.centre)
        if len(self.places) == 1:
            return f"The source is at {self.places[0]} {sure}.{doubt}"
        many = f"{len(self.places)} places around ({where}) mm, at most {self.extent:.0f} mm apart"
        return f"The source is in one of {many}, {sure}.{self._sides()}{doubt}"

    def _sides(self) -> str:
        sides = [f"{sum(p.side == side for p in self.places)} {side}" for side in ("left", "right", "middle")]
        found = [each for each in sides if not each.startswith("0 ")]
        names = list(dict.fromkeys(place.label for place in self.places if place.label))
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        regions = f"; {', '.join(names[:_MOST_NAMED])}{more}" if names else ""
        return f" Of the head: {', '.join(found)}{regions}."

    def _sources_in_words(self) -> str:
        least, most = self.setting.counts
        number = f"{least}" if least == most else f"{least} to {most}"
        return "one source" if most == 1 else f"{number} sources at once"

    def _what_would_fit(self) -> str:
        error = self.smallest_error
        more = self.setting.counts[1] + 1
        others = f"several sources at once (count={more}), or noise that `noise_cov` does not describe"
        if error is None:
            return f"No error of the head model up to a sine of {_ERRORS[-1]} explains the data. Consider {others}."
        return (
            f"A place fits if the head model is wrong by a sine of {error:g} (error={error:g}). Otherwise "
            f"consider {others}."
        )

    @cached_property
    def smallest_error(self) -> float | None:
        """The smallest error of the head model, of a few that are tried, at which a place is kept; None if none is.

        A hint where nothing fits, without a guarantee.
        """
        if self.setting.white.freedom is not None:
            return None
        seal = self.result.seal
        bank = self.result.bank
        law = seal.parts[0].law
        assert isinstance(law, Linear)
        rows = self.setting.white.white_rows
        judge = seal.protocol.judge
        assert isinstance(judge, ByRotation)
        (rotation,) = judge.rotations(law.design(bank), len(rows), rows.shape[1], 0)
        best = np.argsort(self._left)[:_BEST]
        for error in _ERRORS:
            if error > self.setting.error:
                wide = self._widened(rotation, error)
                codes = RotationJudge(wide, rows, self.report.level).verdicts(best).codes
                if (codes != Verdict.REJECTED).any():
                    return error
        return None

    def _widened(self, rotation: Rotation, error: float) -> Rotation:
        own = np.zeros(rotation.table.size) if rotation.errors is None else rotation.errors
        return replace(rotation, errors=np.minimum(own + error - self.setting.error, 0.95))

    @property
    def assumptions(self) -> str:
        """The assumptions that the guarantee rests on, in words."""
        white = self.setting.white
        kinds = ", ".join(f"{white.kinds.count(kind)} {kind.upper()}" for kind in dict.fromkeys(white.kinds))
        told = [
            f"{kinds} channels, {len(white.whitener)} dimensions after projections and reference ({self.setting.time})"
        ]
        if white.left_out:
            told.append(f"left out as bad or missing: {', '.join(white.left_out)}")
        told.append(f"noise is Gaussian and {white.noise}")
        places = f"{len(self.setting.chosen)} of {self._n_sources} places were tested"
        total = self.setting.grid + self.setting.error
        if total.any():
            middle = float(np.median(self.setting.grid))
            between = (
                f"95 % of dipoles between them have the lead field of the nearest, to within a sine of {middle:.3f}"
            )
            model = f"the head model is right to within a sine of {self.setting.error:g}"
            told.append(f"{places}; {between}; {model}")
        else:
            told.append(f"{places}; the source is at one of these, and its lead field is exact")
        return "Assumed: " + ".\n  ".join(told) + "."

    def __str__(self) -> str:
        """The answer, and what it assumes."""
        return f"{self.sentence}\n{self.assumptions}"

    @property
    def _n_sources(self) -> int:
        return len(self.setting.forward["source_rr"])

    @cached_property
    def _columns(self) -> Array:
        """(r, s, v) white lead fields of all sources."""
        gains = self.setting.white.white_gains
        return gains.reshape(len(gains), self._n_sources, -1)

    @cached_property
    def _mean(self) -> Array:
        """(r,) the white mean of the rows."""
        return np.asarray(self.setting.white.white_rows.mean(axis=0))

    @cached_property
    def _left(self) -> Array:
        """(M,) what each explanation leaves of the mean."""
        parts = self.result.bank.deployment_parts(np.arange(self.result.bank.size)).elements
        left = np.empty(len(parts))
        for e, members in enumerate(parts):
            columns = self._columns[:, self.setting.chosen[members[members >= 0]]].reshape(len(self._mean), -1)
            basis = np.linalg.qr(columns)[0]
            left[e] = np.linalg.norm(self._mean - basis @ (basis.T @ self._mean))
        return left

    def _members(self, explanation: int) -> list[int]:
        """The sources of an explanation, by their numbers in the forward solution."""
        elements = self.result.bank.deployment_parts(np.array([explanation])).elements[0]
        return [int(self.setting.chosen[i]) for i in elements if i >= 0]

    def _moments(self, sources: list[int]) -> Array:
        """(k, v) moments of least squares in Am, along the directions of the forward solution."""
        columns = self._columns[:, sources].reshape(len(self._mean), -1)
        moments = np.linalg.lstsq(columns, self._mean, rcond=None)[0].reshape(len(sources), -1)
        return np.asarray(moments / self._scale)

    @property
    def _scale(self) -> float:
        """The factor by which rows were multiplied, so that their noise is that of single epochs."""
        white = self.setting.white
        raw = float(np.linalg.norm(white.rows.mean(axis=0)))
        return raw / float(np.linalg.norm(self.setting.white.measured)) if raw else 1.0

    def _place(self, source: int) -> Place:
        space, vertex = self._where[source]
        x, y, z = (float(value) for value in _MILLIMETRES * np.asarray(self.setting.forward["source_rr"])[source])
        of = self.setting.forward["src"][space]
        hemisphere = ("lh", "rh")[space] if space < 2 and of["type"] == "surf" else ""
        by_place = "left" if x < -1.0 else "right" if x > 1.0 else "middle"
        side = {"lh": "left", "rh": "right"}.get(hemisphere, by_place)
        label = str(of.get("seg_name") or "") or self._label(hemisphere, vertex)
        return Place(f"{hemisphere or 'source'} {vertex}", source, (x, y, z), side, label)

    def _label(self, hemisphere: str, vertex: int) -> str:
        found = (each.name for each in self.setting.labels if each.hemi == hemisphere and vertex in each.vertices)
        return next(found, "")

    @cached_property
    def _where(self) -> list[tuple[int, int]]:
        """(s,) the source space and the vertex of each source."""
        spaces = self.setting.forward["src"]
        return [(number, int(vertex)) for number, space in enumerate(spaces) for vertex in space["vertno"]]

    def evidence(self) -> Array:
        """(s,) of each source the largest p-value of the explanations that it is in, level and above where kept.

        Exact to the level at which it is judged: a source is kept if and only if its value is above the level.
        """
        values = np.zeros(self._n_sources)
        trace = self.result.trace
        level = self.report.level
        margins = trace.verdicts.lower
        p_values = np.minimum(level * np.exp(-np.clip(margins, -50.0, 50.0)), 1.0)
        for e, p in zip(trace.queries.tolist(), p_values.tolist(), strict=True):
            for source in self._members(e):
                values[source] = max(values[source], p)
        return values

    def to_source_estimate(self) -> Any:  # noqa: ANN401
        """`evidence` as a SourceEstimate, VolSourceEstimate or MixedSourceEstimate of mne, at one time."""
        import mne

        spaces = self.setting.forward["src"]
        vertices = [np.asarray(space["vertno"]) for space in spaces]
        types = {space["type"] for space in spaces}
        kinds = {True: mne.SourceEstimate, False: mne.VolSourceEstimate}
        kind = kinds[types == {"surf"}] if len(types) == 1 or "surf" not in types else mne.MixedSourceEstimate
        return kind(self.evidence()[:, None], vertices, tmin=0.0, tstep=1.0)

    def dipoles(self) -> list[Any]:
        """An `mne.Dipole` for each explanation that is kept, the best fit first, with a row for each source."""
        return [self._dipole(int(e)) for e in self.kept]

    def _dipole(self, explanation: int) -> Any:  # noqa: ANN401
        import mne

        sources = self._members(explanation)
        directions = np.asarray(self.setting.forward["source_nn"]).reshape(self._n_sources, -1, 3)[sources]
        moments = np.einsum("kv,kvx->kx", self._moments(sources), directions)
        sizes = np.linalg.norm(moments, axis=1)
        share = 100.0 * (1.0 - (self._left[explanation] / np.linalg.norm(self._mean)) ** 2)
        return mne.Dipole(
            np.zeros(len(sources)),
            np.asarray(self.setting.forward["source_rr"])[sources],
            sizes,
            moments / np.where(sizes > 0.0, sizes, 1.0)[:, None],
            np.full(len(sources), share),
        )

    def topographies(self) -> dict[str, Array]:
        """(q,) each, in the units of the data: `measured` without projections and reference, `fitted`, `residual`."""
        white = self.setting.white
        measured = white.projector @ white.measured
        best = self.kept[0] if len(self.kept) else int(np.argmin(self._left))
        sources = self._members(int(best))
        gains = white.gains.reshape(len(white.gains), self._n_sources, -1)[:, sources].reshape(len(white.gains), -1)
        fitted = white.projector @ gains @ self._moments(sources).ravel()
        return {"measured": measured, "fitted": fitted, "residual": measured - fitted}

    def plot(self) -> "Figure":
        """The kept places from three sides, and topographies of the measured, fitted and residual field."""
        from ._plot import plot_location

        return plot_location(self)

    def csv(self) -> str:
        """A line for each place."""
        lines = [
            f"{p.name},{p.position[0]:.1f},{p.position[1]:.1f},{p.position[2]:.1f},{p.side},{p.label}"
            for p in self.places
        ]
        return "\n".join(["name,x_mm,y_mm,z_mm,side,label", *lines, ""])

    def save(self, folder: str | Path) -> Path:
        """Write answer.txt, places.csv, the report with its page and details, dipoles and the picture into a folder."""
        from matplotlib import pyplot

        from ..report.page import write_page

        where = Path(folder)
        where.mkdir(parents=True, exist_ok=True)
        write_whole(where / "answer.txt", f"{self}\n".encode())
        write_whole(where / "places.csv", self.csv().encode())
        self.report.save(where / "report.json")
        details = self.result.details()
        details.save(where / "details.json")  # which verify makes the page from again
        write_page(where / "report.html", self.report, details)
        if len(self.kept):
            self.dipoles()[0].save(where / "best.dip", overwrite=True, verbose="ERROR")
        figure = self.plot()
        figure.savefig(where / "location.png", dpi=120)
        pyplot.close(figure)
        return where
