"""Every sentence of a certificate: what it rests on, and why there is none. Decisions look at members, not text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hocket.privacy.wording import Said


class Status(Enum):
    """How a condition stands."""

    ASSUMED = "assumed"
    VERIFIED = "verified"
    NOT_NEEDED = "not needed"


class Condition(Enum):
    """What a certificate may rest on."""

    SECRET = (
        "noise between two honest agents, and of each by itself, is secret from all others, normal and independent, "
        "also of other runs: a seed is secret, and no other run uses it, save one on the same data under noise that "
        "is kept; it is pseudorandom, so this is a promise against adversaries that cannot break the generator"
    )
    MASKS = (
        "masks between two honest agents are secret from all others and uniform in a finite group, so that nothing is "
        "shown but the sum over connected honest agents (Theorem T); they are pseudorandom, so this is a promise "
        "against adversaries that cannot break the generator. Independent noise is normal and secret, and independent "
        "also of other runs: no other run uses its seed"
    )
    HONESTY = (
        "members may be malicious, wait for others' messages, and deal noise on their own links as they please; that "
        "is about privacy, and not about the answer"
    )
    RANGE = "dealt noise and messages outside a public range are refused"
    PUBLIC_START = "the start is public"
    PUBLISHED_START = (
        "agents start from what they published in earlier runs, which follows from messages that were sent there, and "
        "never from a raw x; those runs count beside this one"
    )
    FROM_OBJECTIVE = (
        "all that an agent sends follows from its objective plus noise function, from messages and coins"
    )
    ALL_RECORDS = "that objective is over all records, in every step"
    PUBLIC_STEP = "start, step, smoothness and stopping rule are public or follow from what was sent"
    NO_VALUE = (
        "no value of an objective is reported, for constants are not hidden: agents get gradients alone"
    )
    IN_SPAN = "what changes lies in the span of the noise functions"
    UNITS = "what changes is counted in units in which each coefficient's noise has the stated deviation"
    ANY_METHOD = "projection, publication of x, and any method inside that is fed the noisy objective alone"
    DRAWN_ONCE = "independent noise is drawn once with its agent's noise function, and never redrawn"
    SUMS = "objectives are sums over records and not means, so that what moves leaves the total as it is"
    OWN_MESSAGE = "an agent mixes the noisy message that it sent, never its clean state"
    NO_MOMENTUM = "nothing is carried from round to round but the state: no momentum, no adaptive optimiser"
    LAST_MASKED = "the message after the last step is masked like all others"
    NO_RAW_X = "no raw x is ever released; publish what one more exchange makes of it"
    EVERY_ROUND = "every agent takes part in every round: after a pause noise is that of a later step"
    CUT = "the whole way of every step is cut to a length, whatever sums in it are divided by"
    ALL_TAKE_PART = (
        "all records take part in every step; {none}: none as large as those of this problem moves a gradient by more "
        "than S, wherever messages lead"
    )
    DIVISOR = "what a record contributes to a step is clipped, and sums are divided by a public constant"
    ANY_GRADIENTS = "gradients that depend on all messages received before; projection"
    NO_PERSISTENT = "persistent noise does not count for records, and is left out"
    COINS = (
        "every record takes part in a round by a coin of its own, with probability {rate:.6g} or less, and nobody else "
        "learns who or how many did; S bounds what a record contributes, too, as twice a clip over b does"
    )
    LINEAR_MOVE = (
        "what moves is a linear function, the same in every round, and agents take one step along their whole gradient "
        "between two exchanges"
    )
    ROUNDED_SHIFT = "the sum of what shifts, {left:.3g} beside {largest:.3g}, is rounding and stands for zero"
    FRESH_RUNS = (
        "each run draws noise of its own, with a seed that no other run uses; then runs compose, and with one seed "
        "twice nothing of this holds"
    )
    SAME_DATA = "the data are the same in all runs, which keep their noise"
    SAME_PERSISTENT = (
        "the data are the same in all runs, which keep their persistent noise alone: noise of rounds is drawn anew in "
        "each, under a seed of its own"
    )
    ON_GRID = (
        "what is hidden and what hides it are whole numbers on one public grid, and all messages follow from their "
        "stored sum"
    )
    REAL_NUMBERS = "numbers are real; rounding of floating-point sums can void this (real-arithmetic model)"
    NOT_RELEASED = "no raw x is released, and no projection is active"
    AFFINE = "all noise is normal; messages are affine in states, gradients and noise"
    LED_BY_MESSAGES = (
        "an agent mixes what it sent, and takes its gradient where messages alone lead, so that gradients may depend "
        "on all messages before"
    )
    ONE_IN_SO_MANY = (
        "a record takes part in {part}, and changes its agent's gradient there by no more than S; sums are divided by "
        "a public constant"
    )
    LINEAR = "what moves is a linear function, the same in every round"


class Refusal(Enum):
    """Why nothing is promised."""

    STATED = "{why}"
    RELEASED_RAW = "a raw last x is released, which no noise covers; {fix}"
    RELEASED_MEANS = "sums of raw states are released, which no noise covers; {fix}"
    SECRET_STEP = (
        "the step is worked out from the objectives ({step}), and every message shows how large it is; give a public "
        "number, step=0.1 say, here and in the run"
    )
    DERIVED_STEP = (
        "without step= the algorithm inside works its step out from the objectives, and every message shows how large "
        "it is; give a public number, step=0.1 say, here and in the run"
    )
    NOT_SLOPES = (
        "noise on gradients spans linear functions, and objectives are {objectives}: what moves between two agents "
        "may be no slope, and an adversary that receives all messages adds them up, free of noise (the sum attack); "
        "name the slopes that move, by move= or shift=, or take function sharing"
    )
    TOO_WIDE = (
        "what moves has {given} coefficients, and noise functions of {name} in dimension {dim} have {width}: what they "
        "do not span is exposed; give the coefficients of its family, or take a larger family"
    )
    UNKNOWN_FAMILY = (
        "what noise functions do not span stays exposed: objectives are quadratics, and by its key nothing is known of "
        "the family of {name}; pass the algorithm itself, with family='quadratic'"
    )
    NOT_SPANNED = "what noise functions do not span stays exposed: {reason}{fix}"
    SOME_RECORDS = (
        "noise is on the objective over all records, and a step along some of them shows what the noise was never "
        "added to"
    )
    PARTLY_MOVED = (
        "a step looks at some records only: what moves may show at one agent and not at the other, and then the sum "
        "over honest agents changes, which pairwise noise does not hide"
    )
    CLIPPED_MOVE = (
        "gradients are clipped, which is not linear: what moves changes the sum over honest agents, and pairwise noise "
        "does not hide that"
    )
    MEANS = (
        "objectives are means over records: a record that moves changes the weight of all others, so that the total "
        'changes; use reduction="sum"'
    )
    PENALTY = (
        "the proximal map of a penalty follows the step, and is not linear: what moves changes the sum over honest "
        "agents, which pairwise noise does not hide; leave the penalty out, or take hk.CertifiedRssNb, which projects "
        "before the step"
    )
    PROJECTED = (
        "states are projected after the step: one on the edge of the set is known, and shows its noise bare; project "
        "what was mixed, before the step, or pass a problem= on the whole space"
    )
    NOT_AFFINE = (
        "the problem has {has}: states that are projected are not linear in the noise, as linearisation takes them to "
        'be; ask by="theorem", which holds with any projection, or pass a problem= on the whole space without a penalty'
    )
    TOO_SMALL = (
        "sensitivity = {size:.6g} is too small for this problem: one of its records, replaced by another as large, "
        "moves a gradient by up to {reach:.6g} {where}; give sensitivity={reach:.6g}, or clip="
    )
    BELOW_CLIP = (
        "sensitivity = {size:.6g} is less than what the clip lets a step move, {cut:.6g}, and no other number bounds a "
        "record's gradient, which grows with x; leave sensitivity= out"
    )
    UNBOUNDED = "nothing clips a record's gradient, which grows with x: no number bounds it; take clip={fix}"
    MIXES_CLEAN = (
        "an agent mixes something else than the message that it sent: its clean state behind noisy messages tells up "
        "to four times as much as the formula says"
    )
    NOT_LED = (
        "gradients are taken where messages alone do not lead: what an agent sees is then no function of what is "
        "received, and rounds do not compose"
    )
    CARRIES = (
        "{states} numbers per coordinate are carried from round to round, and not its state alone: momentum and its "
        "like show one gradient in many messages"
    )
    LAST_BARE = "the message after the last step has no noise in it, and shows the last gradient bare"
    UNIFORM = "{name} noise is drawn uniformly, and uniform draws have edges: no certificate covers it"
    MISREAD = "{why}, so that what is read off its code is not what it does"
    SEVERAL_POINTS = "gradients are taken at several points between two messages, which is not accounted for"
    CARRIED_PROJECTED = (
        "more than a state is carried from round to round, and states are projected after the step: what one gradient "
        "does to later messages is then not accounted for; pass a problem= on the whole space, or project what was "
        "mixed"
    )
    RATE_FOR_MEMBERS = (
        'rate = {rate:g} counts on secret coins of single records, and with protect = "{protect}" no coin decides what '
        "takes part in a round; leave rate out"
    )
    UNCLIPPED_STEPS = "gradients take part in {steps} local steps, and their whole way is not clipped"
    SUM_CHANGES = (
        "the sum over {part:set} changes, and {whom} learns that sum exactly: pairwise noise cancels over connected "
        "honest agents"
    )
    RECORD_SHOWS = (
        "the sum over each honest component is exposed exactly, and a record that is replaced changes it: without "
        "independent noise nothing hides that; give independent="
    )
    UNCOVERED = (
        "some messages change in a direction in which they carry no noise, such as a sum over connected honest agents: "
        "the change shows for certain"
    )
    NO_BOUND = (
        "no bound without a search is finite here: some coalition of that size may cut honest agents apart; name a "
        "coalition, plan for fewer colluders, or add links"
    )
    NO_BOUND_CUT = (
        "no bound without a search is finite here: some coalition of that size may cut honest agents apart; name a "
        "coalition, plan for fewer colluders, or add links ({cut})"
    )


@dataclass(frozen=True)
class Assumption:
    """A condition, and how it stands."""

    status: Status
    said: Said

    def __str__(self) -> str:
        return f"{self.status.value}: {self.said}"

    def to_json(self) -> str:
        """In words."""
        return str(self)
