"""Random projects from their numbers: every law, judge, question, policy, width, cover and map, in small sizes.

A number gives the same files on every machine: numbers are rounded, so that no last bit of a sum reaches them.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

COUNT = 200
_SEED = 20261118
_DECIMALS = 6  # of all numbers in files


@dataclass
class Draft:
    """A project while it is put together: its document, its files, and what its rows are made of."""

    number: int
    document: dict = field(default_factory=dict)
    arrays: dict = field(default_factory=dict)
    texts: dict = field(default_factory=dict)
    map_options: list | None = None  # of the command, where signals are mapped as well

    def __post_init__(self):
        self.rng = np.random.default_rng([_SEED, self.number])
        self.cycle = self.number // len(FAMILIES)

    def turn(self, *options):
        """The next of several options, so that every one of them has its turn."""
        return options[self.cycle % len(options)]

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def chance(self, share):
        return bool(self.rng.random() < share)

    def save(self, name, values):
        values = np.asarray(values)
        self.arrays[name] = values if values.dtype.kind in "iu" else np.round(values, _DECIMALS) + 0.0
        return name

    def write(self, folder):
        (folder / "project.toml").write_text(
            "".join(f"{key} = {toml(value)}\n" for key, value in self.document.items())
        )
        for name, text in self.texts.items():
            (folder / name).write_text(text)
        for name, values in self.arrays.items():
            np.save(folder / name, values)


def drafted(number: int) -> Draft:
    """The project of a number."""
    draft = Draft(number)
    FAMILIES[number % len(FAMILIES)](draft)
    return draft


def write_project(folder: Path, number: int) -> list[str] | None:
    """Write the project of a number; returns the options of the command that maps its signals, None without a map."""
    draft = drafted(number)
    draft.write(folder)
    return draft.map_options


def toml(value):
    """A value as TOML, tables inline."""
    match value:
        case bool() | str():
            return json.dumps(value)
        case int() | float() | np.number():
            return repr(getattr(value, "tolist", lambda: value)())
        case dict():
            return f"{{ {', '.join(f'{json.dumps(key)} = {toml(each)}' for key, each in value.items())} }}"
        case _:
            return f"[{', '.join(map(toml, value))}]"


# ------------------------------------------------------------------------------------------------- what projects share


def gaussian_lines(axis, places, width):
    return np.exp(-0.5 * ((axis[:, None] - np.asarray(places)) / width) ** 2)


def unit(columns):
    return columns / np.linalg.norm(columns, axis=0)


def scene(draft, regions, elements, *, has_places=True):
    """Regions of elements along a line from 0 to 1; their list is written, and their places are returned."""
    places = np.round(np.sort(draft.rng.uniform(0.1, 0.9, regions * elements)), 3)
    places += 0.002 * np.arange(len(places))  # no two alike
    names = [f"{'ABC'[r]}{e}" for r in range(regions) for e in range(elements)]
    lines = [f"{name},{name[0]},{place:.3f}" for name, place in zip(names, places, strict=True)]
    draft.texts["elements.csv"] = "\n".join(["id,region,x", *lines]) + "\n"
    draft.document["elements"] = {"file": "elements.csv"} | ({"coordinates": ["x"]} if has_places else {})
    draft.document["regions"] = {name: {} for name in "ABC"[:regions]}
    return np.round(places, 3), names


def settle(draft, judge=None, *, level=None):
    """The top level: level, seed, judge, budget and stop."""
    top = {"level": level or draft.pick(0.05, 0.1, 0.2), "seed": int(draft.rng.integers(1000))}
    top |= {} if judge is None else {"judge": judge}
    top |= {"budget": draft.pick(0.5, 7, 0.25)} if draft.chance(0.15) else {}
    top |= {"stop": "label"} if draft.chance(0.3) else {}
    draft.document = top | draft.document


def question(draft, names, optional, *, tolerance=0.0, claims=True):
    """The question about every region: a map with groups, tolerances and claims, by any policy."""
    for region, table in draft.document["regions"].items():
        own = [name for name in names if name[0] == region]
        if region in optional:
            table["presence"] = "optional"
        if draft.chance(0.5) and tolerance:
            table["tolerance"] = tolerance
        if draft.chance(0.4) and len(own) > 2:
            table["groups"] = draft.pick(
                {"low": own[:2], "high": own[2:]}, {"all": {"low": own[:2], "high": own[2:]}}, {"low": own[:2]}
            )
        if draft.chance(0.35):
            asks = ["fine", "group", "presence", "ambiguity"] + (["absence"] if region in optional else [])
            chosen = draft.rng.permutation(len(asks))[: draft.rng.integers(1, len(asks) + 1)]
            table["ask"] = draft.pick([asks[i] for i in sorted(chosen)], ["fine", "ambiguity"])
    if len(draft.document["regions"]) > 1 and draft.chance(0.1):
        draft.document["regions"]["A"] = {
            key: value for key, value in draft.document["regions"]["A"].items() if key not in ("groups", "tolerance")
        } | {"ask": "nothing"}
    is_asked = draft.document["regions"]["A"].get("ask") != "nothing"
    if claims and is_asked and draft.chance(0.3):
        kinds = {"any": [names[0], names[-1]], "all": [names[0], names[-1]], "exactly_one": names[:2]}
        draft.document["claims"] = {kind: {kind: names} for kind, names in kinds.items()}
    if draft.chance(0.3):
        draft.document["policy"] = draft.pick("regional", "fixed", "random", "farthest")


def resolve(draft):
    """A resolution of the first region in the place of a map."""
    draft.document["resolution"] = {"region": "A", "fine": 0.05, "group": draft.pick(0.07, 0.1, 0.3)}
    draft.document["regions"]["A"].pop("presence", None)
    if draft.chance(0.5):
        draft.document["policy"] = draft.pick("endpoints", "fixed", "random", "farthest")


def supports(draft, regions, optional):
    """Which regions may be active together, written in one of the ways there are."""
    names = list("ABC"[:regions])
    always = [name for name in names if name not in optional]
    match draft.rng.integers(4):
        case 0:
            draft.document["supports"] = {"max_active": max(len(always), 1)}
        case 1 if optional:
            draft.document["supports"] = {"list": [always, names]}


def truth(draft, regions, elements, optional):
    """Which element of every region made the rows, None of silent ones."""
    return [
        None if name in optional and draft.chance(0.5) else r * elements + int(draft.rng.integers(elements))
        for r, name in enumerate("ABC"[:regions])
    ]


def optional_regions(draft, regions):
    return [name for name in "ABC"[:regions] if draft.chance(0.5)]


def normal(draft, shape, variance, is_complex=False):
    """Noise of a variance; of a complex entry as a whole."""
    if is_complex:
        both = draft.rng.standard_normal((2, *shape))
        return np.sqrt(variance / 2.0) * (both[0] + 1j * both[1])
    return np.sqrt(variance) * draft.rng.standard_normal(shape)


def mapped(draft, rows, *options):
    """Signals (count, channels), or (count, repeats, channels), to be mapped with these options."""
    draft.save("signals.npy", rows)
    for table in draft.document["regions"].values():
        table.pop("absence_threshold", None)
    rate = ["--rate", str(draft.pick(0.1, 0.3))] if draft.chance(0.7) else []
    draft.map_options = ["--signals", "signals.npy", *rate, *options]


def misfit(draft, rows, axis, size):
    """Now and then what the bank does not have: another line in all rows, or more noise."""
    match draft.rng.integers(8):
        case 0:
            line = unit(gaussian_lines(axis, [draft.rng.uniform()], 0.03))[:, 0]
            return rows + size * line
        case 1:
            return rows * 1.4
    return rows


# -------------------------------------------------------------------------------------------------------- the families


def stated_laws(draft):
    """Laws of deployment whose strengths and noise are stated, with calibration rows or without."""
    law, judge = draft.turn(("covariance", None), ("mean", None), ("covariance", "simulation"), ("mean", "simulation"))
    calibration = draft.pick(None, "latent", "known codes", "latent")
    regions, elements, q = draft.pick(1, 2, 2, 3), draft.pick(2, 3), draft.pick(8, 12)
    regions = 2 if calibration and regions == 3 else regions
    places, names = scene(draft, regions, elements)
    axis, width = np.linspace(0.0, 1.0, q), draft.pick(0.12, 0.2)
    columns = unit(gaussian_lines(axis, places, width))
    optional = optional_regions(draft, regions)
    active = truth(draft, regions, elements, optional)
    if draft.chance(0.5):
        draft.document["elements"]["responses"] = draft.save("responses.npy", columns)
        kinds = {"gain": [-0.2, 0.2], "offset": [0.0, 0.1], "shift": [-0.5, 0.0, 0.5], "scale": [0.95, 1.0]}
    else:
        spread = {"from": 0, "to": 1, "count": q}
        draft.document["elements"]["response"] = {"kind": "peak", "axis": spread, "width": width}
        kinds = {"width": [1.0, 1.2], "position": [-0.02, 0.0, 0.02], "gain": [0.0, 0.1]}
    if draft.chance(0.5):
        kind = draft.pick(*kinds)
        draft.document["parameters"] = {kind: {"values": kinds[kind]}}
    noise, n_rows = draft.pick(0.1, 0.5, 2.0), draft.pick(12, 40, 90)
    strengths = {name: draft.pick([1.0], [0.5, 2.0]) for name in "ABC"[:regions]}
    coefficients = np.zeros((n_rows, regions * elements))
    for r, element in enumerate(active):
        if element is not None:
            size = draft.pick(*strengths["ABC"[r]])
            random = np.sqrt(size) * draft.rng.standard_normal(n_rows)
            coefficients[:, element] = random if law == "covariance" else size
    rows = misfit(draft, coefficients @ columns.T + normal(draft, (n_rows, q), noise), axis, 1.0)
    noises = draft.pick(noise, [noise, 2.0 * noise], {"from": 0.5 * noise, "to": 1.5 * noise, "count": 3})
    stream = {"file": draft.save("rows.npy", rows), "channels": 1, "law": law, "noise": noises, "proposal": 0.4}
    stream |= {"first_checkpoint": draft.pick(4, 16)}
    stream |= {"opponent": draft.pick("bank", "free")} if judge is None and draft.chance(0.5) else {}
    draft.document["data"] = {"deployment": stream}
    for name, table in draft.document["regions"].items():
        table["strength"] = strengths[name][0] if len(strengths[name]) == 1 else strengths[name]
    if calibration:
        calibrate(draft, calibration, columns, active, regions, elements, is_simulated=judge is not None)
    question(draft, names, optional, tolerance=draft.pick(0.05, 0.2))
    for name in optional:
        if draft.chance(0.3) and "ask" not in draft.document["regions"][name]:
            draft.document["regions"][name]["absence_threshold"] = strengths[name][-1]
    if "A" not in optional and draft.chance(0.4):
        for table in draft.document["regions"].values():
            for key in ("tolerance", "groups", "ask", "absence_threshold"):
                table.pop(key, None)
        draft.document.pop("claims", None)
        draft.document.pop("policy", None)
        resolve(draft)
    elif draft.chance(0.5):
        supports(draft, regions, optional)
    if judge:
        draft.document["draws"] = draft.pick(99, 199)
    settle(draft, judge)
    is_mapped = "budget" not in draft.document and "resolution" not in draft.document and not (judge and calibration)
    if is_mapped and draft.chance(0.4):
        if judge:
            draft.document["draws"] = 999
        repeats = draft.pick(6, 12)
        signals = np.stack([draft.rng.permutation(rows)[:repeats] for _ in range(3)])
        signals[1, :, :] *= 0.3
        mapped(draft, signals, "--repeats", "1")


def calibrate(draft, law, columns, active, regions, elements, *, is_simulated=False):
    """Calibration rows of a dictionary with one atom a region, and now and then one that they all share."""
    q, noise, n_rows = len(columns), 0.1, draft.pick(20, 50)
    chosen = [r * elements if element is None else element for r, element in enumerate(active)]
    if draft.chance(0.15):  # streams that contradict each other
        chosen = [(element + 1) % elements + element // elements * elements for element in chosen]
    atoms = columns[:, chosen]
    if draft.chance(0.3):
        shared = unit(np.exp(np.linspace(-2.0, 0.0, q))[:, None])
        draft.document["elements"]["shared"] = draft.save("shared.npy", shared)
        atoms = np.hstack([atoms, shared])
    is_latent = law == "latent"
    codes = draft.rng.standard_normal((n_rows, atoms.shape[1]))
    codes = np.where(draft.rng.random(codes.shape) < 0.4, codes, 0.0) if is_latent else codes
    rows = codes @ atoms.T + normal(draft, (n_rows, q), noise)
    stream = {"channels": 1, "law": law, "noise": noise, "proposal": 0.4, "first_checkpoint": draft.pick(4, 16)}
    if is_latent:
        stream["activity"] = draft.pick(0.4, [0.2, 0.4])
    elif draft.chance(0.5):
        stream["codes"] = draft.save("codes.npy", codes)
    else:
        rows = np.hstack([rows, codes])
    if draft.chance(0.5) and not is_simulated:
        stream["opponent"] = draft.pick("free", "bank", "free")
    stream["file"] = draft.save("calibration.npy", rows)
    draft.document["data"]["calibration"] = stream


def linear_rows(draft):
    """One mean of unknown coefficients over a background, by rotation."""
    width = draft.turn("none", "shift", "span", "tangents", "count", "states", "scale", "pairs", "listed")
    regions, elements = draft.pick(1, 1, 2), draft.pick(3, 4)
    q, n_rows = draft.pick(24, 36), draft.turn(1, 1, 8, 1, 3)
    if width == "pairs":  # so many that fits are made of those of single elements
        regions, elements, q = 1, 20, 36
    places, names = scene(draft, regions, elements)
    axis = np.linspace(0.0, 1.0, q)
    columns = unit(gaussian_lines(axis, places, 0.05))
    optional = optional_regions(draft, regions)
    active = truth(draft, regions, elements, optional)
    size = draft.pick(3.0, 6.0, 12.0) / np.sqrt(n_rows)
    own = unit(gaussian_lines(axis, places + (0.015 if width in ("shift", "tangents") else 0.0), 0.05))
    mean = sum((size * own[:, e] for e in active if e is not None), np.zeros(q))
    background = draft.pick({"polynomial": 2}, {"polynomial": 1}, {"splines": 5}, {"atoms": "pile.npy"}, None)
    if background:
        mean = mean + 6.0 + 2.0 * axis
        if "atoms" in background:
            draft.save("pile.npy", np.stack([np.ones(q), axis, np.exp(axis)], axis=1))
        draft.document["background"] = background
    rows = misfit(draft, mean + normal(draft, (n_rows, q), 1.0), axis, size)
    stream = {"file": draft.save("rows.npy", rows), "channels": 1, "law": "gaussian"}
    noise = draft.pick("left out", "unknown", 1.0, [0.8, 1.25], "variance", "covariance", "rows")
    noise = 1.0 if width == "pairs" and noise == "rows" else noise
    if noise in ("variance", "covariance", "rows"):
        variances = np.linspace(0.8, 1.2, q)
        kept = {"variance": variances, "covariance": np.diag(variances)}
        values = kept.get(noise) if noise != "rows" else normal(draft, (12 * q, q), 1.0)
        stream["noise"] = {noise: draft.save("noise.npy", values)}
    elif noise != "left out":
        stream["noise"] = noise
    draft.document["data"] = {"deployment": stream}
    spec = draft.document["elements"]
    match width:
        case "span" | "states":
            other = np.round(unit(gaussian_lines(axis, places + 0.01, 0.05)), _DECIMALS)
            spec["responses"] = [draft.save("one.npy", columns), draft.save("other.npy", other)]
            spec["variants"] = width
        case "listed":
            header, *lines = draft.texts["elements.csv"].split()
            listed = [f"{line},{variant}" for variant in ("one", "other") for line in lines]
            draft.texts["elements.csv"] = "\n".join([f"{header},variant", *listed]) + "\n"
            other = unit(gaussian_lines(axis, places + 0.01, 0.05))
            spec["responses"] = draft.save("responses.npy", np.hstack([columns, other]))
        case "shift" | "tangents":
            spec["responses"] = draft.save("responses.npy", columns)
            draft.document["parameters"] = {"shift": {"values": [-0.5, 0.0, 0.5]}}
            if width == "tangents":
                spec["tangents"] = ["shift"]
        case "scale":
            spec["responses"] = draft.save("responses.npy", columns)
            spec["axis"] = draft.save("axis.npy", 400.0 + 50.0 * axis)
            draft.document["parameters"] = {"scale": {"values": [0.98, 1.0]}, "offset": {"values": [0.0, 0.1]}}
        case _:
            spec["responses"] = draft.save("responses.npy", columns)
    coefficients = draft.pick(None, ">= 0", [0.0, 30.0], "free", ">= 0")
    for name, table in draft.document["regions"].items():
        if coefficients is not None and width != "span":
            table["coefficient"] = coefficients
        if width in ("count", "pairs"):
            table["count"] = draft.pick(2, [1, 2]) if name == "A" else 1
    question(draft, names, optional, tolerance=draft.pick(0.05, 0.2))
    if width in ("none", "states", "scale") and draft.chance(0.6):
        table = draft.document["regions"][draft.pick(*"ABC"[:regions])]
        table["absence_threshold"] = draft.pick(1.0, 4.0)
        table.pop("ask", None)
    if draft.chance(0.4):
        draft.document["outsiders"] = {"elements": draft.pick("rest", "none"), "share": draft.pick(0.1, 0.3)}
    if draft.chance(0.5):
        draft.document["draws"] = draft.pick(199, 499)
    is_resolved = "A" not in optional and width in ("none", "shift") and draft.chance(0.2)
    if is_resolved:
        for table in draft.document["regions"].values():
            for key in ("tolerance", "groups", "ask", "absence_threshold"):
                table.pop(key, None)
        draft.document.pop("claims", None)
        draft.document.pop("policy", None)
        resolve(draft)
    elif draft.chance(0.5):
        supports(draft, regions, optional)
    settle(draft, draft.pick(None, "rotation"))
    if not is_resolved and width != "pairs" and noise != "rows" and draft.chance(0.5):
        draft.document["draws"] = draft.pick(999, 1999)
        amounts = draft.rng.uniform(0.0, 12.0, (6, 1))
        chosen = draft.rng.integers(len(names), size=6)
        repeats = draft.pick(1, 1, 3)
        signals = (amounts * own[:, chosen].T)[:, None] + normal(draft, (6, repeats, q), 1.0)
        if background:
            signals = signals + 6.0 + 2.0 * axis
        signals[-1, :, 5] = np.nan if draft.chance(0.3) else signals[-1, :, 5]
        mapped(draft, *((signals[:, 0],) if repeats == 1 else (signals, "--repeats", "1")))


def line_maps(draft):
    """Images of one line at a time, which is what maps have tables for; their bank may lack what is there."""
    elements, q = draft.pick(3, 5), draft.pick(30, 40)
    places, names = scene(draft, 1, elements, has_places=draft.chance(0.6))
    axis = np.linspace(0.0, 1.0, q)
    columns = unit(gaussian_lines(axis, places, 0.05))
    spec, table = draft.document["elements"], draft.document["regions"]["A"]
    spec["responses"] = draft.save("responses.npy", columns)
    if draft.chance(0.5):
        table["presence"] = "optional"
    judge = draft.turn("rotation", "fission", "invariant", "rotation", "signed")
    if judge == "signed":
        table["coefficient"] = ">= 0"
    if "coordinates" in spec and draft.chance(0.5):
        table["tolerance"] = 0.1
    if draft.chance(0.6):
        table["groups"] = {"low": names[:2], "high": names[2:]}
    amounts = draft.rng.uniform(0.0, 15.0, 12)
    chosen = draft.rng.integers(elements, size=12)
    signals = amounts[:, None] * columns[:, chosen].T + normal(draft, (12, q), 1.0)
    signals[3] += 9.0 * unit(gaussian_lines(axis, [0.97], 0.03))[:, 0]
    signals[4:6] = normal(draft, (2, q), 1.0)
    if draft.chance(0.7):
        signals += 6.0 + 2.0 * axis
        draft.document["background"] = {"polynomial": draft.pick(1, 2)}
    stream = {"file": draft.save("rows.npy", signals[:1]), "channels": 1, "law": "gaussian"}
    if judge == "fission":
        stream |= {"noise": 1.0, "split": "fission", "splits": draft.pick(2, 4)}
    elif judge != "invariant":
        draft.document["draws"] = 999
        if draft.chance(0.3):
            draft.document["outsiders"] = {"elements": draft.pick("rest", "none"), "share": 0.2}
    draft.document["data"] = {"deployment": stream}
    settle(draft, {"fission": "evidence", "invariant": "invariant"}.get(judge))
    draft.document.pop("budget", None)
    mapped(draft, signals.reshape(3, 4, q))


def free_rows(draft):
    """Rows with coefficients of their own, real or complex, by rotation or by evidence."""
    is_complex = draft.turn(False, True, True)
    rows_are, judge = draft.turn(("free", None), ("free", "evidence"), ("random", "evidence"), ("free", "rotation"))
    regions, elements, q, n_rows = draft.pick(1, 2), 3, draft.pick(8, 10), draft.pick(20, 40)
    places, names = scene(draft, regions, elements)
    optional = optional_regions(draft, regions)
    active = truth(draft, regions, elements, optional)
    if is_complex:
        columns = antenna(draft, q, places)
    else:
        axis = np.linspace(0.0, 1.0, q)
        columns = unit(gaussian_lines(axis, places, 0.1))
        draft.document["elements"]["responses"] = draft.save("responses.npy", columns)
    mean = np.zeros((n_rows, q), dtype=columns.dtype)
    for element in active:
        if element is not None:
            mean = mean + normal(draft, (n_rows, 1), draft.pick(2.0, 6.0), is_complex) * columns[:, element]
    rows = mean + normal(draft, (n_rows, q), 0.5, is_complex)
    if draft.chance(0.15):
        rows = rows + normal(draft, (n_rows, 1), 4.0, is_complex) * np.linspace(1.0, -1.0, q)
    stream = {"file": draft.save("rows.npy", rows), "channels": 1, "law": "gaussian", "rows": rows_are}
    noise = draft.pick("unknown", 0.5, [0.4, 0.6], "variance", "covariance")
    if noise in ("variance", "covariance"):
        variances = np.full(q, 0.5)
        stream["noise"] = {noise: draft.save("noise.npy", variances if noise == "variance" else np.diag(variances))}
    elif noise != "unknown" or draft.chance(0.5):
        stream["noise"] = noise
    if judge == "evidence":
        stream |= {"proposal": 0.4, "first_checkpoint": 8}
    draft.document["data"] = {"deployment": stream}
    if draft.chance(0.4) and rows_are == "free":
        draft.document["regions"]["A"]["count"] = 2
    if draft.chance(0.3) and is_complex:
        draft.document["parameters"] = {"phase": {"values": [0.0, 0.2]}}
    question(draft, names, optional, tolerance=draft.pick(0.05, 0.2))
    if draft.chance(0.4):
        supports(draft, regions, optional)
    if judge != "evidence":
        draft.document["draws"] = 199
    settle(draft, judge)


def antenna(draft, q, places):
    """Complex responses of an array of q sensors; places become degrees or positions."""
    kind = draft.pick("uniform linear array", "circular array", "near field array")
    spec = draft.document["elements"]
    header, *lines = draft.texts["elements.csv"].split()
    split = [line.split(",") for line in lines]
    n = np.arange(q)
    if kind == "near field array":
        sensors = np.round(np.stack([np.linspace(-1.0, 1.0, q), np.zeros(q)], axis=1), 3)
        spec |= {"coordinates": ["x", "y"]}
        spec["response"] = {"kind": kind, "sensors": draft.save("sensors.npy", sensors), "wavelength": 0.5}
        where = np.stack([4.0 * places - 2.0, np.full(len(places), 2.0)], axis=1).round(3)
        listed = [f"{i},{r},{x:.3f},{y:.3f}" for (i, r, _), (x, y) in zip(split, where, strict=True)]
        draft.texts["elements.csv"] = "\n".join(["id,region,x,y", *listed]) + "\n"
        apart = np.linalg.norm(sensors[:, None] - where[None], axis=2)
        return unit(np.exp(-2j * np.pi * apart / 0.5) / apart)
    degrees = np.round(80.0 * places - 40.0, 1) if kind[0] == "u" else np.round(180.0 * places, 1)
    listed = [f"{i},{r},{x:.1f}" for (i, r, _), x in zip(split, degrees, strict=True)]
    draft.texts["elements.csv"] = "\n".join([header, *listed]) + "\n"
    angle = np.deg2rad(degrees)
    if kind[0] == "u":
        spec["response"] = {"kind": kind, "n_sensors": q, "spacing": 0.5}
        return unit(np.exp(2j * np.pi * 0.5 * n[:, None] * np.sin(angle)))
    spec["response"] = {"kind": kind, "n_sensors": q, "radius": 0.6}
    return unit(np.exp(2j * np.pi * 0.6 * np.cos(angle - 2.0 * np.pi * n[:, None] / q)))


def arrays(draft):
    """Complex rows of stated strengths, with calibration rows of known codes now and then."""
    law, judge = draft.turn(("covariance", None), ("mean", None), ("covariance", "simulation"), ("mean", "simulation"))
    regions, elements, q, n_rows = draft.pick(1, 2), 2, 6, draft.pick(15, 40)
    places, names = scene(draft, regions, elements)
    optional = optional_regions(draft, regions)
    active = truth(draft, regions, elements, optional)
    columns = antenna(draft, q, places)
    rows = normal(draft, (n_rows, q), 0.4, is_complex=True)
    for element in active:
        if element is not None:
            amounts = normal(draft, (n_rows, 1), 1.5, is_complex=True) if law == "covariance" else 1.5
            rows = rows + amounts * columns[:, element]
    stream = {"file": draft.save("rows.npy", rows), "channels": 1, "law": law, "noise": draft.pick(0.4, [0.3, 0.4])}
    stream |= {"proposal": 0.4, "first_checkpoint": 8}
    stream |= {"opponent": "free"} if judge is None and draft.chance(0.4) else {}
    draft.document["data"] = {"deployment": stream}
    for table in draft.document["regions"].values():
        table["strength"] = draft.pick(1.5, [0.5, 1.5])
    if draft.chance(0.5):
        kind = draft.pick("phase", "gain")
        draft.document["parameters"] = {kind: {"values": [-0.2, 0.2], "pattern": [0, 0, 1, 0, 0, -1]}}
    if draft.chance(0.4):
        codes = normal(draft, (20, regions), 1.0, is_complex=True)
        chosen = [r * elements if element is None else element for r, element in enumerate(active)]
        calibration = codes @ columns[:, chosen].T + normal(draft, (20, q), 0.2, is_complex=True)
        known = {"channels": 1, "law": "known codes", "noise": 0.2, "proposal": 0.4, "first_checkpoint": 8}
        known |= {"file": draft.save("calibration.npy", calibration), "codes": draft.save("codes.npy", codes)}
        draft.document["data"]["calibration"] = known
    question(draft, names, optional, tolerance=2.0)
    if judge:
        draft.document["draws"] = 99
    settle(draft, judge)
    if judge is None and draft.chance(0.3) and "budget" not in draft.document:
        mapped(draft, np.stack([rows[:8], 0.2 * rows[8:16]] if n_rows > 15 else [rows[:8]]), "--repeats", "1")


def evidence_of_linear(draft):
    """Unknown coefficients by evidence: rows that are split, or one that is fissioned, and every width."""
    width = draft.turn("none", "error", "cone", "span", "tangents", "leave one out", "error")
    split = "fission" if draft.number % 2 else "rows"
    regions, elements, q = draft.pick(1, 2), 3, 24
    n_rows = 1 if split == "fission" else draft.pick(6, 20)
    if width == "leave one out":
        regions, elements = 3, 1
    places, names = scene(draft, regions, elements)
    axis = np.linspace(0.0, 1.0, q)
    columns = unit(gaussian_lines(axis, places, 0.06))
    optional = list("ABC"[:regions]) if width == "leave one out" else optional_regions(draft, regions)
    active = truth(draft, regions, elements, optional)
    size = draft.pick(6.0, 12.0) / np.sqrt(n_rows)
    other = unit(gaussian_lines(axis, places + 0.01, 0.06))
    used = {"cone": 0.5 * (columns + other), "span": other, "error": unit(columns + 0.05 * other)}.get(width, columns)
    mean = sum((size * used[:, e] for e in active if e is not None), np.zeros(q))
    if draft.chance(0.5):
        draft.document["background"] = draft.pick({"polynomial": 1}, {"splines": 4}, {"reference": True})
        mean = mean + 3.0
    rows = misfit(draft, mean + normal(draft, (n_rows, q), 1.0), axis, size)
    stream = {"file": draft.save("rows.npy", rows), "channels": 1, "law": "gaussian"}
    stream["noise"] = 1.0 if split == "fission" else draft.pick(1.0, "unknown", [0.8, 1.2])
    if split == "fission" or draft.chance(0.6):
        stream |= {"split": split, "splits": draft.pick(2, 3)}
    if split == "rows":
        stream |= {"proposal": draft.pick(0.5, 0.3)}
    draft.document["data"] = {"deployment": stream}
    spec = draft.document["elements"]
    if width in ("cone", "span"):
        spec |= {"responses": [draft.save("one.npy", columns), draft.save("two.npy", other)], "variants": width}
    else:
        spec["responses"] = draft.save("responses.npy", columns)
    if width == "error":
        spec["error"] = draft.pick(0.05, 0.2)
    if width == "tangents":
        spec["tangents"] = ["shift"]
        draft.document["parameters"] = {"shift": {"values": [-0.5, 0.5]}}
    question(draft, names, optional, tolerance=0.1, claims=width != "leave one out")
    if width == "leave one out":
        draft.document["supports"] = {"leave_one_out": True}
        for name in "ABC":
            draft.document["regions"][name] = {"presence": "optional"}
    elif draft.chance(0.4):
        supports(draft, regions, optional)
    coefficient = draft.pick(None, ">= 0", None)
    for table in draft.document["regions"].values():
        if coefficient and width not in ("span", "cone", "tangents"):
            table["coefficient"] = coefficient
    settle(draft, draft.pick("evidence", None) if width in ("error", "cone") else "evidence")
    if split == "fission" and draft.chance(0.5) and "budget" not in draft.document:
        amounts = draft.rng.uniform(0.0, 15.0, (4, 1))
        signals = amounts * used[:, draft.rng.integers(len(names), size=4)].T + normal(draft, (4, q), 1.0)
        mapped(draft, signals + (3.0 if "background" in draft.document else 0.0))


def strong_signals(draft):
    """Signals so strong that rounding leaves verdicts open, which balls decide; explanations differ in their noise."""
    kind = draft.turn(
        "mean", "covariance", "codes", "linear", "error", "cone", "bounded", "random", "fission", "random error"
    )
    q, n_rows, size = 8, 12, 1e11
    places, _ = scene(draft, 1, 2)
    axis = np.linspace(0.0, 1.0, q)
    columns = np.round(gaussian_lines(axis, places, 0.3), 2)
    atoms = unit(columns)
    spec, table = draft.document["elements"], draft.document["regions"]["A"]
    stream = {"channels": 1, "proposal": 0.5, "first_checkpoint": 4, "noise": [1.0, draft.pick(1.25, 1.001)]}
    draft.document["data"] = {"deployment": stream}
    noise = normal(draft, (n_rows, q), 1.0)
    match kind:
        case "mean" | "codes":
            stream["law"], table["strength"] = "mean", size if kind == "mean" else 1.0
            rows = table["strength"] * atoms[:, 0] + noise
            if kind == "codes":
                codes = np.round(size * draft.rng.standard_normal((n_rows, 1)), 0)
                known = stream | {
                    "law": "known codes",
                    "file": draft.save("calibration.npy", codes * atoms[:, 0] + noise),
                }
                draft.document["data"]["calibration"] = known | {"codes": draft.save("codes.npy", codes)}
        case "covariance":
            stream["law"], table["strength"] = "covariance", size**2
            rows = size * draft.rng.standard_normal((n_rows, 1)) * atoms[:, 0] + noise
        case "random" | "random error":
            stream |= {"law": "gaussian", "rows": "random"}
            rows = 1e7 * draft.rng.standard_normal((n_rows, 1)) * atoms[:, 0] + noise
        case "fission":
            stream = {"channels": 1, "law": "gaussian", "noise": 1.0, "split": "fission", "splits": 2}
            draft.document["data"] = {"deployment": stream}
            rows = 1e8 * atoms[:, 0] + noise[:1]
        case _:
            stream["law"] = "gaussian"
            rows = 1e8 * atoms[:, 0] + noise
    if kind == "cone":
        other = np.round(gaussian_lines(axis, places + 0.02, 0.3), 2)
        spec |= {"responses": [draft.save("one.npy", columns), draft.save("two.npy", other)], "variants": "cone"}
    else:
        spec["responses"] = draft.save("responses.npy", columns)
    if kind in ("error", "random error"):
        spec["error"] = 0.01
    if kind == "bounded":
        table["coefficient"] = [0.0, 2e8]
    stream["file"] = draft.save("rows.npy", rows)
    settle(draft, None if kind in ("mean", "covariance", "codes") else "evidence", level=0.1)


def unknown_strengths(draft):
    """Laws of stated strengths where nobody knows these."""
    law = draft.turn("covariance", "mean", "covariance")
    regions, elements, q, n_rows = draft.pick(1, 2), 3, 10, draft.pick(24, 60)
    places, names = scene(draft, regions, elements)
    axis = np.linspace(0.0, 1.0, q)
    columns = unit(gaussian_lines(axis, places, 0.1))
    optional = optional_regions(draft, regions)
    active = truth(draft, regions, elements, optional)
    rows = normal(draft, (n_rows, q), 0.5)
    for element in active:
        if element is not None:
            amounts = normal(draft, (n_rows, 1), 3.0) if law == "covariance" else 1.5
            rows = rows + amounts * columns[:, element]
    spec = draft.document["elements"]
    spec["responses"] = draft.save("responses.npy", columns)
    noise = draft.pick("unknown", 0.5, [0.4, 0.6])
    stream = {"file": draft.save("rows.npy", misfit(draft, rows, axis, 1.0)), "channels": 1, "law": law}
    stream |= {"noise": noise, "proposal": 0.4, "first_checkpoint": 8}
    draft.document["data"] = {"deployment": stream}
    if law == "covariance" and regions == 1 and draft.chance(0.8):
        spec["error"] = draft.pick(0.05, 0.15)
    for table in draft.document["regions"].values():
        table["strength"] = "unknown"
    question(draft, names, optional, tolerance=0.1)
    settle(draft, draft.pick(None, "evidence"))


def counts(draft):
    """Counts of unknown amounts over a background."""
    width = draft.turn("none", "cone", "shift", "between", "leave one out", "states", "count")
    regions, elements, q = draft.pick(1, 2), draft.pick(2, 3), 24
    if width == "leave one out":
        regions, elements = 3, 1
    n_rows = draft.pick(1, 1, 4)
    places, names = scene(draft, regions, elements, has_places=width != "leave one out")
    axis = np.linspace(0.0, 1.0, q)
    columns = gaussian_lines(axis, places, 0.05)
    optional = list("ABC"[:regions]) if width == "leave one out" else optional_regions(draft, regions)
    active = truth(draft, regions, elements, optional)
    other = gaussian_lines(axis, places + 0.01, 0.05)
    mean = 4.0 + sum((draft.pick(30.0, 80.0) * columns[:, e] for e in active if e is not None), np.zeros(q))
    if draft.chance(0.15):
        mean = mean + 40.0 * gaussian_lines(axis, [draft.rng.uniform()], 0.03)[:, 0]
    exposure = draft.rng.integers(1, 4, n_rows)
    # By whole numbers of a table, which no rounding changes.
    rows = draft.rng.poisson(np.round(exposure[:, None] * mean, 3))
    stream = {"file": draft.save("rows.npy", rows), "channels": 1, "law": "poisson"}
    if n_rows > 1:
        stream |= {"exposure": exposure.tolist()}
        stream |= {"split": draft.pick("rows", "thin")}
    if draft.chance(0.6):
        stream |= {"splits": draft.pick(1, 3, 8)}
    draft.document["data"] = {"deployment": stream}
    draft.document["background"] = draft.pick({"polynomial": 1}, {"polynomial": 0}, {"splines": 4})
    spec = draft.document["elements"]
    if width in ("cone", "states"):
        spec |= {"responses": [draft.save("one.npy", columns), draft.save("two.npy", other)], "variants": width}
    else:
        spec["responses"] = draft.save("responses.npy", columns)
    if width in ("shift", "between"):
        range_of_shift = {"values": [-0.3, 0.0, 0.3]} if width == "shift" else {"between": [-0.3, 0.3]}
        draft.document["parameters"] = {"shift": range_of_shift}
    question(draft, names, optional, tolerance=0.1 if "coordinates" in spec else 0.0, claims=width != "leave one out")
    if width == "count":
        draft.document["regions"]["A"]["count"] = 2
    if width == "leave one out":
        draft.document["supports"] = {"leave_one_out": True}
        for name in "ABC":
            draft.document["regions"][name] = {"presence": "optional"}
    elif draft.chance(0.4):
        supports(draft, regions, optional)
    settle(draft, draft.pick(None, "counts"))
    if draft.chance(0.4) and n_rows == 1 and "budget" not in draft.document:
        draft.save("signals.npy", draft.rng.poisson(np.round(mean, 3), (3, q)))
        draft.map_options = ["--signals", "signals.npy", *draft.pick(["--rate", "0.2"], [])]


def replicates(draft):
    """Elements known by examples, judged by ranks."""
    elements, q = draft.pick(3, 4), 20
    mode = draft.turn("plain", "share", "noise", "pool", "pairs", "regions", "file")
    units = draft.pick(9, 12, 6) if mode not in ("pairs", "regions") else 20
    regions = 2 if mode == "regions" else 1
    places, names = scene(draft, regions, elements if regions == 1 else 2, has_places=draft.chance(0.5))
    axis = np.linspace(0.0, 1.0, q)
    columns = gaussian_lines(axis, places, 0.06)
    is_shared = draft.chance(0.6)  # units hold all elements, as instruments do

    def spectrum(element, number):
        colour = 1.0 + 0.2 * np.sin(6.0 * axis + 2.4 * number)
        return (8.0 + number % 3) * colour * columns[:, element] + 1.0 + normal(draft, (q,), 0.02)

    listed = []
    for e, name in enumerate(names):
        for u in range(units if e or mode != "plain" else units - 2):
            for _ in range(draft.pick(1, 2) if mode not in ("pairs", "regions") else 1):
                cells = np.round(spectrum(e, u if is_shared else u + 100 * e), 4).tolist()
                listed.append([name, f"u{u}" if is_shared else f"u{e}-{u}", *map(repr, cells)])
    header = ["element", "unit", *(f"ch {c}" for c in range(q))]
    if mode == "file":
        for i, line in enumerate(listed):
            draft.save(f"s{i}.npy", np.array([list(map(float, line[2:]))]))
        header, listed = ["element", "unit", "file"], [[*line[:2], f"s{i}.npy"] for i, line in enumerate(listed)]
    draft.texts["replicates.csv"] = "\n".join(",".join(line) for line in [header, *listed]) + "\n"
    optional = ["B"] if regions == 2 else []
    active = truth(draft, regions, len(names) // regions, optional)
    row = sum(spectrum(e, 57) for e in active if e is not None) if any(e is not None for e in active) else columns[:, 0]
    if draft.chance(0.2):
        row = 9.0 * gaussian_lines(axis, [0.5 * (places[0] + places[1]) + 0.03], 0.1)[:, 0] + 1.0
    draft.document["data"] = {
        "deployment": {"file": draft.save("row.npy", row[None]), "channels": 1, "law": "gaussian"}
    }
    draft.document["background"] = draft.pick({"polynomial": 0}, {"polynomial": 1})
    spec = draft.document["elements"] | {
        "responses": draft.save("responses.npy", columns),
        "replicates": "replicates.csv",
        "replicate_unit": "unit",
    }
    modes = {"share": {"replicate_share": 0.5}, "noise": {"replicate_noise": [0.0, 0.2]}, "pool": {"pool": "ratio"}}
    spec |= modes.get(mode, {})
    draft.document["elements"] = spec
    question(draft, names, optional, tolerance=0.1 if "coordinates" in spec else 0.0, claims=False)
    if mode == "pairs":
        draft.document["regions"]["A"]["count"] = 2
    settle(draft, draft.pick(None, "conformal"), level=draft.pick(0.1, 0.2))
    draft.document.pop("budget", None)
    if mode in ("plain", "share", "pool", "file") and draft.chance(0.8):
        signals = np.stack([spectrum(e, 60 + e) for e in range(len(names))] + [np.ones(q) + 0.1 * axis])
        mapped(draft, signals)
        draft.map_options = draft.map_options[:2]  # no rate goes with replicates


def covers(draft):
    """Places anywhere in a box, and parameters, strengths and noise anywhere in ranges."""
    kind = draft.turn(
        "mean", "covariance", "formula", "tangents", "ranges", "sources", "table", "counts", "width", "array", "gain"
    )
    q, n_rows = 16, draft.pick(10, 20)
    axis, spread = np.linspace(0.0, 1.0, q), {"from": 0, "to": 1, "count": q}
    place = draft.rng.uniform(0.35, 0.65)
    line = unit(gaussian_lines(axis, [place], 0.15))[:, 0]
    response = {"kind": "peak", "axis": spread, "width": 0.15}
    response |= {"shape": draft.pick("gaussian", "lorentzian", "pseudo-voigt")} if kind in ("mean", "gain") else {}
    if kind == "formula":
        response = {"kind": "formula", "formula": "exp(-((t-x)/width)**2/2)", "axis": spread, "width": 0.15}
    spec = {"coordinates": ["x"], "unit": "mm", "response": response}
    region = {"tolerance": draft.pick(0.1, 0.2)}
    box = {"x": [0.3, 0.7]}
    cover, judge, noise = {"snr": 8.0, "eta": draft.pick(0.6, 0.9)}, None, 0.25
    law = {"mean": "mean", "covariance": "covariance", "ranges": "mean", "sources": "covariance"}.get(kind, "gaussian")
    mean = 0.8 * line + np.zeros((n_rows, q))
    match kind:
        case "mean":
            judge, region["strength"] = draft.pick("simulation", "evidence"), 0.8
        case "covariance":
            judge, region["strength"] = draft.pick("simulation", "evidence"), 0.6
            mean = normal(draft, (n_rows, 1), 0.6) * line
        case "tangents":
            cover |= {"snr": 15.0, "tangents": True}
        case "width":
            cover |= {"snr": 10.0, "tangents": True, "eta": 0.9}
            draft.document["parameters"] = {"width": {"between": [0.95, 1.05]}}
        case "ranges":
            judge, noise, box = "simulation", {"between": [0.23, 0.27]}, {"x": [0.45, 0.55]}
            region["strength"] = {"between": [0.75, 0.85]}
            cover |= {"snr": 9.0, "eta": 1.8}
            mean = 0.8 * unit(gaussian_lines(axis, [0.49], 0.15))[:, 0] + np.zeros((n_rows, q))
        case "sources":
            judge, noise, box = "simulation", {"between": [0.2, 0.3]}, {"x": [0.45, 0.55]}
            region["strength"] = {"between": [0.5, 0.7]}
            cover |= {"snr": 9.0, "eta": 1.8}
            mean = normal(draft, (n_rows, 1), 0.6) * unit(gaussian_lines(axis, [0.52], 0.15))[:, 0]
        case "table":
            middles = 0.3 + 0.4 * (np.arange(20) + 0.5) / 20
            listed = [f"c{i},A,{middle!r}" for i, middle in enumerate(np.round(middles, 6).tolist())]
            draft.texts["elements.csv"] = "\n".join(["id,region,x", *listed]) + "\n"
            columns = unit(gaussian_lines(axis, middles, 0.15))
            spec = {"file": "elements.csv", "coordinates": ["x"], "responses": draft.save("cells.npy", columns)}
            cover |= {"slopes": [5.0]}
        case "array":
            law, judge, region["strength"] = draft.pick("mean", "covariance"), draft.pick("simulation", "evidence"), 0.8
            spec["response"] = draft.pick(
                {"kind": "uniform linear array", "n_sensors": q, "spacing": 0.5},
                {"kind": "circular array", "n_sensors": q, "radius": 0.6},
            )
            box, region["tolerance"], cover["snr"] = {"x": [-3.0, 3.0]}, 2.0, 16.0
            mean = 0.8 * np.exp(1j * np.pi * np.arange(q) * 0.02) / np.sqrt(q) + np.zeros((n_rows, q))
        case "gain":
            law, judge, region["strength"] = "mean", "simulation", 0.8
            box = {"x": [0.45, 0.55]}
            kind_of = draft.pick("gain", "offset", "position")
            draft.document["parameters"] = {kind_of: {"between": [-0.02, 0.02]}}
        case "counts":
            law, noise = "poisson", None
            cover |= {"snr": 6.0, "eta": 0.9}
            draft.document["background"] = {"polynomial": 0}
    rows = mean + normal(draft, (n_rows, q), 0.25, np.iscomplexobj(mean))
    if kind == "counts":
        rows = draft.rng.poisson(np.round(20.0 + 12.0 * line, 3), (1, q))
    stream = {"file": draft.save("rows.npy", rows), "channels": 1, "law": law}
    stream |= {} if noise is None else {"noise": noise}
    stream |= {"proposal": 0.5, "first_checkpoint": 4} if law in ("mean", "covariance") else {}
    if draft.chance(0.3) and kind in ("mean", "formula", "counts"):
        region["presence"] = "optional"
    draft.document |= {
        "data": {"deployment": stream},
        "elements": spec,
        "regions": {"A": region},
        "cover": cover | {"box": {"A": box}},
    }
    if judge == "simulation" or (law == "gaussian" and draft.chance(0.5)):
        draft.document["draws"] = 999
    settle(draft, judge, level=draft.pick(0.1, 0.2))


def heads(draft):
    """Sources in a head, seen by electrodes against an unknown reference."""
    q = 12
    angles = 2.4 * np.arange(q)
    heights = np.linspace(0.1, 0.95, q)
    around = np.sqrt(1.0 - heights**2)
    electrodes = np.round(92.0 * np.stack([around * np.cos(angles), around * np.sin(angles), heights], axis=1), 1)
    places = np.array([[40, 0, 40], [-40, 0, 40], [0, 40, 40], [0, -40, 40], [0, 0, 65]])
    listed = [f"A{i},A,{x},{y},{z}" for i, (x, y, z) in enumerate(places.tolist())]
    draft.texts["elements.csv"] = "\n".join(["id,region,x,y,z", *listed]) + "\n"
    orientation = draft.pick("outwards", "free", "x", "free")
    head = {"kind": "spherical head", "sensors": draft.save("electrodes.npy", electrodes), "orientation": orientation}
    spec = {"file": "elements.csv", "coordinates": ["x", "y", "z"], "unit": "mm", "response": head}
    if orientation == "free":
        spec["variants"] = "span"
    chosen = int(draft.rng.integers(5))
    n_rows = draft.pick(1, 6)
    # Like a source: strong where electrodes are near.
    apart = electrodes - places[chosen]
    wave = (apart @ places[chosen]) / np.linalg.norm(apart, axis=1) ** 3
    rows = draft.pick(6.0, 20.0) * wave / np.linalg.norm(wave) + normal(draft, (n_rows, q), 1.0) + 2.0
    draft.document |= {
        "data": {"deployment": {"file": draft.save("rows.npy", rows), "channels": 1, "law": "gaussian"}},
        "background": {"reference": True},
        "elements": spec,
        "regions": {"A": {}},
    }
    if draft.chance(0.5):
        kind = draft.pick("conductivity", "position")
        values = {"conductivity": [0.5, 1.0], "position": [-5.0, 5.0]}[kind]
        draft.document["parameters"] = {kind: {"values": values}}
        if kind == "position":
            draft.document["parameters"][kind]["coordinate"] = draft.pick("x", "y")
    if draft.chance(0.5):
        draft.document["data"]["deployment"]["noise"] = 1.0
    names = [f"A{i}" for i in range(5)]
    question(draft, names, ["A"] if draft.chance(0.5) else [], tolerance=60.0)
    draft.document["draws"] = 199
    settle(draft, draft.pick(None, "rotation"))


def orbits(draft):
    """Turns of one dictionary, with calibration rows of unseen codes, by simulated scores or ratios, or by evidence."""
    count = draft.pick(5, 9)
    angles = np.round(np.linspace(-0.2, 0.2, count), 3)
    columns = np.stack([np.cos(angles), np.sin(angles), np.zeros(count)])
    true = columns[:, draft.rng.integers(count)]
    listed = [f"A{i},A,{angle!r}" for i, angle in enumerate(angles.tolist())]
    draft.texts["elements.csv"] = "\n".join(["id,region,x", *listed]) + "\n"
    codes = np.where(draft.rng.random((60, 1)) < 0.3, draft.rng.standard_normal((60, 1)), 0.0)
    calibration = codes * true + normal(draft, (60, 3), 0.05)
    rows = true + normal(draft, (10, 3), 0.5)
    shared = {"channels": 1, "proposal": 0.5, "first_checkpoint": 8}
    latent = {"file": draft.save("calibration.npy", calibration), "law": "latent", "activity": 0.3, "noise": 0.05}
    mean = {"file": draft.save("rows.npy", rows), "law": "mean", "noise": draft.pick(0.5, [0.4, 0.6])}
    draft.document |= {
        "data": {"calibration": shared | latent, "deployment": shared | mean},
        "elements": {"file": "elements.csv", "coordinates": ["x"], "responses": draft.save("columns.npy", columns)},
        "regions": {"A": {"strength": 1.0}},
    }
    judge = draft.turn("simulation", "evidence", "simulation")
    if judge == "simulation":
        draft.document["draws"] = 39
        if draft.chance(0.6):
            draft.document["statistic"] = draft.pick("score", "ratio")
    if draft.chance(0.6):
        draft.document["resolution"] = {"fine": 0.1, "group": 0.3}
        draft.document["policy"] = draft.pick("endpoints", "fixed", "random", "farthest")
    else:
        question(draft, [f"A{i}" for i in range(count)], [], tolerance=0.1)
    settle(draft, judge, level=0.1)


def rotation_beside_calibration(draft):
    """Rows of unknown coefficients by rotation or counts, beside calibration rows that are weighed by evidence."""
    regions, elements, q = draft.pick(1, 2), 2, 20
    places, names = scene(draft, regions, elements)
    axis = np.linspace(0.0, 1.0, q)
    columns = unit(gaussian_lines(axis, places, 0.08))
    optional = optional_regions(draft, regions)
    active = truth(draft, regions, elements, optional)
    kind = draft.turn("gaussian", "poisson", "gaussian", "splits")
    spec = draft.document["elements"]
    spec["responses"] = draft.save("responses.npy", columns)
    mean = sum((6.0 * columns[:, e] for e in active if e is not None), np.zeros(q))
    stream = {"channels": 1, "law": "poisson" if kind == "poisson" else "gaussian"}
    rows = mean + normal(draft, (1, q), 1.0)
    if kind == "poisson":
        rows = draft.rng.poisson(np.round(12.0 * mean[None] + 5.0, 3))
        draft.document["background"] = {"polynomial": 0}
    elif kind == "splits":
        stream |= {"noise": 1.0, "split": "fission", "splits": 2}
    stream["file"] = draft.save("rows.npy", rows)
    draft.document["data"] = {"deployment": stream}
    calibrate(draft, draft.pick("latent", "known codes"), columns, active, regions, elements)
    question(draft, names, optional, tolerance=0.1)
    if kind == "gaussian":
        draft.document["draws"] = 199
    settle(draft, "evidence" if kind == "splits" else None)
    if draft.chance(0.4) and "budget" not in draft.document:
        if kind == "gaussian":
            draft.document["draws"] = 999
        draft.save("signals.npy", np.concatenate([rows, rows[:, ::-1]]))
        draft.map_options = ["--signals", "signals.npy"]


FAMILIES = (
    stated_laws,
    linear_rows,
    evidence_of_linear,
    counts,
    free_rows,
    covers,
    arrays,
    line_maps,
    replicates,
    linear_rows,
    unknown_strengths,
    stated_laws,
    strong_signals,
    rotation_beside_calibration,
    orbits,
    counts,
    heads,
    evidence_of_linear,
)
