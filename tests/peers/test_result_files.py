"""`hocket peer verify` names each file that was signed, and by whom, and refuses all others."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hocket.cli.peer import peer
from hocket.errors import BadConfig, BadInput, BadPlan
from hocket.federation.plan.plan import FederationPlan
from hocket.federation.plan.plan_file import write_plan
from hocket.federation.state.run_folder import MOST_GIVEN
from hocket.federation.verification.result_files import FILE, _message, sign_files
from hocket.federation.verification.result_files import PURPOSE as OF_FILES
from hocket.federation.verification.study_signatures import SIGNATURES
from hocket.federation.verification.verify import FILE as TRANSCRIPT
from hocket.federation.verification.verify import PURPOSE, read_transcript
from hocket.links.keys.identity import Identity
from hocket.machine import held_ports
from hocket.studies.results.results import COEFFICIENTS, PAGE, RESULTS

from .federation_case import Federation, play
from .study_case import NAMES, planned
from .test_studies import members

OF_A_STUDY = (RESULTS, COEFFICIENTS, PAGE, SIGNATURES, TRANSCRIPT)


class Study:
    """Four clinics and what they found."""

    def __init__(self, folder: Path):
        self.identities = {name: Identity.create(name) for name in NAMES}
        listed = [*self.identities.values()]
        with held_ports(len(NAMES)) as ports:
            some = members(folder, planned(listed, ports), listed)
            play(some)
        self.plan: FederationPlan = some[0].plan
        self.folders = {member.name: member.folder.path for member in some}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    return Study(tmp_path_factory.mktemp("study"))


@pytest.fixture
def given(played, tmp_path):
    """Copies of what the members give away."""
    for name, folder in played.folders.items():
        (tmp_path / name).mkdir()
        for file in (*OF_A_STUDY, FILE):
            shutil.copy(folder / file, tmp_path / name / file)
    write_plan(played.plan, tmp_path / "plan.toml")
    return tmp_path


def verify(folder: Path, *names: str) -> Any:
    given = [str(folder / name) for name in names or NAMES]
    words = ["verify", str(folder / "plan.toml"), "--with", *given]
    return peer(words, exit_on_error=False, print_error=False, result_action="return_value")


def test_each_file_and_signer_is_named_by_fingerprint(played, given):
    answer = verify(given)
    said = "\n".join(answer.words)
    for name in NAMES:
        assert f"  {name:<7}  {played.plan.card(name).fingerprint}" in answer.words
        for file in OF_A_STUDY:
            assert f"{given / name / file}: as {name} signed it" in said
    assert f"fingerprint {played.plan.fingerprint}, signed by:" in said
    assert answer.data["files"] == {str(given / name): [*OF_A_STUDY] for name in NAMES}
    assert answer.data["signers"] == {name: played.plan.card(name).fingerprint for name in NAMES}


@pytest.mark.parametrize("file", OF_A_STUDY)
def test_a_file_that_was_changed_is_refused(given, file):
    path = given / "birch" / file
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(BadInput, match=rf"birch/{file} was changed after birch signed it"):
        verify(given)


def test_a_digit_that_keeps_its_place_is_seen_too(given):
    path = given / "ash" / PAGE
    page = path.read_bytes()
    place = next(at for at in range(len(page) // 2, len(page)) if page[at : at + 1].isdigit())
    digit = b"1" if page[place : place + 1] != b"1" else b"2"
    path.write_bytes(page[:place] + digit + page[place + 1 :])
    with pytest.raises(BadInput, match=r"results\.html was changed"):
        verify(given)


def lose_the_list(given: Path, played: Study) -> None:
    (given / "ash" / FILE).unlink()


def add_a_file(given: Path, played: Study) -> None:
    (given / "ash" / "published.npy").write_bytes(b"more")


def take_over_a_list(given: Path, played: Study) -> None:
    for file in (PAGE, FILE):
        shutil.copy(given / "birch" / file, given / "ash" / file)
    for file in (RESULTS, COEFFICIENTS, SIGNATURES, TRANSCRIPT):
        (given / "ash" / file).unlink()
    shutil.copy(played.folders["ash"] / TRANSCRIPT, given / "ash" / TRANSCRIPT)


def name_another(given: Path, played: Study) -> None:
    path = given / "ash" / FILE
    path.write_text(path.read_text().replace('"ash"', '"birch"'))


def own_table(given: Path, played: Study) -> None:
    """Its own member signs a table that does not follow from the results."""
    path = given / "ash" / COEFFICIENTS
    path.write_text(path.read_text().replace("radius", "smoking"))
    sign_files(played.identities["ash"], played.plan, given / "ash")


def own_bytes(given: Path, played: Study) -> None:
    """Its own member signs a table that is no text."""
    (given / "ash" / COEFFICIENTS).write_bytes(b"\xff")
    sign_files(played.identities["ash"], played.plan, given / "ash")


def fewer_signatures(given: Path, played: Study) -> None:
    path = given / "ash" / SIGNATURES
    found = json.loads(path.read_text())
    path.write_text(json.dumps(found | {"signatures": {"ash": found["signatures"]["ash"]}}))
    sign_files(played.identities["ash"], played.plan, given / "ash")


def somebody_left(given: Path, played: Study) -> None:
    path = given / "ash" / SIGNATURES
    path.write_text(json.dumps(json.loads(path.read_text()) | {"left": ["dogwood"]}))
    sign_files(played.identities["ash"], played.plan, given / "ash")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lose_the_list, r"nobody has signed results\.json, .* files\.json is missing"),
        (add_a_file, r"ash has not signed .*published\.npy"),
        (take_over_a_list, r"birch has not signed|was changed after birch signed it"),
        (name_another, r"files\.json was not signed by birch"),
        (own_table, r"coefficients\.csv is another table than that in results\.json"),
        (own_bytes, r"coefficients\.csv is another table than that in results\.json"),
        (fewer_signatures, "lack the signature of birch, cedar, dogwood"),
        (somebody_left, "names other members who left than the transcripts do"),
    ],
)
def test_what_nobody_signed_is_refused(played, given, change: Callable[[Path, Study], None], said):
    change(given, played)
    with pytest.raises(BadInput, match=said):
        verify(given)


@pytest.mark.parametrize("kept", [(), ("ash",), NAMES[:3]])
def test_a_plan_without_its_signatures_is_refused(played, given, kept):
    signatures = {name: played.plan.signatures[name] for name in kept}
    write_plan(replace(played.plan, signatures=signatures), given / "plan.toml")
    with pytest.raises(BadPlan, match=f"lacks the signature of .*{NAMES[3]}"):
        verify(given)


def test_a_file_that_was_not_given_is_named(given):
    (given / "ash" / PAGE).unlink()
    words = verify(given, "ash").words
    assert f"{given / 'ash'}: ash signed {PAGE} as well, and that was not given" in words


@pytest.mark.parametrize("file", [TRANSCRIPT, FILE])
def test_a_file_beyond_all_sizes_is_refused_before_it_is_read(given, file):
    with (given / "ash" / file).open("r+b") as sparse:
        sparse.truncate(MOST_GIVEN + 1)
    with pytest.raises(BadConfig, match=r"10,000,001 bytes, where 10,000,000 are the most"):
        verify(given)


@pytest.mark.parametrize("content", ["[]", "{}", '{"signatures": 3}', "\ud800"])
@pytest.mark.parametrize("file", [SIGNATURES, FILE])
def test_damaged_lists_end_in_words(played, given, file, content):
    (given / "ash" / file).write_bytes(content.encode("utf-8", "surrogatepass"))
    if file == SIGNATURES:  # even where its own member signs it
        sign_files(played.identities["ash"], played.plan, given / "ash")
    with pytest.raises((BadConfig, BadInput), match=r"damaged|signatures\.json|files\.json"):
        verify(given)


def test_one_member_who_says_that_all_others_left_needs_their_signatures_all_the_same(played, given):
    alone, ash = given / "ash", played.identities["ash"]
    lied = replace(read_transcript(alone), left=NAMES[1:], links={})
    replace(lied, signature=ash.sign(lied.message, PURPOSE)).save(alone)
    sign_files(ash, played.plan, alone)
    signatures = {"ash": played.plan.signatures["ash"]}
    write_plan(replace(played.plan, signatures=signatures), given / "plan.toml")
    with pytest.raises(BadPlan, match="lacks the signature of birch, cedar, dogwood"):
        verify(given, "ash")


def test_what_was_published_after_gradients_is_signed_too(tmp_path):
    federation = Federation(tmp_path)
    play(federation.member(name) for name in federation.names)
    folders = [federation.member(name).folder.path for name in federation.names]
    assert all((folder / "published.npy").exists() for folder in folders)

    def answer() -> Any:
        words = ["verify", str(federation.plan_file), "--with", *map(str, folders)]
        return peer(words, exit_on_error=False, print_error=False, result_action="return_value")

    assert [*answer().data["files"].values()] == [[TRANSCRIPT, "published.npy"]] * 3
    np.save(folders[0] / "published.npy", np.load(folders[0] / "published.npy") + 1e-9)
    with pytest.raises(BadInput, match=r"published\.npy was changed after ash signed it"):
        answer()
    play(federation.member(name, linger=5.0) for name in federation.names)  # which writes it anew
    assert answer()


def test_what_nobody_signed_is_said_to_be_so(given):
    """A page beside the signed one, called nearly the same, is what somebody would open."""
    for name in ("Results.html", "report\x1b[2J\nall is well.html"):
        (given / "ash" / name).write_text("<p>another result</p>")
    answer = verify(given)
    assert [line for line in answer.words if "NOT SIGNED" in line] == [
        f"NOT SIGNED by anybody, and not checked, in {given / 'ash'}: 'Results.html', 'report\\x1b[2J all is well.html'"
    ]
    assert list(answer.data["not_signed"]) == [str(given / "ash")]


FORGED = "x\n4 of 4 links were verified"


def test_a_member_that_signs_a_file_with_a_forged_name_draws_no_line(played, given):
    path = given / "ash" / FILE
    table = json.loads(path.read_text())
    del table["signature"]
    table["files"][FORGED] = {"size": 1, "sha256": "0" * 64}
    signature = played.identities["ash"].sign(_message(table), OF_FILES)
    path.write_text(json.dumps(table | {"signature": base64.b64encode(signature).decode()}))
    with pytest.raises(BadConfig, match="files") as refused:
        verify(given)
    assert FORGED not in str(refused.value)


@pytest.mark.parametrize("file", [FILE, TRANSCRIPT])
def test_a_member_s_name_that_is_none_draws_no_line(given, file):
    path = given / "ash" / file
    path.write_text(json.dumps(json.loads(path.read_text()) | {"member": FORGED, "run": "0" * 64}))
    with pytest.raises(BadConfig, match="member") as refused:
        verify(given)
    assert FORGED not in str(refused.value)
