import numpy as np
import pytest
from scipy import stats

from physupport._checks import Interval
from physupport._errors import MisuseError
from physupport.laws import BernoulliGaussian, ExchangeableGaussian
from physupport.local.regions import CalibrationClass, CalibrationParameter


def test_members_of_the_shell_with_an_allowed_activity_are_inside(bernoulli_class, parameter):
    for seed in range(10):
        assert bernoulli_class.membership(parameter(seed=seed)).inside


@pytest.mark.parametrize(
    ("p", "violated"),
    [
        (0.05, ("p_- at most the activity probability",)),
        (0.45, ("activity probability at most p_+",)),
        (0.1, ()),
        (0.4, ()),
    ],
)
def test_activities_outside_the_range_are_named(bernoulli_class, parameter, p, violated):
    assert bernoulli_class.membership(parameter(law=BernoulliGaussian(p))).violated == violated


def test_conditions_of_the_shell_are_kept_beside_those_of_the_codes(bernoulli_class, parameter, shell):
    theta = parameter(law=BernoulliGaussian(0.45), noise=0.7)
    found = bernoulli_class.membership(theta)
    assert found.violated == ("noise variance at most nu_+", "activity probability at most p_+")
    assert found.conditions[:7] == shell().membership(theta.dictionary, 0.7).conditions


def test_a_known_law_admits_itself_alone(known_class, known_law, parameter):
    assert known_class.membership(parameter(law=known_law(5))).inside
    sizes = known_law(5).size_probabilities
    assert known_class.membership(parameter(law=BernoulliGaussian(0.3))).violated == (
        "code law equal to the known law",
    )
    other = ExchangeableGaussian(sizes, known_law(5).variances * 1.001)
    assert not known_class.membership(parameter(law=other)).inside


def test_bernoulli_codes_written_by_sizes_are_the_same_law(shell, parameter):
    sizes = stats.binom.pmf(np.arange(6), 5, 0.3)
    known = CalibrationClass(shell(), ExchangeableGaussian(sizes / sizes.sum(), np.ones(6)))
    assert known.membership(parameter(law=BernoulliGaussian(0.3))).inside


def test_the_spectral_bound_dominates_every_conditional_covariance(bernoulli_class, known_class, parameter):
    assert bernoulli_class.spectral_bound == pytest.approx(0.6 + 5.0)
    assert known_class.spectral_bound == pytest.approx(0.6 + 5.0 * 2.0)
    for seed in range(20):
        atoms = parameter(seed=seed).dictionary.atoms
        assert 0.6 + np.linalg.norm(atoms, 2) ** 2 <= bernoulli_class.spectral_bound
    # A variance of a size that never occurs does not count.
    silent = ExchangeableGaussian(np.array([0.5, 0.5, 0, 0, 0, 0]), np.array([9.0, 1.0, 9, 9, 9, 9]))
    assert CalibrationClass(known_class.shell, silent).spectral_bound == pytest.approx(0.6 + 5.0)


def test_misuse_is_named(shell, known_law, parameter, bernoulli_class):
    with pytest.raises(MisuseError, match="activity must stay below 1/2"):
        CalibrationClass(shell(), Interval(0.1, 0.5))
    with pytest.raises(MisuseError, match="activity must give the probabilities of 0 to 5 active atoms"):
        CalibrationClass(shell(), known_law(4))
    with pytest.raises(MisuseError, match="noise must lie strictly between 0 and inf"):
        CalibrationParameter(BernoulliGaussian(0.2), parameter().dictionary, 0.0)
    with pytest.raises(MisuseError, match=r"parameter\.law must be Bernoulli-Gaussian"):
        bernoulli_class.membership(parameter(law=known_law(5)))
