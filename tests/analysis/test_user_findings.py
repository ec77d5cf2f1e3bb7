"""Problems that users had with `PhysicalSupport`."""

import copy
import pickle

import numpy as np
import pytest

from physupport._errors import MisuseError
from physupport.aeb import FixedOrder, RandomOrder
from physupport.analysis import PhysicalSupport, StreamPlan
from physupport.questions import RegionRule, Resolution


@pytest.mark.parametrize("returned", [None, {"A": 0.5}, {"A": RegionRule(0.5), "B": 2.0}])
def test_a_function_may_return_what_the_parameter_may_be(instrument, returned):
    direct = PhysicalSupport(instrument.bank, returned, calibration=None).fit().report(instrument.deployment)
    later = PhysicalSupport(instrument.bank, lambda proposed: returned, calibration=None).fit()
    assert later.report(instrument.deployment).document == direct.document


def test_a_function_that_returns_a_function_is_refused(instrument):
    odd = PhysicalSupport(instrument.bank, lambda proposed: lambda again: None, calibration=None).fit()
    with pytest.raises(MisuseError, match="question must be a function that returns a question"):
        odd.report(instrument.deployment)


@pytest.mark.parametrize(
    ("name", "policy"), [("fixed", FixedOrder()), ("random", RandomOrder(7)), ("regional", None), ("farthest", None)]
)
@pytest.mark.parametrize("question", [None, lambda proposed: None], ids=["now", "later"])
def test_a_policy_may_be_named(instrument, name, policy, question):
    given = {"calibration": None, "random_state": 7, "question": question}
    named = PhysicalSupport(instrument.bank, policy=name, **given).fit().report(instrument.deployment)
    assert name in str(named.document["protocol"]["policy"])
    if policy is not None:
        direct = PhysicalSupport(instrument.bank, policy=policy, **given).fit().report(instrument.deployment)
        assert named.document == direct.document


def test_an_unknown_policy_or_one_of_another_question_is_refused(instrument):
    with pytest.raises(MisuseError, match="policy must be a policy, a function of what was proposed, or one of"):
        PhysicalSupport(instrument.bank, policy="best", calibration=None).fit()
    count = instrument.bank.states.n_states
    question = Resolution.of_states(
        instrument.bank, 1.0 - np.eye(count), np.zeros(count), delta_fine=0.1, delta_group=2.0
    )
    with pytest.raises(MisuseError, match="policy must be endpoints, fixed, random or farthest for this question"):
        PhysicalSupport(instrument.bank, question, policy="regional", calibration=None).fit()


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_fitted_model_can_be_copied_and_saved(instrument, again):
    model = PhysicalSupport(instrument.bank).fit(instrument.calibration)
    before = model.report(instrument.deployment).document
    other = again(model)
    assert other.report_.document == before
    assert other.report(instrument.deployment).document == before


def test_what_a_library_lacks_is_said_with_where_it_goes(instrument):
    bare = PhysicalSupport(instrument.library, calibration=None)
    with pytest.raises(MisuseError, match=r"deployment plan .* lack, not noise. Give noises to the plan") as caught:
        bare.fit()
    assert "StreamPlan('covariance', 0.5, noises=[0.5])" in str(caught.value)
    assert "deployment=product_grid(noise=[0.5], ...)" in str(caught.value)
    plan = StreamPlan("covariance", 0.5, noises=[0.5])
    bare.set_params(deployment=plan).fit()  # as the message says
    with pytest.raises(MisuseError, match="supports must hold at least one list of regions"):
        bare.set_params(supports=[]).fit()


def test_rules_that_no_data_can_answer_are_refused(instrument):
    for rules, entry in (
        ({"A": RegionRule(asks=("absence",))}, "asks"),
        ({"B": RegionRule(absence_threshold=0.9)}, "absence_threshold"),  # B has the strength 0.8
    ):
        with pytest.raises(MisuseError, match=rf"{entry} of question\['[AB]'\] must"):
            PhysicalSupport(instrument.bank, rules, calibration=None).fit()
