from ._live import write_live as write_live
from ._page import page_html as page_html, pictures_html as pictures_html, write_page as write_page
from ._svg import picture_svg as picture_svg
