"""A sampled mutation score of laws, judges and questions: which small faults would the tests see?

    python -m benchmarks.mutants --count 150 --seed 1

Each mutant is one change of one token in a copy of the sources.  The tests of its folder run on it, then a slice of the
oracle; it is killed by the first test that fails, by an error, or by taking too long.  Survivors are printed with their
lines: each is a missing test, or a change that means nothing (an equivalent mutant), which somebody has to look at.
"""

import argparse
import ast
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "physupport"
PARTS = ("laws", "judges", "questions")
# Modules with kernels: a change in one makes all machine code anew, so that it needs a cache of its own.
KERNELS = "._compiled import"
SECONDS = 400  # of CPU for the tests of a mutant: several times what they take on what is not changed

COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}


@dataclass(frozen=True)
class Mutant:
    """One change: the text between two offsets of a file is replaced."""

    path: Path
    line: int
    start: int
    end: int
    new: str
    kind: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def told(self, text: str) -> str:
        name = self.path.relative_to(PACKAGE)
        changed = self.applied(text).splitlines()[self.line - 1].strip()
        return f"{name}:{self.line} {self.kind}\n    - {text.splitlines()[self.line - 1].strip()}\n    + {changed}"


class Sites(ast.NodeVisitor):
    """All changes of one module; annotations, decorators, messages and what only type checkers read are left alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text()
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Mutant] = []

    def offset(self, line: int, column: int) -> int:
        # Columns of the parser count bytes.
        start = self.starts[line - 1]
        text = self.text[start : self.starts[line]]
        return start + len(text.encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def add(self, start: int, end: int, new: str, kind: str) -> None:
        line = self.text.count("\n", 0, start) + 1
        self.found.append(Mutant(self.path, line, start, end, new, kind))

    def between(self, left: ast.AST, right: ast.AST, new: str, kind: str) -> None:
        """Replace the operator between two expressions."""
        start = self.span(left)[1]
        end = self.span(right)[0]
        operator = self.text[start:end].strip(" ()\n")
        if operator and "#" not in operator and "\n" not in operator:
            at = self.text.index(operator, start)
            self.add(at, at + len(operator), new, kind)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, right, operator in zip(sides, sides[1:], node.ops, strict=False):
            if type(operator) in COMPARISONS:
                self.between(left, right, COMPARISONS[type(operator)], "comparison")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_text = any(isinstance(side, ast.JoinedStr) for side in (node.left, node.right))
        if type(node.op) in OPERATORS and not is_text:
            self.between(node.left, node.right, OPERATORS[type(node.op)], "arithmetic")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, "or" if isinstance(node.op, ast.And) else "and", "boolean")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start, _ = self.span(node)
        if isinstance(node.op, ast.Not):
            self.add(start, start + len("not "), "", "negation")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        start, end = self.span(node)
        if isinstance(node.value, bool):
            self.add(start, end, str(not node.value), "boolean")
        elif isinstance(node.value, int | float):
            self.add(start, end, f"({self.text[start:end]} + 1)", "constant")

    def visit_If(self, node: ast.If) -> None:
        start, end = self.span(node.test)
        is_message = len(node.body) == 1 and isinstance(node.body[0], ast.Raise)
        if not (isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            if "\n" not in self.text[start:end] and not is_message:
                self.add(start, end, f"not ({self.text[start:end]})", "negation")
            self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is None:
            start, end = self.span(node)
            self.add(start, end, "pass", "early return")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        start, end = self.span(node)
        self.add(start, end, "pass", "continue")

    def visit_Raise(self, node: ast.Raise) -> None:
        """What a message says is no guarantee."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Nor is a text."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)):
            self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg not in ("strict", "kind", "repr", "slots", "frozen", "eq", "nogil"):
            self.visit(node.value)


def sites() -> Iterator[Mutant]:
    """All mutants of all parts that parse."""
    for part in PARTS:
        for path in sorted((PACKAGE / part).rglob("*.py")):
            visitor = Sites(path)
            visitor.visit(ast.parse(visitor.text))
            yield from visitor.found


def runs_of(path: Path) -> list[list[str]]:
    """Runs of pytest for a module, the nearest tests first; a package of the tree has a folder of that name."""
    inside = path.relative_to(PACKAGE).parent
    folder = ROOT / "tests" / inside
    nearest = [str(folder)] if len(inside.parts) > 1 else sorted(map(str, folder.glob("test_*.py")))
    return [["-m", "not slow", *nearest], [str(ROOT / "tests" / "oracle")]]


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    os.setpgrp()


def run(arguments: list[str], sources: Path, cache: Path) -> tuple[int, list[str]]:
    """The exit code of pytest, and the tests that failed."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    settings = {"PYTHONPATH": str(sources), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1", **threads}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", *arguments]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | settings, stdout=output, stderr=output, preexec_fn=limited
        )
        try:
            code = process.wait(4 * SECONDS)
        except subprocess.TimeoutExpired:
            code = -signal.SIGXCPU
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # a group of its own: nobody else is in it
                process.wait()
        output.seek(0)
        lines = [line for line in output.read().splitlines() if line.startswith(("FAILED", "ERROR"))]
    return code, [line.split(" - ")[0].split(" ", 1)[1] for line in lines]


def judged(mutant: Mutant, sources: Path, cache: Path, skipped: list[str]) -> str:
    """The test that killed a mutant, or an empty text; the copy of the sources is as before afterwards."""
    target = sources / "physupport" / mutant.path.relative_to(PACKAGE)
    text = mutant.path.read_text()
    with tempfile.TemporaryDirectory() as own:
        target.write_text(mutant.applied(text))
        try:
            for arguments in runs_of(mutant.path):
                code, failed = run(["-x", *skipped, *arguments], sources, Path(own) if KERNELS in text else cache)
                if code not in (0, 5):  # 5: no test was chosen
                    return failed[0] if failed else f"ended with {code}"
        finally:
            target.write_text(text)
    return ""


def failing(sources: Path, cache: Path) -> list[str]:
    """Tests that fail without any change, which could kill nothing; running all of them fills the cache, too."""
    folders = [str(ROOT / "tests" / part) for part in (*PARTS, "oracle")]
    failed = [test for folder in folders for test in run(["-m", "not slow", folder], sources, cache)[1]]
    for test in failed:
        print(f"Left out, as it fails without any change: {test}", flush=True)
    return [f"--deselect={test}" for test in failed]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=150, help="mutants of the sample")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--first", type=int, default=0, help="go on from this mutant of the sample")
    parser.add_argument("--minutes", type=float, default=60.0, help="of CPU; what is left then is not judged")
    parser.add_argument("--list", action="store_true", help="print the sample only")
    options = parser.parse_args()
    everything = [*sites()]
    chosen = random.Random(options.seed).sample(everything, min(options.count, len(everything)))[options.first :]
    print(f"{len(everything)} sites, {len(chosen)} in the sample", flush=True)
    if options.list:
        for mutant in chosen:
            print(mutant.told(mutant.path.read_text()))
        return 0
    outcomes: Counter[tuple[str, bool]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        sources = Path(folder) / "src"
        shutil.copytree(ROOT / "src", sources, ignore=shutil.ignore_patterns("__pycache__"))
        cache = Path(folder) / "numba"
        skipped = failing(sources, cache)
        for number, mutant in enumerate(chosen, options.first):
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            if used.ru_utime + used.ru_stime > 60.0 * options.minutes:
                print(f"Out of time: go on with --first {number}.")
                break
            killer = judged(mutant, sources, cache, skipped)
            outcomes[mutant.path.relative_to(PACKAGE).parts[0], bool(killer)] += 1
            print(f"{number:4} {mutant.kind:13} {killer or 'survived'}", flush=True)
            if not killer:
                print(mutant.told(mutant.path.read_text()), flush=True)
    for part in PARTS:
        killed = outcomes[part, True]
        print(f"{part}: {killed} of {killed + outcomes[part, False]} mutants killed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
