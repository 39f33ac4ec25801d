"""The interface of an algorithm: what one agent says and does in a round, written as a generator.

`yield Broadcast(word)` sends every neighbour the same, `yield SendEach(words)` each neighbour its own; either way the
yield gives back what was received, to be opened with `agent.mix`. `yield SecureSum(values)` gives back the sum of what
all agents gave, and shows nobody anything else. Nothing leaves an agent in any other way, so what an auditor sees of a
run is complete by construction.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, TypeGuard

import equinox as eqx
import jax

from hocket.agent import Agent
from hocket.errors import BadAlgorithm
from hocket.networks.network import Network
from hocket.noise.draws import Draw
from hocket.noise.functions import NoiseFunctions
from hocket.noise.mechanism import Mechanism
from hocket.noise.stds import Stds
from hocket.noise.stored_sum import StoredSum
from hocket.problems.objective_class import ObjectiveClass
from hocket.problems.problem import Problem
from hocket.rationals import check_real_fields
from hocket.steps import DEFAULT_STEP, Step

OnMissing = Literal["own", "last", "later"]
"""What an agent takes for a word that does not come: its own, the last that came, or nothing now and with the next one
all that it missed. The last is what running sums give: whoever says the sum of all its words so far lets neighbours
take the difference to what they heard last."""


class Broadcast(NamedTuple):
    """The same word to every neighbour."""

    word: Any
    decode: Callable[[Any], Any] | None = None
    """What whoever hears it makes of the word, and then mixes; None where it is mixed as it was said."""


class SendEach(NamedTuple):
    """Its own word to each neighbour, a row per slot."""

    words: Any


class SecureSum(NamedTuple):
    """Numbers to be summed over all agents: every agent receives the sum, and nothing else is shown to anybody."""

    values: Any
    """A pytree of float64 arrays; what comes back has the same form."""
    bits: int = 64
    """Bits after the point, where sums are taken in fixed point: fewer of them make room for larger numbers."""
    names: Any = None
    """The same tree with a name for each number, or for each place along the last axis: what errors call them."""
    noise: Any = None
    """The same tree with σ² of the noise that each agent adds to every number of an array, in units of the grid that
    the numbers lie on, squared (`hocket.secagg.noise_share`); None for an exact sum. Over links, and in rehearsals."""


def opened(outgoing: Broadcast | SendEach, word: Any) -> Any:
    """What a word stands for, of those that are said like this."""
    decode = outgoing.decode if isinstance(outgoing, Broadcast) else None
    return word if decode is None else decode(word)


Outgoing = Broadcast | SendEach | SecureSum
"""What a round may yield."""
Round = Generator[Outgoing, Any, Any]


@dataclass(frozen=True)
class Setting:
    """What is agreed before a run: everything public that an algorithm's noise may depend on."""

    network: Network
    dim: int
    step: Step
    rounds: int


class Algorithm(eqx.Module):
    """One algorithm, for one agent.

    Subclass it to add your own: only `round` is required. A state is an array, the agent's x, or any pytree with
    an `x` (anchors, momentum, tracking variables).
    """

    key: ClassVar[str] = ""
    """Its name in configurations, on the command line and in questions about a plan."""
    label: ClassVar[str] = ""
    """Its name in figures and verdicts."""
    in_words: ClassVar[str] = ""
    """Its name in a sentence, where that is not its label."""
    decentralised: ClassVar[bool] = True
    """Whether agents keep their data, and speak with neighbours."""
    analysed: ClassVar[bool] = False
    """Whether the paper's convergence theorems are about it."""
    beyond_theorem3: ClassVar[str] = ""
    """Why Theorem 3 is not claimed for it all the same."""
    tells: ClassVar[bool] = False
    """Whether it balances a word of its own for each neighbour."""
    hides_nothing: ClassVar[bool] = False
    """Whether by design neighbours learn whatever they hear."""
    noise_in: ClassVar[Literal["words", "gradient"] | None] = None
    """Where noise enters: what an agent says, or the gradient that it follows."""
    sums: ClassVar[bool] = False
    """Whether it asks for totals, and so for all members until its end."""
    only_sums: ClassVar[bool] = False
    """Whether agents say nothing but totals: masked over links, so that Theorem T covers it, whatever it sums."""
    averages: ClassVar[bool] = False
    """Whether what it sums are points of the feasible set, so that their mean lies in it, too."""
    directed: ClassVar[bool] = False
    """Whether it reaches the optimum on directed links, where only the columns of the weights sum to one."""
    masks_starts: ClassVar[bool] = False
    """Whether it can begin from a start that depends on data; see `masked`."""
    noise_on: ClassVar[Literal["objective", "gradients"] | None] = None
    """What its noise hides where a certificate is asked for by its key; None if it gets none. See `Mechanism`."""
    promises: ClassVar[bool] = False
    """Whether a run of it prints a promise of differential privacy, without being asked for a certificate."""

    def __new__(cls, *args: Any, **named: Any) -> Algorithm:
        check_real_fields(cls, args, named)
        return super().__new__(cls)

    @abstractmethod
    def round(self, agent: Agent, state: Any, k: Any) -> Round:
        """One round: say or tell, hear, and return the next state. The number of yields is the same in every round."""

    def setup(self, agent: Agent, x: Any) -> Any:
        """The first state, from the start x_1."""
        return x

    def finished(self, local: Any, state: Any) -> bool:
        """Whether there is nothing more to be said before the last round; all agents come to the same answer."""
        return False

    @property
    def begins_anew(self) -> bool:
        """Whether a run whose sums miss somebody who was dropped is begun anew by those who stay; else it stops."""
        return False

    def draws(self, setting: Setting) -> Mapping[str, Draw]:
        """The noise that a run in this setting needs, by the name under which the agent asks for it."""
        return {}

    @property
    def asks_gradients(self) -> bool:
        """Whether it takes gradients itself, one at a time, so that nothing can stand for its steps between words."""
        return False

    @property
    def derives_step(self) -> bool:
        """Whether its step follows from the problem and the network where nobody gives one."""
        return False

    @property
    def compresses(self) -> bool:
        """Whether agents say less than they mean, so that what stands for it in estimates is no model of its words."""
        return False

    @property
    def on_missing(self) -> OnMissing:
        """What an agent takes for a word that does not come, in weather."""
        return "own"

    @property
    def bears(self) -> Literal["", "outages", "channel"]:
        """Under what it is known to reach the optimum: nothing, weights that vary and stay doubly stochastic, or any
        weather."""
        return ""

    @property
    def indoors(self) -> str:
        """Why it cannot be played in weather at all; empty where it can."""
        if self.sums:
            return "a total is the sum over all agents, and takes every one of them"
        if self.tells:
            return "noise is balanced over all that a speaker tells, and would not cancel where some of it is lost"
        return "" if self.decentralised else "a single agent has no links"

    @property
    def plain(self) -> bool:
        """Whether a round is one word that stands for x, a mix and a step along the gradient, as attacks take it."""
        return False

    @property
    def caveat(self) -> str:
        """What a verdict must always say of it: an attack that none of its noise keeps off, and what to choose."""
        return ""

    @property
    def open_anyway(self) -> str:
        """The same in short, to end a sentence with that tells how well a gradient is known."""
        return ""

    @property
    def soon_open(self) -> bool:
        """Whether a tap on all words and all pairwise noise knows within three rounds all that it ever will."""
        return False

    @property
    def altered(self) -> str:
        """What makes it another algorithm than its kind's, which the paper's theorems are about; empty if nothing."""
        return ""

    @property
    def scaled_with_gradient(self) -> bool:
        """Whether fresh noise is scaled by the step of the gradient that it hides, α_{k−1} in round k; else by α_k."""
        return self.noise_in == "gradient"

    @property
    def withholds_x(self) -> bool:
        """Whether a certificate stands on agents' last states staying at home, and `run.published` in their place."""
        return False

    def mechanism(self, setting: Setting) -> Mechanism | str:
        """The noise that a certificate of differential privacy can rest on; or why there is none."""
        hidden = f"{self.title} has no normal noise that would hide a record or a move from whoever hears its words"
        return f"{hidden}: {self.open_anyway}" if self.open_anyway else hidden

    @property
    def name(self) -> str:
        """Its key, or its class's own name where it has none."""
        return self.key or type(self).__name__

    @property
    def title(self) -> str:
        """Its label, or its class's own name where it has none."""
        return self.label or type(self).__name__

    @property
    def keeps_noise(self) -> bool:
        """Whether some of its noise is drawn once and kept, which patience does not average away."""
        return False

    @property
    def noise_bound(self) -> float | None:
        """Δ: the bound on what is added to its words, in units of a gradient; None where nobody knows."""
        return None if getattr(self, "noise", None) is not None else float(getattr(self, "delta", 0.0))

    @property
    def reach_beyond(self) -> float | None:
        """How far outside X a true word may lie, over α_k; None where nothing bounds it, or words are no states."""
        return self.noise_bound if self.plain else None

    def bounded_noise(self) -> tuple[bool | None, str]:
        """Whether what it adds to its words stays within a bound in all rounds there may ever be, and why."""
        return True, "nothing is added to what agents say"

    @property
    def functions(self) -> NoiseFunctions | None:
        """The noise functions that it adds to objectives, if any."""
        return None

    @property
    def uncovered(self) -> str:
        """Of what Theorem 2, on privacy, says nothing; empty where it covers this algorithm."""
        return type(self).__name__

    @property
    def unproved(self) -> tuple[str, ...]:
        """What a bound supposes of it that cannot be derived."""
        return ()

    @property
    def taken_for_granted(self) -> tuple[str, ...]:
        """What nothing in a view of it would show to be otherwise."""
        return ()

    def fix(self, *, exact: bool) -> str:
        """What to plan instead where a gradient is known too well, or exactly; empty without advice of its own."""
        return ""

    def masked(self) -> Algorithm | str:
        """The algorithm with noise from its first word on, for a start that depends on data; or why it has none."""
        return (
            f"{type(self).__name__} says its first state without noise, which tells nothing only if the start is "
            "public. The end of an earlier run depends on the data: beside what neighbours heard before, it gives "
            "gradients away, and Theorem 2 is about what is said from a public start on"
        )

    def auto_step(self, problem: Problem, network: Network, *, bend: float = 0.0) -> Step:
        """The step that `step="auto"` stands for: derived from the problem where it can be, else one that decays.

        `bend` is how much more than in the problem objectives may bend where others were added to them.
        """
        return DEFAULT_STEP

    def suited(self, problem: Problem, network: Network, step: Step, *, bend: float = 0.0) -> Algorithm:
        """The same with all that it works out from the problem beside its step; what was given stays as it is."""
        return self

    def silent(self) -> Algorithm:
        """What it is without its noise."""
        return self

    @classmethod
    def typical(cls, *, persistent: bool = False) -> Algorithm | None:
        """An instance that stands for the algorithm where it is asked about by its key; None if it cannot be."""
        return None

    @classmethod
    def with_certificate(
        cls, sd: Stds, own: float, *, unit: float, clip: float | None, objectives: ObjectiveClass
    ) -> Algorithm:
        """With normal noise on which a certificate stands: σ between neighbours, perhaps by link, and τ of one's own;
        on a grid of this unit as far as it can be. `clip` is what a step's displacement is cut to, where members are
        protected."""
        raise BadAlgorithm(
            f"{cls.key} has no normal noise that a certificate stands on; choose an algorithm that has"
        )

    def check(self, setting: Setting) -> None:
        """Refuse a setting that this algorithm cannot carry out or protect, naming the culprit."""

    def arrange(self, problem: Problem, network: Network) -> tuple[Problem, Network]:
        """The problem and network this algorithm really runs on; only the centralised baseline changes them."""
        return problem, network

    @property
    def stored(self) -> StoredSum | None:
        """How objectives and noise become one sum of whole numbers before the first word; None where noise is added as
        a run goes, in floats."""
        return None

    def disguised(self, problem: Problem, network: Network, draws: Mapping[str, Draw]) -> Problem:
        """The problem that agents descend: with `stored` sums for objectives, made of what was drawn beforehand."""
        return problem

    def by_coordinate(self, setting: Setting) -> Algorithm:
        """What stands for it where gradients stay the same and coordinates are looked at one by one."""
        return self

    def effective(self) -> Algorithm:
        """The algorithm to run: plain DGD where all noise is switched off, so that silence costs nothing.

        A compiler may round a sum with an added zero differently in its last bit; an absent one it cannot.
        """
        return self

    def remarks(self, problem: Problem, network: Network) -> list[str]:
        """What a reader of the run should know about this algorithm on this problem."""
        return []

    def perturbation(self, agent: Agent, state: Any, outgoing: Outgoing, k: Any) -> Any:
        """What hides this agent in round k, in units of a gradient: (what it says − its state) / α_k.

        A word of several arrays begins with the one that stands for x.
        """
        return (jax.tree.leaves(outgoing[0])[0] - x_of(state)) / agent.step(k)


def x_of(state: Any) -> Any:
    """The estimate inside a state: the state itself if it is an array."""
    return getattr(state, "x", state)


def communicates(talk: Any) -> TypeGuard[Round]:
    """Whether a round says anything; one that does not is its next state already."""
    return isinstance(talk, Generator)


def carry_out(talk: Any, exchange: Callable[[Outgoing], Any]) -> Any:
    """Run a round to its end, passing everything said to `exchange`; returns what the round returns."""
    if not communicates(talk):
        return talk
    try:
        outgoing = next(talk)
        while True:
            outgoing = talk.send(exchange(outgoing))
    except StopIteration as end:
        return end.value
