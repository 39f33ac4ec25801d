"""`hocket peer verify` and `disclose`: whether a finished run was what its plan says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.options import HomeFolder, OutFile, OwnAlgorithm
from hocket.cli.peer.common import folder_of, load_task
from hocket.cli.peer.consent import agree
from hocket.errors import BadConfig, BadInput
from hocket.federation.state.home import Home
from hocket.links.text import quoted

if TYPE_CHECKING:
    from hocket.federation.plan.plan import FederationPlan
    from hocket.federation.verification.verify import SignedTranscript
    from hocket.federation.workloads.task import Task

MOST_NAMED = 20
"""Files without a signature that are named; the rest is counted."""
PlayedPlan = Annotated[Path, Parameter(help="The plan that was run.")]


def verify(
    plan: PlayedPlan,
    /,
    *,
    given: Annotated[list[Path], Parameter(name="--with", consume_multiple=True)],
    task: list[str] | None = None,
    algorithm: OwnAlgorithm = None,
) -> Answer:
    """Check a finished run: who signed its plan, and each file of its result, by digest; unsigned files are named.

    Both ends of every link must have signed the same digests of all messages, and all members the same results of a
    study. If all members gave what `disclose` wrote, the run is also played again, message by message, and must come
    out as signed. Compare the fingerprints with those that you know: a plan can be signed by anybody.

    Args:
        given: What members gave: folders with a transcript.json, or with what they disclosed.
        task: MEMBER=FILE.py:NAME: compute this member's steps anew, where its data are at hand.
    """
    from hocket.federation.plan.plan_file import read_plan
    from hocket.federation.verification.result_files import check_files, not_signed
    from hocket.federation.verification.study_signatures import SIGNATURES, check_results
    from hocket.federation.verification.verify import FILE, read_transcript, verify_run
    from hocket.studies.results.results import RESULTS

    agreed = read_plan(plan, Home.at().own_code.naming(algorithm))
    tasks: dict[str, Task] = {}
    for one in task or ():
        name, equals, named = one.partition("=")
        if not equals or name not in agreed.names:
            raise BadConfig(
                f"--task {one} names no member; write MEMBER=FILE.py:NAME, such as clinic-a=mine.py:task"
            )
        tasks[name] = load_task(named)
    transcripts = {folder: read_transcript(folder) for folder in given}
    agreed.check_signatures(without=_dropped(agreed, [*transcripts.values()]))
    files = {folder: check_files(agreed, folder) for folder in given}
    for folder, one in files.items():
        if one is not None and one.member != transcripts[folder].member:
            raise BadInput(
                f"{folder} has files of {one.member} and the transcript of {transcripts[folder].member}; give each "
                "member's folder as it was"
            )
    found = verify_run(agreed, given, tasks=tasks)
    if not found.holds:
        raise BadInput("; ".join(found.differences) + ": this run is not what its members signed; ask them")
    signed = {
        folder: check_results(agreed, folder, transcripts[folder].left)
        for folder in given
        if (folder / RESULTS).is_file() or (folder / SIGNATURES).is_file()
    }
    links = f"{found.links} of {len(agreed.links)} links"
    words = [
        f"{links}: both ends signed the same digests of every message, so each received what the other sent."
    ]
    if found.missing:
        words.append(f"Nothing was given of {', '.join(found.missing)}; their links are not verified.")
    if found.replayed:
        how = f"; the steps of {', '.join(found.recomputed)} were computed anew" if found.recomputed else ""
        words.append(f"Played again from what all disclosed: every message comes out as it was signed{how}.")
    else:
        words.append("Not played again: that needs what `hocket peer disclose` writes, from every member.")
    for folder, names in signed.items():
        words.append(
            f"Results in {folder} are as {len(names)} of {len(agreed.names)} members signed them: {', '.join(names)}."
        )
    for folder, one in files.items():
        owner = transcripts[folder].member
        names = (FILE,) if one is None else one.files
        words += [f"{folder / name}: as {owner} signed it" for name in names]
        if one is not None and one.absent:
            words.append(f"{folder}: {owner} signed {', '.join(one.absent)} as well, and that was not given")
    unsigned = {str(folder): others for folder in given if (others := not_signed(folder))}
    for folder, others in unsigned.items():
        more = f" and {len(others) - MOST_NAMED:,} more" if len(others) > MOST_NAMED else ""
        words.append(
            f"NOT SIGNED by anybody, and not checked, in {folder}: {', '.join(map(quoted, others[:MOST_NAMED]))}{more}"
        )
    words += ["", f"Plan: {plan}, fingerprint {agreed.fingerprint}, signed by:", *_signers(agreed)]
    about = {
        "plan": str(plan),
        "fingerprint": agreed.fingerprint,
        "signers": {card.name: card.fingerprint for card in agreed.cards if card.name in agreed.signatures},
        "not_signed": unsigned,
        "files": {str(folder): list((FILE,) if one is None else one.files) for folder, one in files.items()},
    }
    by_folder = {str(folder): names for folder, names in signed.items()}
    return Answer(found.to_json() | about | ({"results_signed_by": by_folder} if signed else {}), words)


def _dropped(plan: FederationPlan, given: Sequence[SignedTranscript]) -> frozenset[str]:
    """Members who need not have signed a plan, as all who stayed report that they left; one report is no proof."""
    left = frozenset[str].intersection(*(frozenset(one.left) for one in given))
    stayed = {*plan.names} - left
    return left if len(stayed) > 1 and stayed <= {one.member for one in given} else frozenset()


def _signers(plan: FederationPlan) -> Iterator[str]:
    """Who signed a plan, by which key; and who did not, as it was dropped."""
    width = max(map(len, plan.names))
    for card in plan.cards:
        not_signed = "" if card.name in plan.signatures else "  (did not sign: it was dropped)"
        yield f"  {card.name:<{width}}  {card.fingerprint}{not_signed}"


def disclose(plan: PlayedPlan, /, *, out: OutFile, yes: bool = False, home: HomeFolder = None) -> Answer:
    """Write out this member's signed digests, noise keys and steps of a finished run, for those who verify it.

    Anybody who received this member's messages learns its gradients from them: give them only to somebody whom all
    trust.

    Args:
        out: A new folder for what is disclosed.
        yes: Disclose without being asked.
    """
    from hocket.federation.verification.noise_disclosure import FOLDER
    from hocket.federation.verification.verify import FILE

    agreed, folder = folder_of(plan, home)
    if not (folder.path / FILE).is_file():
        raise BadConfig(
            f"this member has not finished the run in {folder.path}; finish it with hocket peer run"
        )
    if not agreed.run.verifiable:
        raise BadConfig(
            "the plan is not verifiable: keys were destroyed as the run went on, and cannot be disclosed. Its "
            f"{folder.path / FILE} can be given all the same; plan with --verifiable where more is wanted"
        )
    if out.exists():
        raise BadConfig(f"{out} exists; name another folder with --out")
    warning = (
        "With these keys and steps a receiver of this member's messages knows its gradients in every round."
    )
    agree("Disclose them?", [warning], yes=yes)
    out.mkdir(parents=True)
    (out / FILE).write_bytes((folder.path / FILE).read_bytes())
    shutil.copytree(folder.path / FOLDER, out / FOLDER)
    return Answer(
        {"folder": str(out)}, [f"Disclosed: {out}. Verify with: hocket peer verify {plan} --with {out} …"]
    )
