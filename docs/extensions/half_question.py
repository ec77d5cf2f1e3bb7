# half_question.py
from dataclasses import dataclass

import numpy as np

from physupport.banks import Bank
from physupport.questions import Answer, Certificate, FieldValues, Label, Question

NAMES = ("low", "high")


@dataclass(frozen=True)
class Half(Question):
    """In which half of a line the source lies."""

    bank: Bank
    border: float = 0.5

    @property
    def n_explanations(self):
        return self.bank.size

    def describe(self):
        return {"question": "half", "border": self.border, "bank": self.bank.digest}

    def half(self, index):
        places = self.bank.states.library.coordinates[self.bank.location(index)[:, 0], 0]
        return (places > self.border).astype(int)

    def says(self, index):  # may be left out
        return {"half": FieldValues(NAMES, self.half(index))}

    def answers(self, possible, witnessed):  # two flags for each explanation
        halves = self.half(np.arange(self.bank.size))
        cell = tuple(name for half, name in enumerate(NAMES) if possible[halves == half].any())
        firsts = [np.flatnonzero(witnessed & (halves == half))[:1].tolist() for half in (0, 1)]
        label, certificate = Label.ABSTAIN, Certificate("open")
        if len(cell) < 2:
            label, certificate = Label.FINE if cell else Label.EMPTY, Certificate("universal")
        elif all(firsts):
            label, certificate = Label.AMBIGUOUS, Certificate("witnesses", tuple(e for first in firsts for e in first))
        return (Answer("half", label, cell, None, (), certificate),)
