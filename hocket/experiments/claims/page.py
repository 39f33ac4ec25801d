"""The ledger as tables and as a page of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hocket.experiments.claims.ledger import COMMAND, Entry, Ledger, Verdict

PAGE = "claims.md"

INTRODUCTION = """\
# The paper's claims, one by one

Every claim of Gade and Vaidya, *Private Learning on Networks: Part II* (2017), the check that stands for it, and
what came of it. This page is written by `{command} --out docs`; the command in each row runs that check alone.

*Holds as corrected* means that the claim cannot stand as printed and that what the row puts in its place was checked
instead. A check is a measurement, not a proof: it can refute a claim, and show how closely one holds.
"""


def paragraphs(ledger: Ledger) -> list[str]:
    """The ledger for the terminal, some lines for each claim."""
    parts = []
    for title, entries in ledger.groups:
        parts.append(f"{title.upper()}\n")
        parts += [
            f"{entry.verdict.value}: {entry.claim.statement} [{entry.claim.where}]\n"
            f"    {_evidence(entry)}\n    {entry.claim.command}\n"
            for entry in entries
        ]
    return parts


def conclusion(ledger: Ledger) -> str:
    """How many claims got which verdict."""
    many = {verdict.value: ledger.count(verdict) for verdict in Verdict}
    counts = ", ".join(f"{word}: {count}" for word, count in many.items())
    return f"{len(ledger.entries)} claims. {counts[0].upper()}{counts[1:]}."


def data(ledger: Ledger) -> dict[str, Any]:
    """The ledger as one JSON object."""
    return {
        "claims": [
            {
                "name": entry.claim.name,
                "group": title,
                "where": entry.claim.where,
                "claim": entry.claim.statement,
                "verdict": entry.verdict.value,
                "corrected": entry.claim.corrected or None,
                "evidence": entry.evidence,
                "numbers": {} if entry.finding is None else entry.finding.numbers,
                "command": entry.claim.command,
            }
            for title, entries in ledger.groups
            for entry in entries
        ],
        "counts": {verdict.value: ledger.count(verdict) for verdict in Verdict},
        "seconds": round(ledger.seconds, 1),
        "conclusion": conclusion(ledger),
    }


def markdown(ledger: Ledger) -> str:
    """The ledger as a page."""
    parts = [INTRODUCTION.format(command=COMMAND), f"**{conclusion(ledger)}**\n"]
    for title, entries in ledger.groups:
        rows = [
            f"| {_cell(entry.claim.statement)} *{_cell(entry.claim.where)}* | **{entry.verdict.value}** "
            f"| {_cell(_evidence(entry))} | `{entry.claim.name}` |"
            for entry in entries
        ]
        parts.append(
            "\n".join(
                [f"## {title}\n", "| claim | verdict | evidence | `--only` |", "|---|---|---|---|", *rows, ""]
            )
        )
    return "\n".join(parts)


def write(ledger: Ledger, folder: Path) -> Path:
    """Write the page into a folder; returns where it lies."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / PAGE
    path.write_text(markdown(ledger), encoding="utf-8")
    return path


def _evidence(entry: Entry) -> str:
    text = f"{entry.evidence}."
    return f"Corrected: {entry.claim.corrected} Found: {text}" if entry.claim.corrected else text


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
