"""`hocket peer verify` and `disclose`: whether a finished run was what its plan says."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from hocket.cli.answer import Answer
from hocket.cli.peer.common import HomeOption, OwnOption, folder_of, load_task
from hocket.cli.peer.consent import agree
from hocket.errors import BadConfig, BadInput
from hocket.federation.home import Home

if TYPE_CHECKING:
    from hocket.federation.task import Task


def verify(
    plan: Annotated[Path, Parameter(help="The plan that was run.")],
    /,
    *,
    given: Annotated[
        list[Path],
        Parameter(
            name="--with",
            consume_multiple=True,
            help="What members gave: folders with a transcript.json, or with what they disclosed.",
        ),
    ],
    task: Annotated[
        list[str] | None,
        Parameter(help="MEMBER=FILE.py:NAME: compute this member's steps anew, where its data are at hand."),
    ] = None,
    algorithm: OwnOption = None,
) -> Answer:
    """Check a finished run: both ends of every link signed the same digests of all words.

    If all members gave what `disclose` wrote, the run is also played again, word by word, and must come out as signed.
    Of a study, folders may hold its results and signatures too: they are checked to be those which members signed.
    """
    from hocket.federation.plan_file import read_plan
    from hocket.federation.study_seal import SIGNATURES, check_results
    from hocket.federation.verification import verify_run

    agreed = read_plan(plan, Home.at().own_code.naming(algorithm))
    tasks: dict[str, Task] = {}
    for one in task or ():
        name, equals, named = one.partition("=")
        if not equals or name not in agreed.names:
            raise BadConfig(
                f"--task {one} names no member; write MEMBER=FILE.py:NAME, such as clinic-a=mine.py:task"
            )
        tasks[name] = load_task(named)
    found = verify_run(agreed, given, tasks=tasks)
    if not found.holds:
        raise BadInput("; ".join(found.differences) + ": this run is not what its members signed; ask them")
    links = f"{found.links} of {len(agreed.links)} links"
    words = [f"{links}: both ends signed the same digests of every word, so each heard what the other said."]
    if found.missing:
        words.append(f"Nothing was given of {', '.join(found.missing)}; their links are not verified.")
    if found.replayed:
        how = f"; the steps of {', '.join(found.recomputed)} were computed anew" if found.recomputed else ""
        words.append(f"Played again from what all disclosed: every word comes out as it was signed{how}.")
    else:
        words.append("Not played again: that needs what `hocket peer disclose` writes, from every member.")
    signed = {
        str(folder): check_results(agreed, folder) for folder in given if (folder / SIGNATURES).is_file()
    }
    words += [
        f"Results in {folder} are as {len(names)} of {len(agreed.names)} members signed them: {', '.join(names)}."
        for folder, names in signed.items()
    ]
    return Answer(found.to_json() | ({"results_signed_by": signed} if signed else {}), words)


def disclose(
    plan: Annotated[Path, Parameter(help="The plan that was run.")],
    /,
    *,
    out: Annotated[Path, Parameter(name=["--out", "-o"], help="A new folder for what is disclosed.")],
    yes: Annotated[bool, Parameter(negative=(), help="Disclose without being asked.")] = False,
    home: HomeOption = None,
) -> Answer:
    """Write out this member's signed digests, noise keys and steps of a finished run, for whoever verifies it.

    Whoever heard this member's words learns its gradients from them: give them only to somebody whom all trust.
    """
    from hocket.federation.disclosure import FOLDER
    from hocket.federation.verification import FILE

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
        "With these keys and steps whoever heard this member's words knows its gradients in every round."
    )
    agree("Disclose them?", [warning], yes=yes)
    out.mkdir(parents=True)
    (out / FILE).write_bytes((folder.path / FILE).read_bytes())
    shutil.copytree(folder.path / FOLDER, out / FOLDER)
    return Answer(
        {"folder": str(out)}, [f"Disclosed: {out}. Verify with: hocket peer verify {plan} --with {out} …"]
    )
