"""The report as one self-contained page: what the data allow, why, and how to check it."""

from typing import TYPE_CHECKING

from ..._lazy import published

if TYPE_CHECKING:
    from ._notebook import pictures_html as pictures_html
    from ._page import page_html as page_html, write_page as write_page
    from ._standalone import picture_svg as picture_svg
else:
    __getattr__, __dir__, __all__ = published(__name__)
