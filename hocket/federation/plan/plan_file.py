"""A plan as a TOML file that people can read and sign."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hocket import __version__
from hocket.config.files import dumps
from hocket.config.section import check
from hocket.config.sections import read_step
from hocket.errors import BadConfig, BadInput, BadPlan, nearest
from hocket.federation.plan.cards import Card, card_from
from hocket.federation.plan.own_code import NO_CODE, OwnCode
from hocket.federation.plan.plan import Dial, FederationPlan
from hocket.federation.plan.plan_hash import LONGEST, SIGNATURES
from hocket.federation.plan.sections import (
    AuditSection,
    CertificateSection,
    FederationSection,
    PlanNetworkSection,
    PlanRunSection,
    TaskSection,
    read_feasible,
    read_planned_algorithm,
)
from hocket.files import read_text, toml_tables
from hocket.links.text import is_table, shown
from hocket.machine import replace_text

SECTIONS = ("federation", "task", "run", "algorithm", "step", "feasible", "network", "audit", "cards")
CERTIFICATE = "certificate"
"""The one section that a plan may lack."""
LONGEST_SIGNATURE = 200
"""Characters; ours have about 100."""


def plan_text(plan: FederationPlan) -> str:
    """A plan as TOML, with its fingerprint on top and its signatures at the end."""
    heading = (
        f"# A plan for hocket, to be read and signed by every member; written by hocket {__version__}.\n"
        f"# Its fingerprint, to compare by voice: {plan.fingerprint}\n\n"
    )
    return heading + dumps({**plan.tables(), SIGNATURES: dict(plan.signatures)})


def write_plan(plan: FederationPlan, path: Path) -> None:
    """Write a plan so that a crash leaves the old file or the new one."""
    try:
        replace_text(path, plan_text(plan))
    except OSError as error:
        raise BadConfig(f"{path} cannot be written: {error.strerror}") from error


def read_plan(path: Path, own: OwnCode = NO_CODE) -> FederationPlan:
    """Read a plan and check all but its signatures and dates; errors name the file, the section and the key.
    An algorithm that is not hocket's is run only if its source is in `own`."""
    try:
        text = read_text(path, LONGEST)
    except FileNotFoundError:
        raise BadConfig(f"there is no file {path}; make a plan with hocket peer plan") from None
    except OSError as error:
        raise BadConfig(f"{path} cannot be read: {error.strerror}; name a plan's file") from error
    try:
        return parse_plan(text, own)
    except BadInput as error:
        raise BadPlan(f"{path}: {error}") from error


def parse_plan(text: str, own: OwnCode = NO_CODE) -> FederationPlan:
    """A plan from its text."""
    if len(text) > LONGEST:
        raise BadConfig(f"the plan has {len(text):,} characters, where {LONGEST:,} are the most")
    tables = toml_tables(text)
    _check_sections(tables)
    federation = check(FederationSection, "federation", tables["federation"])
    network = check(PlanNetworkSection, "network", tables["network"])
    return FederationPlan(
        cards=_cards(federation.members, tables["cards"]),
        links=_links(network.links, federation.members),
        weights=_weights(network.weights, len(federation.members)),
        topology=network.topology,
        algorithm_section=read_planned_algorithm(tables["algorithm"], own),
        step_section=read_step(tables["step"]),
        feasible_section=read_feasible(tables["feasible"]),
        task=check(TaskSection, "task", tables["task"]),
        run=check(PlanRunSection, "run", tables["run"]),
        audit=check(AuditSection, "audit", tables["audit"]),
        certificate=check(CertificateSection, CERTIFICATE, tables[CERTIFICATE])
        if CERTIFICATE in tables
        else None,
        protocol=federation.protocol,
        noise=federation.noise,
        signatures=_signatures(tables.get(SIGNATURES, {}), federation.members),
    )


OTHER_FILES = {
    "invitation": "an invitation, which hocket peer accept opens,",
    "study": "a study",
    "card": "a member's card",
}
"""What a file is that is named in place of a plan, by the first of these sections that it has."""


def _check_sections(tables: Mapping[str, Any]) -> None:
    for name, what in OTHER_FILES.items():
        if name in tables and SECTIONS[0] not in tables:
            raise BadConfig(f"this is {what} and no plan; name the file that hocket peer plan wrote")
    for name in SECTIONS:
        if not isinstance(tables.get(name), dict):
            raise BadConfig(f"the section [{name}] is missing; a plan has {', '.join(SECTIONS)}")
    for name in tables:
        if name not in (*SECTIONS, CERTIFICATE, SIGNATURES):
            raise BadConfig(
                f"there is no section [{shown(name)}]{nearest(name, SECTIONS)}; a plan has {', '.join(SECTIONS)}"
            )


def _cards(members: list[str], tables: Mapping[str, Any]) -> tuple[Card, ...]:
    if sorted(members) != sorted(tables):
        wrong = shown(", ".join(sorted({*members} ^ {*tables})))
        raise BadConfig(
            f"[federation] members and [cards] disagree about {wrong or 'a member named twice'}; every member has one "
            "card"
        )
    cards = tuple(card_from(tables[name], f"cards.{name}") for name in members)
    for name, card in zip(members, cards, strict=True):
        if card.name != name:
            raise BadConfig(f"[cards.{name}] is the card of {card.name}; put every card under its own name")
    return cards


def _links(links: list[list[str]], members: list[str]) -> tuple[Dial, ...]:
    place = {name: agent for agent, name in enumerate(members)}
    for link in links:
        if len(link) != 2 or any(name not in place for name in link):
            raise BadConfig(
                f"[network] links has {shown(str(link))}; a link is two members, [who dials, who is dialled]"
            )
    return tuple(Dial(place[dialer], place[listener]) for dialer, listener in links)


def _weights(rows: list[list[float]], n: int) -> tuple[tuple[float, ...], ...]:
    if len(rows) != n or any(len(row) != n for row in rows):
        raise BadConfig(
            f"[network] weights is no matrix of {n} rows and {n} columns; a plan has a row per member"
        )
    return tuple(map(tuple, rows))


def _signatures(table: Any, members: list[str]) -> dict[str, str]:
    if not is_table(table):
        raise BadConfig("signatures is no section; write [signatures], and a line per member below")
    for name, signature in table.items():
        known = name in members and isinstance(signature, str) and len(signature) <= LONGEST_SIGNATURE
        if not known:
            raise BadConfig(f"[signatures] {shown(name)} is no signature of a member; remove the line")
    return dict(table)
