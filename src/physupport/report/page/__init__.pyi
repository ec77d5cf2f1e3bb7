from ._notebook import pictures_html as pictures_html
from ._page import page_html as page_html, write_page as write_page
from ._svg import picture_svg as picture_svg
