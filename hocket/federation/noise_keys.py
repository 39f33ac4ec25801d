"""The noise of one member's run: whom it agrees with on keys, what it keeps for later runs, and where it stands."""

from __future__ import annotations

from hocket.federation.engine.role import Seat
from hocket.federation.engine.shares import ChainStreams
from hocket.federation.member import Member
from hocket.links.journal import Journal
from hocket.links.lasting_noise import Keepsakes
from hocket.links.noise_agreement import Agreeing, Partner
from hocket.noise.draws import Paired


def needs_keys(seat: Seat) -> bool:
    """Whether any noise is agreed in pairs."""
    return any(isinstance(draw, Paired) for draw in seat.draws.values())


def terms(seat: Seat, neighbour: int) -> str:
    """How noise that is kept is dealt on a link, in words that change with anything that matters."""
    slot = seat.slots[seat.neighbours.index(neighbour)]
    return "; ".join(
        f"{name}: {draw.width} numbers of {seat.dtype} {'spread by' if draw.normal else 'within'} "
        f"{draw.scale[:, slot].tolist()}"
        for name, draw in seat.draws.items()
        if isinstance(draw, Paired) and draw.once
    )


def keepsakes_of(member: Member) -> Keepsakes | None:
    """What outlives the run, if the algorithm draws anything that does."""
    if not any(draw.once for draw in member.seat().draws.values()):
        return None
    dataset = member.plan.task.dataset
    keepsakes = Keepsakes.open(member.home.keepsakes(dataset), dataset)
    try:
        keepsakes.check_links(member.plan.neighbours(member.name))
    except BaseException:
        keepsakes.close()
        raise
    return keepsakes


def agreeing_of(member: Member, seat: Seat, journal: Journal, keepsakes: Keepsakes | None) -> Agreeing:
    """This member's handshakes with those who are still there."""
    plan = member.plan
    partners = {
        plan.names[other]: Partner(other, plan.cards[other].certificate_pem, terms(seat, other))
        for other in seat.present
    }
    return Agreeing(member.identity, plan.run_hash, seat.index, partners, journal, keepsakes, member.secrets)


def streams_of(member: Member, seat: Seat, journal: Journal) -> ChainStreams:
    """Its random streams in the round in which the journal stands."""
    names, position = member.plan.names, journal.position
    agreed = {other: journal.agreements.of(names[other]) for other in seat.neighbours}
    once = {
        other: found.once for other, found in agreed.items() if found is not None and found.once is not None
    }
    if position is None:
        chains = {
            other: found.chain
            for other, found in agreed.items()
            if found is not None and found.chain is not None
        }
        return ChainStreams(1, chains, once, member.secrets.own_chain(seat.index), seat.dtype)
    chains = {
        other: position.chains[names[other]] for other in seat.neighbours if names[other] in position.chains
    }
    return ChainStreams(position.round, chains, once, position.chains.get(member.name, b""), seat.dtype)
