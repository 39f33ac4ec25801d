"""What a reader of a run should know about its algorithm on this problem."""

from __future__ import annotations

from hocket.algorithms import CertifiedRssNb, FunctionSharing, JointAverage, PrivateDgd, RssNb
from hocket.algorithms.parts.function_noise import noise_functions
from hocket.claims import foreign, promises
from hocket.facet import Facet
from hocket.noise.stds import in_words, is_above_zero
from hocket.runs.job import Job


def remarks_of(job: Job) -> list[str]:
    """What its noise is, what it hides, and what is promised or not."""
    said = _remarks(job.algorithm)
    if isinstance(job.algorithm, PrivateDgd) and not promises(job.algorithm):
        kind = type(job.algorithm).__name__
        said = (f"nothing is promised: {kind} is not PrivateDgd itself, and of its code nothing is known",)
    if type(job.algorithm) is not FunctionSharing:
        return [*said]
    if why := foreign(job.algorithm):
        return [*said, f"nothing is known of what it hides: {why}"]
    return [*said, *_hidden(job, job.algorithm)]


_remarks: Facet[tuple[str, ...]] = Facet(())


@_remarks.of(RssNb)
def _of_rss_nb(algorithm: RssNb) -> tuple[str, ...]:
    if algorithm.distribution == "uniform":
        return ()
    sure = f"with probability {1 - algorithm.failure:.9g}, not for certain"
    return (f"noise is normal: within Δ = {algorithm.delta:g} {sure}",)


@_remarks.of(CertifiedRssNb)
def _of_certified_rss_nb(algorithm: CertifiedRssNb) -> tuple[str, ...]:
    between = f"of σ = {in_words(algorithm.sd)}"
    if not algorithm.own > 0:
        return (f"noise is normal, {between} per draw and coordinate: within no bound for certain",)
    alone = f"of τ = {algorithm.own:g} by each agent alone"
    return (
        f"noise {between} between neighbours, and {alone}"
        if is_above_zero(algorithm.sd)
        else f"noise {alone}, beside what cancels",
        "agents' last states stay at home: publish run.published, never run.x",
    )


@_remarks.of(JointAverage)
def _of_joint_average(algorithm: JointAverage) -> tuple[str, ...]:
    return (
        (f"noise of τ = {algorithm.own:g} by each agent alone, on what it gives",)
        if algorithm.own > 0
        else ()
    )


@_remarks.of(PrivateDgd)
def _of_private_dgd(one: PrivateDgd) -> tuple[str, ...]:
    return (
        f"({one.epsilon:g}, {one.failure:g})-differential privacy for one agent's objective replaced, gradients "
        f"clipped to {one.clip:g}, {one.releases:g} releases composed by zCDP: noise of σ = {one.sigma:.4g}, "
        "for a secret seed that no other run uses",
    )


def _hidden(job: Job, algorithm: FunctionSharing) -> list[str]:
    """What function sharing hides of these objectives, and what stays open."""
    problem, basis, noise = job.problem, algorithm.basis, noise_functions(algorithm)
    size = f"each up to the width its bound {noise.bound:g} buys"
    if algorithm.sd is not None:
        size = f"under normal coefficients of deviation {in_words(algorithm.sd)}"
    elif algorithm.normal:
        size += f", which noise keeps with probability {1 - algorithm.failure:.9g}"
    hidden, covers, degree = f"FS hides {basis.hides}, {size}", basis.covers, problem.degree
    said = [hidden]
    if covers is None or not covers.includes(problem.objective_class):
        if covers is None or degree is None or not basis.separable:
            said = [hidden + "; nothing outside that span"]
        else:
            said.append(
                f"the objectives have degree {degree}: coefficients above {algorithm.degree} stay exposed"
            )
    if algorithm.own:
        said.append(
            f"own noise of deviation {algorithm.own:g} per coefficient cancels nowhere: agents agree on the optimum of "
            "another sum, and gaps are to that of the true one"
        )
    return said
