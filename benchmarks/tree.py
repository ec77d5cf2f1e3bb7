"""The two measures of the tree: its size, and the length of the way of the data; `python -m benchmarks.tree`.

Size is counted in tokens without comments and docstrings, so that neither joined lines nor deleted words change it. The
way is what one report on six elements passes: functions of the package, and the modules that they stand in.
"""

import ast
import io
import sys
import tokenize
from pathlib import Path

import numpy as np

import physupport
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.banks import Library, library_bank

PACKAGE = Path(physupport.__file__).parent
SPACING = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def size(folder):
    """Modules, tokens, classes and functions of a folder."""
    counts = {"modules": 0, "tokens": 0, "classes": 0, "functions": 0}
    for path in folder.rglob("*.py"):
        text = path.read_text()
        nodes = [*ast.walk(ast.parse(text))]
        strings = [each.value for each in nodes if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)]
        docs = {line for each in strings for line in range(each.lineno, each.end_lineno + 1)}
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        counts["modules"] += 1
        counts["tokens"] += sum(each.type not in SPACING and each.start[0] not in docs for each in tokens)
        counts["classes"] += sum(isinstance(each, ast.ClassDef) for each in nodes)
        counts["functions"] += sum(isinstance(each, ast.FunctionDef) for each in nodes)
    return counts


def way():
    """Functions and modules that `fit` and `report` pass on six elements."""
    rng = np.random.default_rng(0)
    names = [f"e{i}" for i in range(6)]
    library = Library(names, ["a"] * 3 + ["b"] * 3, np.arange(6.0)[:, None], np.eye(6))
    plan = StreamPlan("covariance", 0.5, noises=[1.0])
    model = PhysicalSupport(
        library_bank(library, [["a", "b"]], {"a": 1.0, "b": 1.0}), calibration=None, deployment=plan
    )
    rows = rng.normal(size=(40, 6))
    model.fit(None).report(rows)  # imports, and kernels that are compiled
    passed = set()

    def note(frame, event, _):
        if event == "call" and Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
            passed.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    sys.setprofile(note)
    try:
        model.fit(None).report(rows)
    finally:
        sys.setprofile(None)
    return {"functions": len(passed), "modules": len({file for file, _ in passed})}


if __name__ == "__main__":
    for name, counts in (("size", size(PACKAGE)), ("way of the data", way())):
        print(f"{name}: {', '.join(f'{count} {what}' for what, count in counts.items())}")
