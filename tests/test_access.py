"""Keys of clients: named, scoped, hashed, revocable."""

import threading

import pytest

from brain.errors import LakeError, UsageError
from brain.services import access
from brain.workspace import Workspace, open_workspace


def test_a_key_is_known_by_its_secret_and_nothing_else(workspace: Workspace) -> None:
    made = access.add_key(workspace, "laptop", "write")
    assert access.verify(workspace, made.secret) == made.key
    assert made.key.scopes == ["read", "write"]
    for wrong in (
        "",
        "x",
        made.key.id,
        made.secret[:-1],
        made.secret + "a",
        made.secret[:-1] + "é",
        "brain_" + "0" * 12 + made.secret[18:],
    ):
        assert access.verify(workspace, wrong) is None


def test_the_secret_is_nowhere_on_disk(workspace: Workspace) -> None:
    made = access.add_key(workspace, "laptop", "admin")
    secret = made.secret.split("_", 2)[2].encode()
    files = [path for path in workspace.home.root.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if secret in path.read_bytes()]
    assert (workspace.home.keys / "clients.json").stat().st_mode & 0o777 == 0o600


def test_a_revoked_key_is_refused_by_every_process_at_once(workspace: Workspace) -> None:
    made = access.add_key(workspace, "laptop")
    other = open_workspace(workspace.home.root)
    assert access.verify(other, made.secret)
    assert access.revoke_key(workspace, "laptop").revoked_at
    assert access.verify(other, made.secret) is None
    assert not access.has_keys(other)
    assert [key.name for key in access.list_keys(other)] == ["laptop"]
    with pytest.raises(UsageError, match="no key 'laptop' in use"):
        access.revoke_key(workspace, "laptop")
    assert access.add_key(workspace, "laptop").key.id != made.key.id


@pytest.mark.parametrize(
    ("name", "scope"), [("", "read"), (" \u200b", "read"), ("a" * 101, "read"), ("a", "root")]
)
def test_a_key_that_cannot_be_meant_is_refused(workspace: Workspace, name: str, scope: str) -> None:
    with pytest.raises(UsageError):
        access.add_key(workspace, name, scope)
    assert access.list_keys(workspace) == []


def test_two_good_keys_never_share_a_name(workspace: Workspace) -> None:
    access.add_key(workspace, "phone")
    with pytest.raises(UsageError, match="there is a key named 'phone'"):
        access.add_key(workspace, "phone", "write")


def test_keys_made_at_the_same_time_are_all_kept(workspace: Workspace) -> None:
    made: list[access.NewKey] = []
    threads = [
        threading.Thread(target=lambda n=n: made.append(access.add_key(workspace, f"k{n}"))) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key.name for key in access.list_keys(workspace)} == {f"k{n}" for n in range(8)}
    assert all(access.verify(workspace, new.secret) == new.key for new in made)


def test_a_damaged_key_file_lets_nobody_in(workspace: Workspace) -> None:
    made = access.add_key(workspace, "laptop")
    (workspace.home.keys / "clients.json").write_text('{"keys": [{"id"', "utf-8")
    with pytest.raises(LakeError, match="cannot be read"):
        access.verify(workspace, made.secret)
