# line.py
import numpy as np

from physupport.banks import Library, library_bank, product_grid

PLACES = np.array([0.1, 0.4, 0.6, 0.9])
WAVES = np.exp(-0.5 * ((np.linspace(0.0, 1.0, 8)[:, None] - PLACES) / 0.15) ** 2)
LIBRARY = Library(["p1", "p2", "p3", "p4"], ["line"] * 4, PLACES[:, None], WAVES / np.linalg.norm(WAVES, axis=0))
BANK = library_bank(LIBRARY, [["line"]], {"line": [1.0]}, deployment=product_grid(noise=[0.3]))
TRUTH = 1  # p2
ROWS = LIBRARY.responses[:, TRUTH] + 0.3**0.5 * np.random.default_rng(5).standard_normal((200, 8))
