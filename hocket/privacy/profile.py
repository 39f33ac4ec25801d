"""What attacks, estimates and audits need to know of an algorithm beside the code that they run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from hocket.algorithm import Algorithm
from hocket.algorithms import (
    EXACT,
    PUSH,
    Centralised,
    CertifiedRssNb,
    Choco,
    Dgd,
    FunctionSharing,
    IndependentNoise,
    JointAverage,
    PrivateDgd,
    RssLb,
    RssNb,
)
from hocket.algorithms.parts.compressors import Whole
from hocket.algorithms.parts.function_noise import is_silent
from hocket.algorithms.parts.masked_start import MaskedStart
from hocket.algorithms.totals import Totals
from hocket.facet import Facet


@dataclass(frozen=True)
class Profile:
    """How an algorithm hides gradients, and from whom. The defaults hold for code of which nothing is known."""

    noise_in: Literal["messages", "gradient"] | None = None
    """Where noise enters: what an agent sends, or the gradient that it follows."""
    hides_nothing: bool = False
    """Whether by design neighbours learn what they receive."""
    plain: bool = False
    """Whether a round is one message that stands for x, a mix and a step along the gradient, as attacks take it."""
    per_neighbour: bool = False
    """Whether it balances a message of its own for each neighbour."""
    compresses: bool = False
    """Whether agents send less than they mean, so that what stands for it in estimates is no model of its messages."""
    persistent: bool = False
    """Whether some of its noise is drawn once and reused, which averaging does not remove."""
    scaled_with_gradient: bool = False
    """Whether fresh noise is scaled by the step of the gradient that it hides, α_{k−1} in round k; else by α_k."""
    soon_open: bool = False
    """Whether an eavesdropper on all links who knows all pairwise noise learns within three rounds all that it ever
    will."""
    open_anyway: str = ""
    """What none of its noise hides, to end a sentence with that tells how well a gradient is known."""
    caveat: str = ""
    """The same with what to choose in its place; a verdict always says it."""
    uncovered: str = "this algorithm"
    """Of what Theorem 2, on privacy, says nothing; empty where it covers this algorithm."""
    assumes: tuple[str, ...] = ()
    """What nothing in a view of it would show to be otherwise."""


profile: Facet[Profile] = Facet(Profile())
_ADDS_NONE = "it adds no noise, and an eavesdropper on all links works its gradients out"
_NOISELESS = Profile(hides_nothing=True, open_anyway=_ADDS_NONE)
profile.add(Profile(hides_nothing=True, plain=True, soon_open=True), Dgd)
profile.add(_NOISELESS, *EXACT, *PUSH)
profile.add(Profile(), Centralised)
profile.add(Profile(), Totals)


def uncovered(algorithm: Algorithm) -> str:
    """Of what Theorem 2 says nothing; empty where it covers this algorithm."""
    found = profile(algorithm).uncovered
    return type(algorithm).__name__ if found == Profile.uncovered else found


@profile.of(Choco)
def _of_choco(algorithm: Choco) -> Profile:
    compresses = not isinstance(algorithm.compressor, Whole)
    later = "it adds no noise, and what is left out of one message comes with a later one"
    return Profile(hides_nothing=True, compresses=compresses, open_anyway=later)


@profile.of(RssNb)
def _of_rss_nb(algorithm: RssNb) -> Profile:
    if algorithm.given is None and not algorithm.delta:
        return profile(Dgd())
    return Profile(
        noise_in="messages",
        plain=True,
        persistent=algorithm.persistent > 0,
        soon_open=True,
        open_anyway="everything but slopes is open to an eavesdropper on all links (the sum attack)",
        caveat="RSS-NB hides slopes only: an eavesdropper on all links of connected honest agents reads everything "
        "else of their objectives exactly, however much noise there is (the sum attack). Use it to reproduce the "
        "paper; for objectives that are declared polynomials choose function sharing.",
    )


@profile.of(CertifiedRssNb)
def _of_certified_rss_nb(algorithm: CertifiedRssNb) -> Profile:
    cut = () if algorithm.clip is None else (algorithm.clip,)
    found = replace(
        _of_rss_nb(RssNb(1.0, persistent=algorithm.persistent)),
        scaled_with_gradient=True,
        assumes=tuple(f"gradients were no longer than {one:g}, to which they are cut" for one in cut),
    )
    if not algorithm.own > 0:
        return found
    return replace(
        found,
        soon_open=False,
        open_anyway="",
        caveat="Independent noise makes of RSS-NB's sum attack an average, over rounds and agents; how much that is "
        "of one record, hk.certify says, if gradients are clipped. Publish run.published, never run.x.",
    )


@profile.of(MaskedStart)
def _of_masked_start(algorithm: MaskedStart) -> Profile:
    inside = profile(algorithm.algorithm)
    return Profile(noise_in="messages", scaled_with_gradient=inside.scaled_with_gradient)


@profile.of(RssLb)
def _of_rss_lb(algorithm: RssLb) -> Profile:
    if algorithm.given is None and not algorithm.delta:
        return profile(Dgd())
    return Profile(
        noise_in="messages",
        plain=True,
        per_neighbour=True,
        soon_open=True,
        open_anyway="everything is open to an adversary that receives all messages of a member",
        caveat="RSS-LB hides nothing from an adversary that receives all messages of an agent to its neighbours. "
        "Use it to reproduce the paper; for objectives that are declared polynomials choose function sharing.",
    )


@profile.of(IndependentNoise)
def _of_independent_noise(algorithm: IndependentNoise) -> Profile:
    return Profile(noise_in="messages", plain=True) if algorithm.sd else profile(Dgd())


@profile.of(PrivateDgd)
def _of_private_dgd(algorithm: PrivateDgd) -> Profile:
    clipped = f"gradients were no longer than {algorithm.clip:g}, to which they are clipped"
    return Profile(noise_in="gradient", plain=True, scaled_with_gradient=True, assumes=(clipped,))


@profile.of(JointAverage)
def _of_joint_average(_: JointAverage) -> Profile:
    return Profile(noise_in="messages", scaled_with_gradient=True)


@profile.of(FunctionSharing)
def _of_function_sharing(algorithm: FunctionSharing) -> Profile:
    inside = profile(algorithm.inner)
    if is_silent(algorithm):
        return inside
    return Profile(
        noise_in="gradient",
        plain=inside.plain,
        compresses=inside.compresses,
        persistent=True,
        scaled_with_gradient=True,
        soon_open=True,
        open_anyway="what lies outside the span of its noise functions is open to an adversary that receives all "
        "messages that a member mixes",
        caveat="Function sharing hides the span of its noise functions and nothing else: of objectives outside it, "
        "an adversary that receives all that an agent mixes reads what the span leaves out exactly; under linear "
        "functions that is how gradients change. Declare objectives that lie inside, or choose functions whose span "
        "holds them.",
        uncovered="waves as noise functions, which hide no polynomial"
        if algorithm.family == "cosine"
        else "",
    )


def fix(algorithm: Algorithm, *, exact: bool) -> str:
    """What to plan instead where a gradient is known too well, or exactly; empty without advice of its own."""
    found, name = profile(algorithm), algorithm.name
    if found.hides_nothing and type(algorithm) is Dgd:
        return "dgd hides nothing: plan function-sharing for declared polynomials; rss-nb hides slopes only"
    if found.hides_nothing:
        return f"{name} hides nothing: plan function-sharing with {name} inside it"
    if exact or type(algorithm) is not RssNb or found.persistent:
        return ""
    return (
        "reuse part of the noise (--persistent 0.5), plan more of it (--noise-bound), or fewer rounds, which hides "
        "slopes and nothing else; for declared polynomials plan function-sharing"
    )
