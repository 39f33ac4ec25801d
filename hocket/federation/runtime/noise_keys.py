"""The noise of one member's run: whom it agrees with on keys, what it keeps for later runs, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from hocket.errors import JournalError
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.runtime.member import Member
from hocket.federation.runtime.noise_shares import ChainStreams
from hocket.federation.runtime.role import MemberRole, role_of
from hocket.federation.runtime.stored import StoredTask, formed
from hocket.federation.state.digests import check_same_data
from hocket.federation.state.home import Home
from hocket.federation.workloads.needs import needs
from hocket.federation.workloads.task import Task
from hocket.links.journals.database import held
from hocket.links.journals.journal import Journal
from hocket.links.keys.lasting_noise import LastingNoise
from hocket.links.keys.noise_agreement import NoiseAgreement, Partner
from hocket.noise.draws import Paired


def needs_keys(role: MemberRole) -> bool:
    """Whether any noise or mask is agreed in pairs."""
    return needs(role.algorithm).sums or any(isinstance(draw, Paired) for draw in role.draws.values())


def terms(role: MemberRole, neighbour: int, names: Sequence[str]) -> str:
    """How noise that is kept is dealt on a link, in words that change with anything that matters."""
    # A link's noise is drawn by its lower-numbered end first. Plans number members by name; in one that does not, the
    # same keys would deal noise of the other sign, and two runs would cancel it.
    in_order = (role.index < neighbour) == (names[role.index] < names[neighbour])
    turned = "" if in_order else ", turned around"
    slot, stored = role.slots[role.neighbours.index(neighbour)], role.stored
    turned += (
        "" if stored is None else f", whole on a grid of {stored.unit!r}, own noise spread by {stored.own!r}"
    )
    return "; ".join(
        f"{name}: {draw.width} numbers of {role.dtype} {'spread by' if draw.normal else 'within'} "
        f"{draw.scale[:, slot].tolist()}{turned}"
        for name, draw in role.draws.items()
        if isinstance(draw, Paired) and draw.once
    )


def lasting_noise_of(member: Member) -> LastingNoise | None:
    """What outlives the run, if the algorithm draws anything that does."""
    if not any(draw.once for draw in member.role().draws.values()):
        return None
    dataset = member.plan.task.dataset
    lasting = LastingNoise.open(member.home.lasting_noise(dataset), dataset)
    try:
        _check_kept(lasting, member.plan, member.name, member.data)
        lasting.bind(member.data)
    except BaseException:
        lasting.close()
        raise
    return lasting


def check_kept_noise(plan: FederationPlan, name: str, home: Home, digest: str) -> bool:
    """Refuse what a run of this plan would: kept noise under other links, dealt in another way, or for other data.

    False where it cannot be looked at, because a run that uses it goes on meanwhile.
    """
    dataset = plan.task.dataset
    path = home.lasting_noise(dataset)
    if not path.exists():
        return True
    if held(path.with_name(path.name + ".lock")):
        return False
    lasting = LastingNoise.open(path, dataset)
    try:
        _check_kept(lasting, plan, name, digest)
    finally:
        lasting.close()
    return True


def check_data(member: Member) -> None:
    """Refuse, before anything is said, data that are not those of earlier runs, or of this one before it stopped."""
    dataset = member.plan.task.dataset
    served = member.home.accounts.runs(dataset)
    check_same_data(dataset, member.data, [one.data for one in served])
    if not member.data and any(one.data for one in served) and member.plan.kind.digests:
        raise JournalError(
            f"whether the data are those that {dataset!r} stood for cannot be told: in earlier runs the task gave a "
            "digest of them, and this one gives none. Give it data= or a data_digest(), or agree on a new dataset name"
        )
    check_kept_noise(member.plan, member.name, member.home, member.data)


def _check_kept(lasting: LastingNoise, plan: FederationPlan, name: str, digest: str) -> None:
    check_same_data(plan.task.dataset, digest, [lasting.digest])
    role = role_of(plan, name)
    if any(draw.once for draw in role.draws.values()):
        lasting.check_links(plan.neighbours(name))
        for other in role.neighbours:
            lasting.check_terms(plan.names[other], terms(role, other, plan.names))


def agreeing_of(
    member: Member, role: MemberRole, journal: Journal, lasting: LastingNoise | None
) -> NoiseAgreement:
    """This member's handshakes with those who are still there."""
    plan = member.plan
    partners = {
        plan.names[other]: Partner(other, plan.cards[other].certificate_pem, terms(role, other, plan.names))
        for other in role.present
    }
    return NoiseAgreement(
        member.identity, plan.run_hash, role.index, partners, journal, lasting, member.secrets
    )


def streams_of(member: Member, role: MemberRole, journal: Journal) -> ChainStreams:
    """Its random streams in the round in which the journal stands."""
    names, position = member.plan.names, journal.position
    asked = {other: journal.agreements.of(names[other]) for other in role.neighbours}
    agreed = {other: found for other, found in asked.items() if found is not None}
    once = {other: found.once for other, found in agreed.items() if found.once is not None}
    if position is None:
        chains = {other: found.chain for other, found in agreed.items() if found.chain is not None}
        return ChainStreams(1, chains, once, member.secrets.own_chain(role.index), role.dtype)
    chains = {
        other: position.chains[names[other]] for other in role.neighbours if names[other] in position.chains
    }
    return ChainStreams(position.round, chains, once, position.chains.get(member.name, b""), role.dtype)


def task_of(member: Member, role: MemberRole, streams: ChainStreams, lasting: LastingNoise | None) -> Task:
    """The task whose gradients this member follows: its own, or one of the sum that is kept with its noise.

    The sum is made once for these data, and put on the disk before anything is said of it.
    """
    stored = role.stored
    if stored is None:
        return member.task
    assert lasting is not None
    partners = ", ".join(member.plan.names[other] for other in sorted(streams.once))
    terms = f"{stored!r} in {role.plan.dim} dimensions, with {partners}"
    total = lasting.stored_sum(terms)
    if total is None:
        if streams.k > 1:
            path = member.home.lasting_noise(member.plan.task.dataset)
            raise JournalError(
                f"the sum that {member.name} followed is gone from {path}: another would have other noise. "
                "Restore that file, or let the others drop this member"
            )
        total = tuple(formed(role, streams.once, member.task).tolist())
        lasting.store_sum(terms, total)
    return StoredTask(member.task, stored, total)
