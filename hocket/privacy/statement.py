"""What every verdict says about itself: against whom it holds, of what it speaks, and what it leaves open."""

from __future__ import annotations

from hocket.privacy.wording import braced, counted


def statement(
    *, colluders: int, coalition: tuple[int, ...] | None, rounds: int, runs: int = 1, measured: bool = False
) -> tuple[str, ...]:
    """The scope of an audit, in paragraphs."""
    who = f"the members {braced(coalition)}" if coalition else f"any {counted(colluders, 'member')}"
    over = f"{counted(rounds, 'round')} of {'one run' if runs == 1 else counted(runs, 'run')}"
    about = "this run as it was recorded" if measured else over
    return (
        f"Against whom: {who}, passive and curious, pooling what is seen and knowing the plan; over {about}. "
        "Members who lie, probe or change their messages are out of scope.",
        "Function sharing (Theorem 2) hides the span of its noise family, up to the width that its bound buys, if its "
        "noise is as high in degree as the objectives. The sum over each honest component is exposed, and so is "
        "whatever the model itself reveals. Width is not all: who knows that objectives are convex can narrow "
        "coefficients of even power to an interval from zero to the component's sum.",
        "RSS-NB and RSS-LB have no privacy theorem. What stands here is the linear-Gaussian estimate: how closely the "
        "best linear attack knows a gradient that stays the same, while no projection is active. Noise that is not "
        "Gaussian can be beaten by somewhat more, up to 1.6 times on a single link; gradients that change are harder.",
        "This is not differential privacy: nothing here hides whether one record took part, and the final model is "
        "DGD's, so what can be inferred from it is undiminished. A member's own last state must stay home: to whoever "
        "heard its neighbourhood it gives the last gradient away.",
    )
