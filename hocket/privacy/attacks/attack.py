"""What an attack comes back with: an estimate, how far off it should be, and whether the target could be had at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from jaxtyping import Float

from hocket.privacy.plain_values import plain_values
from hocket.privacy.wording import Said, listed, rendered


class What(Enum):
    """What is estimated."""

    EACH_ROUND = "the gradient of {who:agents} in each round"
    SUM_EACH_ROUND = "the sum of the gradients of {who:agents} in each round"
    MEAN = "the mean gradient of {who:agents}"
    LAST = "the last gradient of {who:agents}"
    JOINT = "the gradient of {who:agents}"
    POLYNOMIAL = "the gradient of the objective of {who:agents} as a polynomial"
    OBJECTIVE = "the gradient of the objective of {who:agents} in each round"
    SUM_POLYNOMIAL = "the gradient of the sum of the objectives of {who:agents} as a polynomial"
    SUM_OBJECTIVE = "the gradient of the sum of the objectives of {who:agents} in each round"
    OF_FORM = "the gradient of {who:agents} in each round, as one of {form}"
    RECORD_OF_FORM = (
        "the gradient of what changed in the data of {who:agents} in each round, as one of {form}"
    )
    RECORD = "what changed in the data"
    CHANGE = "how the gradient of {who:agents} changes from the first round to the last"


class Why(Enum):
    """What gave it away, what still hides it, or why an attack does not apply."""

    ONE_ROUND = "a single round was seen, and a gradient shows only in the next message"
    NOT_RECEIVED = (
        "nobody in the coalition receives the messages of {silent:agents}, which {who:agents} mixes"
    )
    NOT_TAPPED = "nobody receives the messages of {silent:agents}, which {who:agents} mixes"
    NOT_ALL_OUT = "what {who:agents} sent to {missing:agents}, each another message, was not all received"
    NEVER_ALL = "in no round was all received that {who:agents} mixes, and its next message as well"
    NEVER_TOGETHER = "in no round were all of them received"
    NOT_LAST = "not all that {who:agents} mixed in round {k} was received"
    RECEIVED = "the messages of {around:agents} were received, and no noise in them is unknown"
    BEHIND = "every round has {behind} in it"
    PUBLISHED = "the messages of {around:agents} were received, and the state was published without noise"
    BEHIND_LAST = "the gradient itself carries {behind}"
    OWN_NOISE = "noise that {who:agents} draws for itself"
    LINK_NOISE = "noise on {count:link} ({links:links}) that the attacker does not know"
    DRAWN_ONCE = (
        "{behind} was drawn once and does not average out: it alone leaves a standard deviation of {sd:.3g}"
    )
    AVERAGES_OUT = "{behind} is drawn anew in each of {rounds:round} and averages out"
    NO_NOISE = "all that {who:agents} mixes was received, and no noise in it is unknown"
    NO_SINGLE = "{plain}; no single gradient fits within the noise's edges, so this is the plain mean"
    ONE_EXPLANATION = "what was received has one explanation only"
    IN_SPACE = (
        "its gradient is in the row space of what was received: all noise in it averages out, if slowly"
    )
    OUTSIDE = (
        "its gradient is outside the row space of what was received: noise or states that nobody knows explain that as "
        "well"
    )
    COMPRESSED = (
        "agents send a part of what they mean, which comes later in parts that this attack has no model of"
    )
    SUMS_SHOWN = "all that is shown are sums over connected honest agents, no matter who receives them"
    CURVED = "noise functions are curved, and where their gradients are taken is not what agents send"
    MORE_SENT = "agents send something beside the messages that a gradient could be worked out from"
    WHOLE_COMPONENT = "{silence}; what a whole component sums to takes the messages of all its neighbourhood"
    LEAVING = "the noise functions on {leaving:link} from {who:agents} to others are not known"
    CANCEL = "noise functions among {who:agents} cancel, and all that lead out of them are known"
    ALL_KNOWN = "all noise functions of {who:agents} are known"
    SUM_SHOWN = "all are shown the sum, and members know their own parts of it"
    MISFITTING = "{rank}, but the equations do not fit: objectives of another form, or steps that X cut short"
    UNDETERMINED = "{rank}, and the parameters of {whose} are not among them"
    SUMS_TO_ZERO = "{rank}, and noise that sums to zero leaves no error but rounding"
    DIFFERING = "{rank}; points that differ tell the form of an objective from the noise in its gradients"
    RANK = "{rank} of {unknowns:unknown} are determined by what was received"
    OF_AGENT = "{who:agents}"
    OF_RECORD = "what changed in the data of {who:agents}"
    MISFIT = (
        "no objectives of the public form were found that explain what was received: the search may have failed, or it "
        "is not of that form, as with batches, several local steps and steps that X cut short"
    )
    PARTLY = "of no honest component was everything received that its agents mix"
    INACTIVE = "no state was moved back into the feasible set"
    FEW_CUT = "too few rounds are surely cut short, or surely not"
    NO_FORM = "nothing of the objectives is unknown but what the form leaves open"
    CROSS_TERMS = "objectives are fitted coordinate by coordinate, and noise with cross terms is not dealt so"
    TOO_LARGE = "{unknowns:unknown} and {equations:equation} take too long to fit while somebody waits"
    NO_PROBLEM = "the run was kept without its problem or its path"
    PENALTY = "a penalty is taken by its proximal map, which no attack by form undoes"
    MORE_THAN_STEP = "a round is more than one message, a mix and a step along the gradient"
    SUMS_ONLY = (
        "agents send nothing but secure sums, of which only the sum over the honest is known (Theorem T)"
    )
    NO_STEP = "the only sum of a run of one round is that of the starts: no gradient is in it"
    NO_STATE = "messages of this algorithm are no states, so that a gradient is no difference of two of them"
    NOT_NEEDED = "an adversary that receives everything that an agent mixes needs no average over the network"
    ONE_RUN = (
        "this is one run; what several tell together, hocket.privacy.attacks.joint_attack and its kin say"
    )


class Assumed(Enum):
    """What an attacker takes for granted, since nothing it sees would show otherwise."""

    NO_PROJECTION = "no state was moved back into X in the rounds used"
    SAME_GRADIENT = "the gradient hardly changed over the rounds used"
    LIKE_RANDOM = "the user's own noise is spread like random draws"
    SAME_NOISE = "noise that was drawn once is the same in all runs, on links that they share"
    OTHERS_SAME = "nobody else's data changed"
    FORM = "objectives are {form}"
    OF_ALGORITHM = "{of}"


NO_PROJECTION, SAME_GRADIENT = Said(Assumed.NO_PROJECTION), Said(Assumed.SAME_GRADIENT)


@dataclass(frozen=True, eq=False)
class Attack:
    """The outcome of one attack on one agent, or on the sum over several."""

    name: str
    target: tuple[int, ...]
    what: Said
    """What is estimated."""
    identifiable: bool
    """Whether what was seen pins it down: exactly, or ever more closely as rounds go by."""
    why: Said
    """What gave it away, or what still hides it."""
    estimate: Float[np.ndarray, "rows dim"] | None = None
    """A row per round, or per power of a polynomial; None where too little was received to estimate anything."""
    predicted_sd: Float[np.ndarray, "rows dim"] | None = None
    """The standard deviation of each number's error; zero where only rounding is left."""
    rows: tuple[int, ...] = ()
    """The rounds, or the powers of x, that the rows belong to; empty where one row serves all rounds."""
    at: Float[np.ndarray, "rows dim"] | None = None
    """Where each row's gradient was taken."""
    assuming: tuple[Said, ...] = ()
    """What the attacker has to take for granted."""

    def assumes(self, what: Assumed) -> bool:
        """Whether something is taken for granted."""
        return any(one.what is what for one in self.assuming)

    @property
    def typical_sd(self) -> float:
        """The predicted error as one number, the root mean square over the estimate; infinite without one."""
        if self.predicted_sd is None or not self.predicted_sd.size:
            return float("inf")
        return float(np.sqrt(np.mean(self.predicted_sd**2)))

    @property
    def exact(self) -> bool:
        """Whether the estimate is right up to rounding."""
        return self.identifiable and self.typical_sd == 0

    def verdict(self, labels: Sequence[object] | None = None) -> str:
        """The outcome in a few words, agents by name where they have one."""
        what = self.what.in_words(labels)
        if self.estimate is None:
            return f"{what}: too little was received to estimate it"
        if self.exact:
            return f"{what}, exactly"
        outcome = "" if self.identifiable else ", which patience does not pin down"
        return f"{what}{outcome}, up to an error with standard deviation {self.typical_sd:.3g}"

    def __str__(self) -> str:
        lines = [
            f"{self.name} attack on {listed(self.target, None)}: {self.verdict()}",
            f"because {self.why}",
        ]
        if self.assuming and self.estimate is not None:
            lines.append(f"assuming that {rendered(self.assuming)}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """The outcome in numbers."""
        about = plain_values(self, "name", "target", "what", "identifiable", "exact", "why")
        numbers = plain_values(self, "estimate", "predicted_sd", "rows", "at", "assuming")
        return about | numbers | {"typical_sd": None if self.estimate is None else self.typical_sd}
