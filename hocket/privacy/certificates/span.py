"""Whether what changes between two neighbouring inputs lies in the span of the noise: outside it nothing is hidden.

Everything that prints a certificate asks here: `hk.certify` whatever it is asked to protect, plans, audits.
"""

from __future__ import annotations

from hocket.algorithm import Algorithm
from hocket.privacy.certificates.protected import Protected, Record, Shift, Transfer
from hocket.privacy.verdict.theorem import privacy_claim
from hocket.problems.objective_class import ANY, QUADRATIC, ObjectiveClass


def outside_span(
    algorithm: str | Algorithm,
    on: str,
    protected: Protected,
    objectives: ObjectiveClass | None,
    *,
    dim: int | None,
) -> tuple[str, ...]:
    """Why the change may leave the span of the noise, and what to do; empty if it stays inside, or if nobody has said
    of which class the objectives are.

    Noise on objectives spans its family's functions. Noise on gradients that cancels spans linear functions; noise of
    each agent's own, on which a record's certificate stands, spans everything.
    """
    if on == "gradients":
        return () if isinstance(protected, Record) else _of_slopes(protected, objectives)
    return (*_too_wide(algorithm, protected, dim), *_of_objectives(algorithm, objectives, dim))


def _of_slopes(protected: Protected, objectives: ObjectiveClass | None) -> tuple[str, ...]:
    """Slopes that are named, by move= or shift=, are linear functions whatever else objectives are."""
    if not isinstance(protected, Transfer) or objectives is None:
        return ()
    if objectives.degree is not None and objectives.degree <= 1:
        return ()
    return (
        f"noise on gradients spans linear functions, and objectives are {_words(objectives)}: what moves between two "
        "agents may be no slope, and whoever receives all messages adds them up, free of noise (the sum attack); "
        "name the slopes that move, by move= or shift=, or take function sharing",
    )


def _too_wide(algorithm: str | Algorithm, protected: Protected, dim: int | None) -> tuple[str, ...]:
    if not isinstance(protected, Shift) or isinstance(algorithm, str) or dim is None:
        return ()
    functions = algorithm.functions
    width, given = None if functions is None else functions.family.width(dim), protected.rows.shape[1]
    if width is None or given <= width:
        return ()
    return (
        f"what moves has {given} coefficients, and noise functions of {algorithm.title} in dimension {dim} have "
        f"{width}: what they do not span is exposed; give the coefficients of its family, or take a larger family",
    )


def _of_objectives(
    algorithm: str | Algorithm, objectives: ObjectiveClass | None, dim: int | None
) -> tuple[str, ...]:
    if objectives is None:
        return ()
    if isinstance(algorithm, str) and objectives.in_dimension(dim or 2) == QUADRATIC:
        return (
            "what noise functions do not span stays exposed: objectives are quadratics, and by its key nothing is "
            f"known of the family of {algorithm}; pass the algorithm itself, with family='quadratic'",
        )
    claim = privacy_claim(algorithm, objectives, dim=dim)
    return (
        ()
        if claim
        else (f"what noise functions do not span stays exposed: {claim.reason}{_cure(objectives)}",)
    )


def _cure(objectives: ObjectiveClass) -> str:
    """Noise functions that span this class, or what to do where none do; goes on a sentence."""
    if objectives == ANY:
        return ""  # what to declare has been said
    if QUADRATIC.includes(objectives):
        return "; take the full quadratic family, degree=2 and family='quadratic'"
    if objectives.degree is not None:
        return f"; take noise functions of that degree, degree={objectives.degree}"
    return "; protect records that are clipped, with clip=, under noise of each agent's own, own="


def _words(objectives: ObjectiveClass) -> str:
    return "of any kind" if objectives.kind == "any" else objectives.words
