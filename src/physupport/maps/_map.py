"""A label for every signal: run block by block, stopped and continued at will, the same bytes whoever did the work."""

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
from numba import get_num_threads

from .._checks import check_count
from .._codec import array_json, content_hash, rows_hash
from .._errors import Clause, MisuseError
from .._typing import BoolArray, Field
from .._version import __version__
from ._protocol import GATES, LABELS, BlockWork, MapProtocol, Pieces, chosen_level
from ._result import SignalMap
from ._signals import Axis, Signals, as_signals
from ._store import LAYERS, WIDTH, Store

_RETRIES = 5
_ANSWER = 5  # seconds in which a scheduler that is there answers, also from far away; twice that for all it says
_WORKERS = 30  # seconds in which the first worker comes, and in which all have the tables
_LOOK = 5  # seconds without a result after which new workers are looked at
_STAYS = "Finished blocks are kept: repeat the call to continue."


class Workers(NamedTuple):
    """An executor, the work as it takes it, the program it must run, blocks under way at most, and a check."""

    executor: Executor
    work: Any  # BlockWork, or where Dask keeps it
    program: dict[str, str] | None
    window: int
    check: Callable[[], None]  # raises if a worker runs another program

    def submit(self, layer: str, level: int, rows: Field) -> Future[Pieces]:
        """Begin a block."""
        return self.executor.submit(_apply, self.work, layer, level, rows, self.program)

    def wait(self, pending: dict[Future[Pieces], Any]) -> set[Future[Pieces]]:
        """Blocks that are done, at least one; workers that hold up the others are looked for while nothing is."""
        while not (done := wait(pending, _LOOK, FIRST_COMPLETED).done):
            self.check()
        return done


def _apply(work: BlockWork, layer: str, level: int, rows: Field, needed: dict[str, str] | None) -> Pieces:
    if needed is not None and needed != program():  # a worker that came after the check
        raise MisuseError("scheduler", _SAME, _difference(needed, program()), _INSTALL)
    return work.second(rows, level) if layer == "share" else work.first(rows)


@contextmanager
def workers(work: BlockWork, scheduler: str | None, threads: int) -> Iterator[Workers]:
    """Threads of this process, or the workers of a Dask scheduler: `local`, or its address."""
    if scheduler is None:
        with ThreadPoolExecutor(threads) as pool:
            yield Workers(pool, work, None, 2 * threads, lambda: None)
        return
    with _connected(scheduler, threads) as client:
        checked: set[str] = set()

        def check() -> None:
            _check_programs(client, checked)

        try:
            try:
                client.wait_for_workers(1, timeout=_WORKERS)
            except TimeoutError:
                rule = f"have a worker within {_WORKERS} seconds"
                remedy = f"Start one with: dask worker {client.scheduler.address}"
                raise MisuseError("scheduler", rule, Clause("there is none"), remedy) from None
            check()
            executor = client.get_executor(pure=False, retries=_RETRIES)
            client.amm.stop()  # it drops spare copies of what every worker needs, and a killed one may have the last
            shared = client.scatter(work, broadcast=True, timeout=_WORKERS)
            yield Workers(executor, shared, program(), 2 * max(1, len(client.ncores())), check)
        except MisuseError:
            raise
        except (CancelledError, import_module("distributed").KilledWorker):
            raise MisuseError(
                "scheduler", "keep one worker alive, which has the tables", Clause("none is left"), _STAYS
            ) from None
        except Exception:
            check()  # tells best, if it does, what was wrong
            raise


@contextmanager
def _connected(scheduler: str, threads: int) -> Iterator[Any]:
    """A client of Dask."""
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        remedy = 'Install it with pip install "physupport[maps]".'
        raise MisuseError("scheduler", "be left out without dask", scheduler, remedy) from error
    with _own_safety() if scheduler == "local" else nullcontext():
        try:
            if scheduler == "local":  # processes on this machine, whose pages are served on this machine alone
                page = "127.0.0.1:0"  # any free port: another cluster may have the usual one
                pages = {"dashboard_address": page, "worker_dashboard_address": page}
                client = distributed.Client(n_workers=threads, threads_per_worker=1, host="127.0.0.1", **pages)
            else:
                client = _answered(distributed, scheduler)
        except Exception as error:  # another server's answers may be taken for anything
            rule = "be local, or the address of one that answers"
            raise MisuseError("scheduler", rule, f"{scheduler} ({error})") from None
        with client:
            yield client


@contextmanager
def _own_safety() -> Iterator[None]:
    """Keep processes that Dask starts from importing files that others may write.

    These are the current folder, which Python searches first in such a process, and a folder for temporary files that
    Dask shares between users and searches first as well.
    """
    before = os.environ.get("PYTHONSAFEPATH", "")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        with (
            TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            import_module("dask").config.set({"temporary-directory": folder}),
        ):
            yield
    finally:
        os.environ["PYTHONSAFEPATH"] = before  # empty means off


def _answered(distributed: Any, address: str) -> Any:  # noqa: ANN401  a module, and a client of Dask
    """Connect to an address within seconds; where something listens and never speaks, Dask itself would wait on."""
    found: Future[Any] = Future()

    def connect() -> None:
        try:
            found.set_result(distributed.Client(address, timeout=_ANSWER))
        except Exception as error:
            found.set_exception(error)

    Thread(target=connect, daemon=True).start()
    if not wait([found], 2 * _ANSWER).done:  # Dask tells best, if it does, what was wrong
        raise TimeoutError(f"no answer after {2 * _ANSWER} s")
    return found.result()


_SAME = "have workers that run the same program as this process"
_INSTALL = "Install the same versions there, and start the worker again."


@cache
def program() -> dict[str, str]:
    """The versions this process computes with, and a digest of all sources of the package."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    others = {name: version(name) for name in ("numba", "numpy", "scipy")}
    return {"physupport": __version__, "digest of its sources": digest.hexdigest()[:12], **others}


def _difference(needed: dict[str, str], found: dict[str, str]) -> str:
    return ", ".join(
        f"{name} {found.get(name)} instead of {each}" for name, each in needed.items() if found.get(name) != each
    )


def _check_programs(client: Any, checked: set[str]) -> None:  # noqa: ANN401
    """Raise if a worker lacks the package or runs another program; those that do not are added to `checked`."""
    new = [address for address in client.ncores() if address not in checked]
    for address, found in (client.run(program, workers=new, on_error="return") if new else {}).items():
        match found:
            case OSError():  # is gone
                continue
            case Exception():
                raise MisuseError("scheduler", _SAME, Clause(f"{address} cannot ({found})"), _INSTALL)
        if found != program():
            raise MisuseError(
                "scheduler", _SAME, Clause(f"{address} differs in its {_difference(program(), found)}"), _INSTALL
            )
        checked.add(address)


# Signals of a block, which is a chunk of the arrays; a thread holds the codes of one block at a time.
BLOCK = 8192
_VERSION = 5  # of the arrays of a map
Progress = Callable[[int, int], None]


def map_signals(
    signals: object,
    protocol: MapProtocol,
    out: str | os.PathLike[str],
    *,
    channels: Axis = None,
    repeats: Axis = None,
    member: str | None = None,
    block: int = BLOCK,
    threads: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> SignalMap:
    """Label every signal (..., q) in a folder, and go on where an earlier run of the same map was stopped.

    signals, channels, repeats, member: see `as_signals`.  Every signal has its report at the level of the protocol; a
    second layer, at a smaller common level, holds the share of false statements over the map (see the rate).
    block: signals that are read, judged and written together, at most so many.
    threads: as many as numba uses unless given.  scheduler: `local`, or the address of a Dask scheduler, whose workers
    get blocks of signals and give arrays back; one that dies is done again.  Neither changes a byte of the result.
    progress: called with the blocks that are done and their number.
    """
    opened = as_signals(signals, channels=channels, repeats=repeats, member=member).in_order(protocol.channels)
    judge = protocol.judge
    if opened.channels != judge.channels or (opened.is_complex and not judge.is_complex):
        rule = f"have {judge.channels} {'complex' if judge.is_complex else 'real'} channels, as the atoms have"
        raise MisuseError("signals", rule, f"{opened.values.dtype} of shape {(*opened.shape, opened.channels)}")
    count = get_num_threads() if threads is None else check_count("threads", threads)
    with Store.held(Path(out), _about(opened, protocol, check_count("block", block))) as store:
        layers = ("first", "share") if protocol.rate is not None else ("first",)
        for layer in layers:
            for name in store.of_layer(layer):
                store.add(name, {"units": store.about["unit"]} if name in _MEASURED else {})
        _check_same(store, opened, layers)
        if not _is_complete(store, layers):
            store.check_room()
            work = protocol.work(opened.count, count, opened.repeats)
            with workers(work, scheduler, count) as at_work:
                for layer in layers:
                    level = _share_level(store, protocol) if layer == "share" else 0
                    if level is not None:
                        _fill(store, opened, layer, level, at_work, progress)
        _finish(store, opened)
    return SignalMap(store)


# Arrays in the unit of the signals.
_MEASURED = ("amplitude", "noise")


def _about(signals: Signals, protocol: MapProtocol, block: int) -> dict[str, Any]:
    """Describe the map for readers of the folder, with a hash of all that decides."""
    question = protocol.question
    taken = {*LAYERS["first"], *WIDTH, *LAYERS["share"], "region", "byte"}
    for axis in signals.axes:
        if axis in taken or not axis.strip() or any(sign in axis for sign in "/\\") or axis.startswith("."):
            rule = "have names of axes that differ from each other and from the arrays of a map, and could name files"
            raise MisuseError("signals", rule, repr(axis), "Give the axis another name.")
        taken.add(axis)
    shape = [*signals.shape, signals.repeats, signals.channels]
    return {
        "kind": "physupport map",
        "version": _VERSION,
        "digest": content_hash({"protocol": protocol.digest, "shape": shape, "block": block, "version": _VERSION}),
        "protocol": protocol.content,
        "shape": [*signals.shape],
        "repeats": signals.repeats,
        "axes": [*signals.axes],
        "bands": [*signals.bands],
        "unit": signals.unit,
        "block": block,
        "level": protocol.level,
        "rate": protocol.rate,
        "levels": protocol.levels(signals.count).tolist(),
        "are_e_values": protocol.judge.are_e_values,
        "arrays": [
            *LAYERS["first"],
            *(() if protocol.judge.stated_error is None else WIDTH),
            *(LAYERS["share"] if protocol.rate is not None else ()),
        ],
        "regions": [
            {"name": region.name, "elements": [*region.elements], "groups": [name for name, _ in region.groups]}
            for region in question.asked_regions
        ],
        "slots": array_json(question.slots(np.arange(question.n_explanations))),
        "outsiders": [*protocol.judge.places],
        "labels": [str(label) for label in LABELS],
        "gates": [*GATES],
        "share": None,
        "is_complete": False,
    }


def _check_same(store: Store, signals: Signals, layers: tuple[str, ...]) -> None:
    """Raise if blocks were done for other signals: their hashes are taken again."""
    marks = np.stack([store.hashes(layer) for layer in layers])  # (layers, blocks, 32)
    for block in np.flatnonzero(marks.any(axis=(0, 2))).tolist():
        digest = _hashed(signals, store, block)[1]
        if any(mark.any() and bytes(mark).hex() != digest for mark in marks[:, block]):
            rule = "be those that the map in this folder was made of"
            remedy = "Name another folder."
            raise MisuseError("signals", rule, Clause(f"block {block} has others"), remedy)


def _is_complete(store: Store, layers: tuple[str, ...]) -> bool:
    """True if there is nothing left to do; what was lost or cut since it was done is to be done again."""
    for layer in layers:
        store.unmark_damaged(layer)
    share = store.about["share"]
    filled = [layer for layer in layers if layer == "first" or (share is not None and share["level"] > 0.0)]
    if store.about["is_complete"] and store.has_all_chunks() and all(store.is_done(layer).all() for layer in filled):
        return True
    if store.about["is_complete"]:
        store.about["is_complete"] = False
        store.write_about()
    return False


def _hashed(signals: Signals, store: Store, block: int) -> tuple[Field, str]:
    """The signals of a block, and their hash."""
    rows = signals.read(store.blocks.slices(block))
    return rows, rows_hash([rows], rows.shape)


def _finish(store: Store, signals: Signals) -> None:
    """Coordinates and words; a map is complete when it says so."""
    for axis, (values, unit) in signals.coordinates.items():
        store.add_whole(axis, values, [axis], {"units": unit} if unit else {})
    store.add_whole("region", np.array([region["name"] for region in store.about["regions"]]), ["region"], {})
    store.about["is_complete"] = True
    kept = ("labels", "gates", "outsiders", "regions", "level", "rate", "levels", "share", "unit", "bands", "protocol")
    store.finish({name: store.about[name] for name in kept})
    store.write_about()


def _share_level(store: Store, protocol: MapProtocol) -> int | None:
    """The number of the level of the second layer, from what the first states."""
    levels = np.array(store.about["levels"])
    count = int(np.prod(store.about["shape"]))
    tally = np.zeros(len(levels) + 1, dtype=np.int64)
    for block in range(len(store.blocks)):
        tally += np.bincount(store.read("evidence", block).max(axis=1), minlength=len(tally))
    statements = np.cumsum(tally[::-1])[::-1][1:]  # (L,) signals that state something at each level
    assert protocol.rate is not None
    number = chosen_level(levels, statements, protocol.rate, count, protocol.judge.are_e_values)
    stated = {"level": 0.0, "statements": 0} if number is None else {
        "level": float(levels[number]), "statements": int(statements[number])
    }  # fmt: skip
    store.about["share"] = {"rate": protocol.rate, "signals": count, **stated}
    store.write_about()
    return number


def _fill(store: Store, signals: Signals, layer: str, level: int, workers: Workers, progress: Progress | None) -> None:
    """Judge all remaining blocks of a layer, with only a few in memory for each worker.

    In the second layer only signals that state something at its level matter; the entries of others stay 0.
    """
    is_done = store.is_done(layer)
    first_hashes = store.hashes("first")  # before the second layer all of them are there
    done = int(is_done.sum())
    pending: dict[Future[Pieces], tuple[int, str, BoolArray]] = {}

    def take() -> None:
        nonlocal done
        for future in workers.wait(pending):
            block, digest, matters = pending.pop(future)
            filled = {}
            for name, piece in future.result().items():
                filled[name] = np.zeros((len(matters), *piece.shape[1:]), dtype=piece.dtype)
                filled[name][matters] = piece
            store.write(filled, block)
            store.mark(layer, block, digest)
            done += 1
            if progress is not None:
                progress(done, len(is_done))

    for block in np.flatnonzero(~is_done).tolist():
        while len(pending) >= workers.window:
            take()
        rows, digest = _hashed(signals, store, block)
        matters = np.ones(len(rows), dtype=np.bool_)
        if layer == "share":
            if bytes(first_hashes[block]).hex() != digest:
                raise MisuseError(
                    "signals", "stay what they are while they are in use", Clause(f"block {block} changed")
                )
            matters = store.read("evidence", block).max(axis=1) > level
        pending[workers.submit(layer, level, rows[matters])] = block, digest, matters
    while pending:
        take()
