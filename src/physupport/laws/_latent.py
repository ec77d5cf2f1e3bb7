"""Calibration with codes: rows are dictionary times code plus noise, with observed or latent sparse codes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, islice
from math import log, nan, sqrt
from typing import ClassVar, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike

from .._codec import Refusal
from .._errors import Clause, MisuseError
from .._typing import Array, IntArray
from ..banks import Bank
from ..io import RowSource, as_complex, as_pairs
from . import streams
from ._codes import MOST_ACTIVE, BernoulliGaussian, CodeLaw, decode_code_law, law_moments, make_calibration
from ._law import Energy, Law, Part, Sampler, register
from ._noisy import NoisyLaw, chi_square, read_noises, whitened_energy
from ._opponents import Point, Proposal, dictionary_point, latent_point
from ._stream import Stream


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class KnownCodes(NoisyLaw):
    r"""Rows :math:`y_i = Dc_i + \sqrt\nu\,\varepsilon_i` followed by their codes c_i; a key is a state and a noise."""

    name: ClassVar[str] = "known codes"
    part: ClassVar[Part] = "calibration"
    file_keys: ClassVar[Mapping[str, bool]] = {**Law.file_keys, "codes": False}
    mixed: ClassVar[tuple[str, ...]] = ("key", "dictionary_point")
    takes_sets: ClassVar[bool] = False
    has_codes: ClassVar[bool] = True
    goes_with_cells: ClassVar[bool] = True

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, width) rows with standard normal codes, which the law leaves open."""
        atoms = bank.explanation(explanation).atoms
        nuisance = bank.split(explanation).calibration
        codes = rng.standard_normal((n_rows, self.width(bank) - len(atoms)))
        noise = np.sqrt(self.entry_noises(nuisance)) * rng.standard_normal((n_rows, len(atoms)))
        return np.hstack([self._signal(atoms, codes) + noise, codes])

    def sampler(self, bank: Bank, rows: RowSource) -> Sampler:
        r"""Given the codes C: with :math:`CC^\top = HH^\top` of rank r, noise enters by a normal (q, r) matrix G.

        :math:`|\sqrt\nu E - \Delta C|^2 = |\sqrt\nu G - \Delta H|^2 + \nu\chi^2_{(n-r)q}`, as the rest of E is
        orthogonal to the codes.
        """
        q = len(bank.states.elements)
        gram = sum((block[:, q:].T @ block[:, q:] for block in rows.blocks()), np.zeros((1, 1)))
        values, vectors = np.linalg.eigh(gram)
        seen = values > len(values) * np.finfo(np.float64).eps * values[-1]
        root = vectors[:, seen] * np.sqrt(values[seen])
        freedom = (rows.n_rows - int(seen.sum())) * q

        def draw(key: int, keys: IntArray, rng: np.random.Generator, count: int) -> Array:
            (own,), (noise,) = self._maps(bank, np.array([key]))
            maps, noises = self._maps(bank, keys)  # (r, q, codes), (r,)
            normal = rng.standard_normal((count, q, root.shape[1]))
            rest = rng.chisquare(freedom, count) if freedom else np.zeros(count)
            gaps = (maps - own) @ root
            squares = noise * (np.sum(normal**2, axis=(1, 2)) + rest)[:, None] + np.sum(gaps**2, axis=(1, 2))
            squares -= 2.0 * np.sqrt(noise) * np.einsum("rqc,bqc->br", gaps, normal)
            return np.asarray(-0.5 * (rows.n_rows * q * np.log(2.0 * np.pi * noises) + squares / noises))

        return draw

    def _maps(self, bank: Bank, keys: IntArray) -> tuple[Array, Array]:
        """(k, q, codes) real matrices from codes to rows, and (k,) the variance of each real entry."""
        parts = bank.calibration_parts(keys)
        index = bank.states.element_index(parts.state)
        codes = np.eye(self.width(bank) - len(bank.states.elements))
        maps = [self._signal(bank.states.elements[:, chosen], codes).T for chosen in index]
        return np.array(maps), self.entry_noises(parts.nuisance)

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> Stream:
        """The rows, scored under every state and noise."""
        parts = streams.measured_and_codes(rows, len(bank.states.elements))
        return streams.known_code_stream(*parts, bank.states, self.variances, checkpoints, is_complex=self.is_complex)

    def free_opponent(self, bank: Bank, proposal: Proposal, key: int) -> Point:  # noqa: ARG002
        """The dictionary of least squares, and the noise that it leaves; of too few rows the largest of the law."""
        table = np.concatenate([*proposal.rows.blocks()]).T
        q = len(bank.states.elements)
        measured, codes = (as_complex(part) if self.is_complex else part for part in (table[:q], table[q:]))
        atoms = np.linalg.lstsq(codes.T, measured.T, rcond=None)[0].T
        freedom = (proposal.rows.n_rows - int(np.linalg.matrix_rank(codes))) * len(measured)
        noise = float((np.abs(measured - atoms @ codes) ** 2).sum()) / freedom if freedom else 0.0
        return dictionary_point(atoms, noise if noise > 0.0 else float(self.variances.max()))

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy:
        r""":math:`\sum_i\|y_i - Dc_i\|^2/\nu`, chi-square."""
        atoms = bank.explanation(explanation).atoms
        q = len(bank.states.elements)
        scale = sqrt(self.entry_noises(bank.split(explanation).calibration)[0])
        blocks = ((block[:, :q] - self._signal(atoms, block[:, q:])) / scale for block in rows.blocks())
        return chi_square(float(sum(np.sum(block**2) for block in blocks)), rows.n_rows * q)

    def _signal(self, atoms: Array, codes: Array) -> Array:
        """(n, q) dictionary times codes; atoms: (q, n), codes: (n, atoms), all as pairs if complex."""
        if not self.is_complex:
            return codes @ atoms.T
        return as_pairs((as_complex(atoms) @ as_complex(codes.T)).T)


@register
@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Latent(NoisyLaw):
    r"""Rows :math:`y_i = Dc_i + \xi_i` with unseen codes: an exact mixture over all active sets (eq:training-model).

    laws: of the codes, one for each nuisance setting; None is Bernoulli-Gaussian with the bank's nuisance `p`.
    propose: proposal rows to a law off the bank, as opponent; None takes the best of the bank.
    """

    name: ClassVar[str] = "latent"
    part: ClassVar[Part] = "calibration"
    why_real: ClassVar[str] = "Latent codes are real; a complex calibration needs known codes, or can be left out."
    has_statistics: ClassVar[bool] = False
    has_sign: ClassVar[bool] = False
    file_keys: ClassVar[Mapping[str, bool]] = {**Law.file_keys, "activity": True}
    opponents: ClassVar[tuple[str, ...]] = ("key", "point")
    mixed: ClassVar[tuple[str, ...]] = ("key", "point")
    takes_sets: ClassVar[bool] = False

    laws: Sequence[CodeLaw] | None = None
    propose: Callable[[Array], Point] | None = None

    def __post_init__(self) -> None:
        """Copies: a law must stay what it was when a protocol was frozen."""
        super().__post_init__()
        if self.laws is None:
            return
        for law in self.laws:
            if getattr(law, "encode", None) is None:
                remedy = "Write it as an ExchangeableGaussian."
                raise MisuseError("laws", "be Bernoulli-Gaussian or exchangeable", type(law).__name__, remedy)
        object.__setattr__(self, "laws", tuple(self.laws))

    def completed(self, bank: Bank) -> Self:
        """Return the law with noises and activities of the bank, if it has none itself."""
        laws = self.laws
        if laws is None:
            activities = self.column(bank, "p", "laws", "[BernoulliGaussian(0.2)]", 0.2)
            laws = [BernoulliGaussian(float(p)) for p in activities]
        if len(laws) != len(self.nuisances(bank)):
            raise MisuseError(
                "laws", f"be one for each of the {len(self.nuisances(bank))} nuisance settings", len(laws)
            )
        # With its laws first: whether they are those of the bank is looked at where the noises are.
        return NoisyLaw.completed(replace(self, laws=laws), bank)

    def check_bank(self, bank: Bank) -> None:
        """Refuse other noises or activities than those of the bank, where it has some."""
        super().check_bank(bank)
        if "p" in self.nuisances(bank).names:
            activities = [BernoulliGaussian(float(p)).encode() for p in self.nuisances(bank).column("p")]
            self._check_same("laws", [law.encode() for law in self.code_laws], [*activities])

    @property
    def code_laws(self) -> tuple[CodeLaw, ...]:
        """One for each nuisance setting."""
        if self.laws is None:
            raise MisuseError("law", "be completed with a bank", Clause("it has no laws of the codes"))
        return tuple(self.laws)

    def sample(self, bank: Bank, explanation: int, rng: np.random.Generator, n_rows: int) -> Array:
        """(n_rows, q) rows of an explanation."""
        law, noise = self._at(bank, explanation)
        return make_calibration(law, bank.explanation(explanation).atoms, noise, rng, n_rows)

    def stream(self, bank: Bank, rows: RowSource, checkpoints: ArrayLike) -> Stream:
        """The rows, scored under every state and nuisance."""
        return streams.latent_stream(rows, bank.states, self.code_laws, self.variances, checkpoints)

    def symmetries(self, bank: Bank, keys: IntArray) -> Array:
        r"""The nuisances, and the inner products of all atoms of the tuple.

        Equal inner products mean one turn Q of all dictionaries, and with :math:`y = Dc + \xi`, whose noise is white,
        :math:`Qy` has the law of QD while no density at QD tells Qy from y at D.
        """
        parts = bank.calibration_parts(keys.ravel())
        index = bank.states.element_index(parts.state).reshape(len(keys), -1)  # (k, r n)
        atoms = bank.states.elements[:, index].transpose(1, 0, 2)
        gram = np.swapaxes(atoms, 1, 2) @ atoms
        return np.hstack([parts.nuisance.reshape(keys.shape), gram.reshape(len(keys), -1)])

    def own_opponent(self, rows: RowSource) -> Point | None:
        """The opponent that the function `propose` makes of the rows."""
        return None if self.propose is None else self.propose(np.concatenate([*rows.blocks()]))

    def free_opponent(self, bank: Bank, proposal: Proposal, key: int) -> Point:
        """Atoms, activity and noise that the rows make likely, none of them held to the bank; from a key of it on."""
        parts = bank.calibration_parts(np.array([key]))
        nuisance = int(parts.nuisance[0])
        index = bank.states.element_index(parts.state)[0]
        energy = law_moments(self.code_laws[nuisance], len(index)).a1
        p = float(np.clip(energy, 0.01, MOST_ACTIVE - 0.01))
        start = latent_point(bank.states.elements[:, index], p, float(self.variances[nuisance]))
        return refined_point(np.concatenate([*proposal.rows.blocks()]), start)

    def energy(self, bank: Bank, explanation: int, rows: RowSource) -> Energy:
        r""":math:`\sum_iy_i^\top C^{-1}y_i` with the covariance C of the whole mixture; its tails are approximated."""
        atoms = bank.explanation(explanation).atoms
        (law, noise) = self._at(bank, explanation)
        variance = latent_energy_variance(law, atoms, noise)
        energy = whitened_energy(rows, latent_factor(law, atoms), noise)
        return Energy(energy, float(rows.n_rows * len(atoms)), sqrt(rows.n_rows * variance), is_exact=False)

    def _at(self, bank: Bank, explanation: int) -> tuple[CodeLaw, float]:
        nuisance = int(bank.split(explanation).calibration[0])
        return self.code_laws[nuisance], float(self.variances[nuisance])

    def encode(self) -> dict[str, object]:
        """With the laws of the codes; what a function proposes stands with the opponent."""
        return super().encode() | {"laws": [law.encode() for law in self.code_laws]}

    @classmethod
    def decode(cls, node: Mapping[str, object], stream: str = "the stream") -> Self:
        """Read what `encode` made."""
        nodes = cast(list[object], node["laws"])
        noises = read_noises(node, stream)
        if len(nodes) != len(noises):
            raise Refusal(f"{stream} has not one coefficient law for each noise")
        return cls(noises=noises, is_complex=bool(node["is_complex"]), laws=[decode_code_law(n, stream) for n in nodes])


def latent_energy_variance(law: CodeLaw, atoms: Array, noise: float) -> float:
    r"""Variance of :math:`Q = y^\top C^{-1}y` for a row :math:`y = Dc + \xi` with C its covariance, so :math:`EQ = q`.

    With :math:`A = C^{-1},\ B = D^\top AD` and the moments :math:`a_1, a_{2d}, a_{2o}` of the codes,
    :math:`E(c^\top Bc)^2 = 3a_{2d}\sum_iB_{ii}^2 + a_{2o}\sum_{i\ne j}(B_{ii}B_{jj} + 2B_{ij}^2)`, and the rest of
    :math:`Q = c^\top Bc + 2c^\top D^\top A\xi + \xi^\top A\xi` is Gaussian given c.  No active set is listed.
    The singular values s of :math:`\sqrt{a_1/\nu}D` give :math:`\nu A` the eigenvalues :math:`t = 1/(1 + s^2)` and
    :math:`a_1B` the eigenvalues 1 - t, all between 0 and 1 whatever the noise.
    atoms: (q, n).  NaN if noise and signal are too many powers of ten apart for double precision.
    """
    q, n = atoms.shape
    moments = law_moments(law, n)
    try:
        _, s, right = np.linalg.svd(latent_factor(law, atoms) / sqrt(noise), full_matrices=False)
    except np.linalg.LinAlgError:
        return nan
    t = 1.0 / (1.0 + s**2)
    rest = q - len(s)  # outside the span of D the eigenvalue is 1
    b = (right.T * (1.0 - t)) @ right  # a_1 B, (n, n)
    diagonal = float(np.sum(np.diag(b) ** 2))
    trace_b = float(np.sum(1.0 - t))
    trace_a = float(np.sum(t)) + rest
    pairs = trace_b**2 - diagonal + 2.0 * (float(np.sum(b**2)) - diagonal)
    square = moments.a1**2 or 1.0  # codes that are always 0 have b = 0
    codes = 3.0 * moments.a2d / square * diagonal + moments.a2o / square * pairs
    cross = 4.0 * float(np.sum((1.0 - t) * t))
    disturbance = trace_a**2 + 2.0 * (float(np.sum(t**2)) + rest)
    return float(codes + cross + disturbance + 2.0 * trace_b * trace_a - float(q) ** 2)


def latent_factor(law: CodeLaw, atoms: Array) -> Array:
    r""":math:`F = \sqrt{a_1}D`, so that a row with latent codes has the covariance :math:`\nu I + FF^\top`; (q, n)."""
    return np.asarray(sqrt(law_moments(law, atoms.shape[1]).a1) * atoms)


# A latent law off the bank: atoms, activity and noise that proposal rows make likely, by expectation-maximisation.


# Sets of active atoms that are looked at, the smallest first: the law itself has all of them, the search need not.
_MOST_SETS = 1024
_N_STEPS = 20
_LEAST_ACTIVE = 1e-3


def refined_point(rows: Array, start: Point) -> Point:
    """The most likely of the laws that expectation-maximisation passes through, the start among them.

    rows: (N, q) that propose.  Any of them would be an opponent: nothing about its validity hangs on how far this gets.
    """
    n = start.numbers["atoms"].shape[1]
    every = chain.from_iterable(combinations(range(n), size) for size in range(n + 1))
    sets = [np.array(chosen, dtype=np.int64) for chosen in islice(every, _MOST_SETS)]
    point = start
    best = start
    most = -np.inf
    for _ in range(_N_STEPS):
        likelihood, following = _step(rows, point, sets)
        if likelihood > most:
            best = point
            most = likelihood
        point = following
    return best


def _step(rows: Array, point: Point, sets: list[IntArray]) -> tuple[float, Point]:
    """The log likelihood of a law, up to a constant, and the law after it."""
    (n_rows, q) = rows.shape
    dictionary = point.numbers["atoms"]
    activity = point.numbers["p"]
    noise = point.numbers["noise"]
    n = dictionary.shape[1]
    logs = np.empty((len(sets), n_rows))
    means = np.zeros((len(sets), n_rows, n))
    spreads = np.zeros((len(sets), n, n))
    for i, active in enumerate(sets):
        atoms = dictionary[:, active]
        inverse = np.linalg.inv(atoms.T @ atoms + noise * np.eye(len(active)))
        product = rows @ atoms  # (N, r)
        code = product @ inverse
        means[i][:, active] = code
        spreads[i][np.ix_(active, active)] = noise * inverse
        volume = (q - len(active)) * log(noise) - np.linalg.slogdet(inverse)[1]
        prior = len(active) * log(activity) + (n - len(active)) * log(1.0 - activity)
        logs[i] = prior - 0.5 * (volume - np.sum(product * code, axis=1) / noise)
    peak = logs.max(axis=0)
    weights = np.exp(logs - peak)
    total = weights.sum(axis=0)
    weights /= total
    energy = float(np.sum(rows**2))
    likelihood = float(np.sum(peak + np.log(total))) - 0.5 * energy / noise
    weighted = weights[:, :, None] * means
    cross = rows.T @ weighted.sum(axis=0)  # (q, n)
    gram = np.einsum("itj,itk->jk", weighted, means) + np.einsum("it,ijk->jk", weights, spreads)
    atoms = cross @ np.linalg.pinv(gram)
    norms = np.linalg.norm(atoms, axis=0)
    atoms = np.where(norms > 0.0, atoms / np.where(norms > 0.0, norms, 1.0), dictionary)
    left = energy - 2.0 * float(np.sum(atoms * cross)) + float(np.sum((atoms @ gram) * atoms))
    active = weights.sum(axis=1) @ np.array([len(chosen) for chosen in sets])
    p = float(np.clip(active / (n_rows * n), _LEAST_ACTIVE, MOST_ACTIVE - _LEAST_ACTIVE))
    return likelihood, latent_point(atoms, p, max(left / rows.size, noise * _LEAST_ACTIVE))
