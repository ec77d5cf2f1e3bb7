"""Numbers, names and labels as pictures write them."""

from collections.abc import Mapping


def kind_of(label: str) -> str:
    """The family of a label, which decides its sign and colour: certain, absent, group, ...."""
    if label in ("FINE", "REPORT"):
        return "certain"
    if label.endswith("AMBIGUOUS"):
        return "ambiguous"
    return label.lower() if label in ("ABSENT", "GROUP", "EMPTY") else "open"


def label_words(label: str) -> str:
    """A label as words.

    >>> label_words("SUPPORT_AMBIGUOUS")
    'support ambiguous'
    """
    return label.replace("_", " ").lower()


def number(value: float | str | None, digits: int = 4) -> str:
    """A number in four digits with a true minus sign; a dash where there is none.

    >>> number(-2.54659), number(35223.4), number("-inf"), number(None)
    ('−2.547', '35223', '−∞', '—')
    """
    if value is None:
        return "—"
    if isinstance(value, str):
        text = value.replace("inf", "∞")
    else:
        is_long = 10.0**digits <= abs(value) < 1e7  # whole numbers are easier to read than powers of ten
        text = f"{value:.0f}" if is_long else f"{value:.{digits}g}"
    return text.replace("-", "−")


def grouped(count: int) -> str:
    """A count with a space between thousands.

    >>> grouped(1234567)
    '1 234 567'
    """
    return f"{count:,}".replace(",", " ")


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "query"), counted(4, "explanation")
    ('1 query', '4 explanations')
    """
    return f"{grouped(count)} {noun}" + ("" if count == 1 else "s")


def shortened(name: str, most: int = 24) -> str:
    """A name that fits beside a picture, cut in the middle, since many differ at the end alone.

    >>> shortened("mineral of kind 17", 12)
    'minera…nd 17'
    """
    tail = (most - 1) // 2
    return name if len(name) <= most else f"{name[: most - 1 - tail]}…{name[-tail:]}"


def setting_words(setting: Mapping[str, float]) -> list[str]:
    """Calibration parameters with their values.

    >>> setting_words({"width": 0.9, "gain": 0.0})
    ['width 0.9', 'gain 0']
    """
    return [f"{shortened(name, 16)} {number(value)}" for name, value in setting.items()]
