"""Why whoever was dropped does not come back in the same run, by algorithm; a plan that says otherwise is refused.

Its state holds a step that it took and never said. What hides a step is noise of that step's size, drawn with
neighbours who have destroyed its keys since; in a later round noise is smaller, and so would hide less than was
planned. And what was dealt or summed with it, beside what was dealt or summed without it, shows what it gave.
"""

from __future__ import annotations

from hocket.algorithm import Algorithm

COME_BACK = (
    "Who was dropped takes part again in a new plan, where all draw new keys: hocket peer again PLAN CARD"
)


def no_return(algorithm: Algorithm) -> str:
    """What stands in the way of a member that comes back with its journal."""
    if algorithm.sums:
        return "sums without it were taken since, and beside sums with it each shows exactly what it gave"
    if algorithm.keeps_noise:
        return (
            "the noise that was kept on its links showed when it left, by the difference before and after; it would "
            "come back under noise that everybody knows, or under new noise, which averages with the old"
        )
    if algorithm.noise_in is not None:
        return (
            "its last step was never said, and would be said now under noise of a later, smaller step, which hides it "
            "less than the plan promises"
        )
    if not algorithm.plain:
        return "what members carry from round to round adds up over all of them, and its part has been left out since"
    return (
        f"{algorithm.title} itself would bear it, as nothing in it is hidden or adds up, but neighbours have gone on "
        "without its words, and no round is agreed at which they would listen again"
    )
