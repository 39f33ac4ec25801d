"""All members of a study in one process: their generators in lock step, their numbers summed as over links.

Every number goes through fixed point and the group, so that a simulation gives the same bits as a run among members,
but for noise, which each run draws afresh.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Generic, TypeVar

from hocket.algorithm import SecureSum
from hocket.errors import BadInput, BadStudy, HocketError, NotEstimable
from hocket.noise.discrete_gaussian import Bits
from hocket.secagg.group import add
from hocket.secagg.noise_share import with_noise
from hocket.secagg.summands import decoded, encoded, flat
from hocket.studies.check import check_table
from hocket.studies.data.table import Table
from hocket.studies.disclosure.promise import Among
from hocket.studies.results.results import Results, concluded
from hocket.studies.spec.study import Study
from hocket.studies.together import Analysis

Result = TypeVar("Result")
Watch = Callable[[int, int], None]
"""Told after each total: how many there were, and how many numbers this one had."""
Carry = Callable[[Mapping[str, SecureSum]], Mapping[str, Any]]
"""Gives every member, by its name, the sum of what all ask for."""


@dataclass(frozen=True)
class SimulatedAnalysis(Generic[Result]):
    """What members came to, and what it took."""

    result: Result
    totals: int
    numbers: int
    """Numbers that each member gave, over all totals."""


def fresh_bits(name: str) -> Bits:
    """Bits from the operating system, for noise that nobody is to know."""
    return Bits(os.urandom)


def simulate_analysis(
    members: Mapping[str, Analysis[Result]],
    watch: Watch = lambda totals, numbers: None,
    carry: Carry | None = None,
    bits: Callable[[str], Bits] = fresh_bits,
) -> SimulatedAnalysis[Result]:
    """Run every member's generator to its end; members are blamed by their names, and draw their noise from `bits`."""
    draws = {name: bits(name) for name in members}
    asked: dict[str, SecureSum] = {}
    results: dict[str, Result] = {}
    received: Mapping[str, Any] = dict.fromkeys(members)
    totals = numbers = 0
    while True:
        for name, analysis in members.items():
            try:
                asked[name] = analysis.send(received[name])
            except StopIteration as end:
                results[name] = end.value
        if results:
            if len(results) < len(members):
                raise BadStudy(
                    "members do not agree on when the analysis is over: do all have the same study?"
                )
            return SimulatedAnalysis(next(iter(results.values())), totals, numbers)
        received = summed(asked, draws) if carry is None else carry(asked)
        totals += 1
        numbers += flat(next(iter(asked.values())).values).size
        watch(totals, flat(next(iter(asked.values())).values).size)


def summed(asked: Mapping[str, SecureSum], draws: Mapping[str, Bits]) -> dict[str, Any]:
    """The same sum for every member."""
    messages = []
    for name, total in asked.items():
        try:
            own = encoded(total.values, bits=total.bits, members=len(asked), names=total.names)
            messages.append(with_noise(own, total.values, total.noise, total.bits, draws[name]))
        except BadInput as error:
            raise BadStudy(f"{name}: {error}") from None
    if len({(one.shape, total.bits) for one, total in zip(messages, asked.values(), strict=True)}) > 1:
        raise BadStudy("members gave totals of different length: do all have the same study?")
    whole = reduce(add, messages)
    return {name: decoded(whole, total.values, bits=total.bits) for name, total in asked.items()}


def simulate(
    study: Study,
    tables: Mapping[str, Table],
    watch: Watch = lambda totals, numbers: None,
    carry: Carry | None = None,
    *,
    colluders: int = 1,
    bits: Callable[[str], Bits] = fresh_bits,
) -> Results:
    """A whole study on one machine, a table for each member; gives what the members would get.

    Totals are summed in the open, unless `carry` does it another way, such as under masks.
    `colluders` is for a study that promises an ε: noise must suffice though so many take theirs off again.
    """
    if study.privacy is not None and not 1 <= colluders < len(tables):
        raise BadStudy(
            f"{colluders} of {len(tables)} members are to take their noise off; everybody can take off its own, so "
            "give 1 or more, and leave at least one who does not"
        )
    among = Among(len(tables), colluders if study.privacy is not None else 0)
    checked = {name: check_table(study, replace(table, name=name), among) for name, table in tables.items()}
    if len(checked) < 2:
        raise BadStudy("a study is among two members or more; name a table for each")
    try:
        done = simulate_analysis(
            {name: concluded(rows) for name, (_, rows) in checked.items()}, watch, carry, bits
        )
    except HocketError:
        raise
    except (ArithmeticError, ValueError, IndexError) as error:  # as over links
        raise NotEstimable(
            f"the joint sums lead nowhere ({str(error)[:80]}): look for wild values, and for columns that say the same"
        ) from error
    own = None if study.privacy else {name: check.kept for name, (check, _) in checked.items()}
    remarks = tuple(f"{name}: {one}" for name, (_, rows) in checked.items() for one in rows.remarks)
    return replace(done.result, rows_by_member=own, own_remarks=remarks, members=len(checked))
