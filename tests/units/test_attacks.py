"""Every attack wins where nothing protects, and is beaten where the theory says so."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import hocket as hk
from hocket.privacy.attacks import (
    Attack,
    component_attack,
    difference_attack,
    last_gradient_attack,
    lb_collusion_attack,
    mean_attack,
    pitman_attack,
    states_behind,
    strongest_average,
)
from hocket.runs.view import View
from tests.units.attack_cases import (
    ASIDE,
    CURVED,
    NOISE_TAPPED,
    ONE_INSIDE,
    RING,
    SURROUNDED,
    TAPPED,
    TARGET,
    Sight,
    play_on_ring,
    run_of,
    truth,
)

Shot = Callable[[hk.Run, View], Attack]


def aimed(attack: Callable[..., Attack]) -> Shot:
    def shot(run: hk.Run, view: View) -> Attack:
        return attack(view, TARGET)

    shot.__name__ = attack.__name__
    return shot


def published(run: hk.Run, view: View) -> Attack:
    return last_gradient_attack(view, TARGET, run.x[TARGET])


def summed(*agents: int, degree: int | None = None) -> Shot:
    def shot(run: hk.Run, view: View) -> Attack:
        return component_attack(view, agents, degree=degree)

    shot.__name__ = f"component_attack on {agents}"
    return shot


EXACT = "exactly"
AVERAGED = "as predicted"

TABLE = [
    # the attack, the run, who looks, and what comes of it: right to rounding, as close as predicted, or why not
    (aimed(difference_attack), "dgd", SURROUNDED, EXACT),
    (aimed(difference_attack), "dgd", TAPPED, EXACT),
    (aimed(difference_attack), "rss-nb", SURROUNDED, EXACT),
    (aimed(difference_attack), "rss-nb", NOISE_TAPPED, EXACT),
    (aimed(difference_attack), "anchored", NOISE_TAPPED, EXACT),
    (aimed(difference_attack), "fs", SURROUNDED, EXACT),
    (aimed(difference_attack), "dgd", ASIDE, "receives the messages of agent 4, which agent 0 mixes"),
    (aimed(difference_attack), "rss-nb", TAPPED, r"noise on 2 links \(0-1, 0-4\)"),
    (aimed(difference_attack), "anchored", ONE_INSIDE, r"noise on 1 link \(0-4\)"),
    (aimed(difference_attack), "fs", TAPPED, "noise on 2 links"),
    (aimed(difference_attack), "fs-waves", TAPPED, "noise on 2 links"),
    (aimed(difference_attack), "independent", NOISE_TAPPED, "noise that agent 0 draws for itself"),
    (aimed(difference_attack), "private", NOISE_TAPPED, "noise that agent 0 draws for itself"),
    (aimed(lb_collusion_attack), "rss-lb", SURROUNDED, EXACT),
    (aimed(lb_collusion_attack), "rss-lb", TAPPED, EXACT),
    (aimed(lb_collusion_attack), "rss-lb", ASIDE, "what agent 0 sent to agent 4"),
    (published, "dgd", SURROUNDED, EXACT),
    (published, "rss-nb", TAPPED, EXACT),
    (published, "anchored", TAPPED, EXACT),
    (published, "rss-lb", SURROUNDED, EXACT),
    (published, "independent", TAPPED, EXACT),
    (published, "fs", SURROUNDED, EXACT),
    (published, "rss-nb", ASIDE, "receives the messages of agent 4"),
    (published, "fs", TAPPED, "the gradient itself carries noise on 2 links"),
    (published, "private", TAPPED, "the gradient itself carries noise that agent 0 draws for itself"),
    (summed(0), "fs", SURROUNDED, EXACT),
    (summed(2, 3), "fs", SURROUNDED, EXACT),
    (summed(0, 1, 2, 3, 4), "fs", TAPPED, EXACT),
    (summed(0), "fs", NOISE_TAPPED, EXACT),
    (summed(0, degree=2), "dgd", TAPPED, EXACT),
    (summed(0), "fs-waves", SURROUNDED, EXACT),
    (summed(0), "dgd", TAPPED, EXACT),
    (summed(2), "fs", SURROUNDED, "noise functions on 1 link from agent 2 to others are not known"),
    (summed(2), "fs-gaussian", SURROUNDED, "noise functions on 1 link from agent 2"),
    (summed(0, 1), "fs", TAPPED, "noise functions on 2 links from agents 0 and 1 to others"),
    (summed(0), "fs", ASIDE, "messages of agent 4, .* a whole component"),
    (summed(2), "fs-waves", SURROUNDED, "noise functions on 1 link"),
    (aimed(mean_attack), "dgd, straight", TAPPED, EXACT),
    (aimed(mean_attack), "rss-nb, straight", SURROUNDED, EXACT),
    (aimed(mean_attack), "rss-nb, straight", TAPPED, AVERAGED),
    (aimed(mean_attack), "independent, straight", TAPPED, AVERAGED),
    (aimed(mean_attack), "anchored, straight", TAPPED, "drawn once and does not average out"),
    (aimed(mean_attack), "fs, straight", TAPPED, "drawn once and does not average out"),
    (aimed(mean_attack), "rss-nb, straight", ASIDE, "receives the messages of agent 4"),
    (aimed(pitman_attack), "dgd, straight", TAPPED, EXACT),
    (aimed(pitman_attack), "rss-nb, straight", ONE_INSIDE, AVERAGED),
    (aimed(pitman_attack), "rss-nb, straight", TAPPED, AVERAGED),
    (aimed(pitman_attack), "uniform, straight", TAPPED, AVERAGED),
    (aimed(pitman_attack), "anchored, straight", ONE_INSIDE, "drawn once and does not average out"),
    (aimed(pitman_attack), "fs, straight", TAPPED, "drawn once and does not average out"),
    (aimed(pitman_attack), "rss-nb, straight", ASIDE, "receives the messages of agent 4"),
    (aimed(mean_attack), "gaussian, straight", TAPPED, AVERAGED),
    (aimed(pitman_attack), "gaussian, straight", ONE_INSIDE, AVERAGED),
    (aimed(strongest_average), "rss-nb, straight", ONE_INSIDE, AVERAGED),
    (aimed(strongest_average), "anchored, straight", TAPPED, "drawn once and does not average out"),
]


@pytest.mark.parametrize(
    ("attack", "name", "sight", "outcome"),
    TABLE,
    ids=lambda value: f"{value.threat} {value.coalition or ''}" if isinstance(value, Sight) else None,
)
def test_attacks_win_where_nothing_protects_and_only_there(attack, name, sight, outcome):
    run = run_of(name)
    found = attack(run, sight.of(run))
    wins = outcome in (EXACT, AVERAGED)
    assert (found.identifiable, found.exact) == (wins, outcome == EXACT)
    assert wins or re.search(outcome, str(found.why))
    if found.estimate is None:
        return
    right = truth(run, found)
    error = found.estimate - right
    assert found.estimate.shape == found.predicted_sd.shape == right.shape
    if found.exact:
        assert np.linalg.norm(error) < 1e-6 * np.linalg.norm(right)
    else:
        # Of sixty numbers or more, the root mean square lies within 0.3 of 1 by three standard deviations.
        assert 0.7 < np.sqrt(np.mean((error / found.predicted_sd) ** 2)) < 1.3


def test_gradients_of_a_component_cancel_as_its_agents_agree():
    """Waves are no polynomials: then the sum of gradients is what is left, each where its agent took it."""
    run = run_of("fs-waves")
    found = component_attack(run.view({1, 4}), [2, 3])
    mixed = np.einsum("ji,kid->kjd", RING.B, run.transcript.words[0][:-1])
    right = np.stack([sum(run.problem.gradient(j, row[j]) for j in (2, 3)) for row in mixed])
    assert found.identifiable
    assert not found.exact
    noise = component_attack(run.view({1, 4}), [2]).typical_sd
    assert found.typical_sd < noise / 5
    assert 0.5 < np.sqrt(np.mean((found.estimate - right) ** 2)) / found.typical_sd < 1.5


def test_coefficients_above_the_noises_degree_are_exposed():
    """Linear noise hides the slope of a quadratic and nothing of its curvature."""
    run = play_on_ring(hk.FunctionSharing(1, 1.0), CURVED)
    found = component_attack(run.view(threat="states"), [TARGET], degree=2)
    slope, curvature = found.estimate - truth(run, found)
    assert not found.identifiable
    assert (found.predicted_sd[0] > 0.5).all()
    assert (found.predicted_sd[1] == 0).all()
    assert abs(slope).max() > 0.1
    assert abs(curvature).max() < 1e-6


def test_states_behind_balanced_words_are_the_states():
    run = run_of("rss-lb")
    np.testing.assert_allclose(
        states_behind(run.view({1, 4}), TARGET), run.path[:-1, TARGET], rtol=0, atol=1e-14
    )
    assert np.isnan(states_behind(run.view({1, 2}), TARGET)).all()


def test_a_gradient_that_moves_too_much_for_one_estimate_falls_back_to_the_mean():
    run = play_on_ring(hk.RssNb(0.01), CURVED, step=0.1)
    view = run.view(threat="states")
    pitman, mean = pitman_attack(view, TARGET), mean_attack(view, TARGET)
    np.testing.assert_array_equal(pitman.estimate, mean.estimate)
    assert "no single gradient fits within the noise's edges" in str(pitman.why)


def test_normal_noise_has_no_shape_to_use():
    view = run_of("gaussian, straight").view({1}, threat="states")
    pitman, mean = pitman_attack(view, TARGET), mean_attack(view, TARGET)
    np.testing.assert_array_equal(pitman.estimate, mean.estimate)
    assert strongest_average(view, TARGET).name == "mean"
