"""How the published studies derive one seed from another."""


def split_seed(data_seed: int) -> int:
    """The seed of the split: the data seed with its leading digit replaced by 9.

    >>> split_seed(2026091011)
    9026091011
    """
    return int("9" + str(data_seed)[1:])
