"""Code in remedies, as a reader would paste it; and the remedies that a module names, by its source."""

import ast
import json
import re
import tomllib

_PYTHON = re.compile(r"\b([a-z_]+) ?= ?")
_TOML = re.compile(r"(?:\[([a-z_.]+)\] )?((?:\"[^\"]+\"|[a-z_]+) = )")


def as_keywords(remedy, names):
    """Every `key=value` of a remedy as keywords of a call; those that a comma joins are one."""
    return _pasted(remedy, _PYTHON, lambda text: _keywords(text, names))


def _keywords(text, names):
    call = ast.parse(f"call({text})", mode="eval").body
    if call.args or not call.keywords:
        raise SyntaxError(text)
    values = (compile(ast.Expression(each.value), "remedy", "eval") for each in call.keywords)
    return {each.arg: eval(code, names) for each, code in zip(call.keywords, values, strict=True)}


def as_tables(remedy, table):
    """Every `key = value` of a remedy as tables of a project file, in the table that it names or else in this one."""
    return _pasted(remedy, _TOML, tomllib.loads, table)


def _pasted(remedy, pattern, read, table=""):
    """The longest piece from each beginning of code that reads; what "and" joins is one."""
    found = []
    end = 0
    for match in pattern.finditer(remedy):
        start = match.start(2) if pattern is _TOML else match.start()
        if start < end:
            continue
        for stop in range(len(remedy), match.end(), -1):
            if remedy[stop - 1] in ".,;: ":
                continue
            try:
                lines = read(remedy[start:stop])
            except (SyntaxError, NameError, ValueError):
                continue
            for part in reversed(((pattern is _TOML and match[1]) or table).split(".")):
                lines = {part: lines} if part else lines
            if found and remedy[end:start] == " and ":
                lines = merged(found.pop(), lines)
            found.append(lines)
            end = stop
            break
    return found


def merged(file, changes):
    """A project file with the keys of a remedy."""
    both = dict(file)
    for key, value in changes.items():
        is_table = isinstance(value, dict) and isinstance(both.get(key), dict)
        both[key] = merged(both[key], value) if is_table else value
    return both


def written(file):
    """A project file as text."""
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in file.items())


def _toml(value):
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{json.dumps(key)} = {_toml(each)}' for key, each in value.items())} }}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


def remedies_named(path):
    """A pattern for each text that the refusals of a module give as remedy: what it has fixed, in its order."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        node.target.id: node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    } | {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "remedy":
            found.append(node.value)
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func).rpartition(".")[2]
            place = {"MisuseError": 3, "MissingError": 3, "misuse": 3, "broken": 2}.get(name)
            if place is not None and len(node.exc.args) > place:
                found.append(node.exc.args[place])
    texts = [text for value in found for text in _texts(constants.get(getattr(value, "id", ""), value))]
    return sorted({text for text in texts if len(text) > 5})


def _texts(value):
    if isinstance(value, ast.IfExp):
        return [*_texts(value.body), *_texts(value.orelse)]
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [re.escape(value.value)]
    if isinstance(value, ast.JoinedStr):
        return [".*".join(re.escape(each.value) for each in value.values if isinstance(each, ast.Constant))]
    return []
