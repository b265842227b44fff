"""Archives: sources found by content, hostile names and sizes refused, damage bounded, nothing else written."""

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brain import archives
from brain.archive_members import LIMITS
from brain.archives import Unpacked, is_archive, unpack
from brain.errors import SourceError

DATA = Path(__file__).parent / "data"
CHROMIUM = (DATA / "chromium-156-History").read_bytes()
FIREFOX = (DATA / "firefox-153-live-places.sqlite").read_bytes()
FIREFOX_LOG = (DATA / "firefox-153-live-places.sqlite-wal").read_bytes()
HTML = b'<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF="https://a.example/">A</A>\n</DL><p>\n'
PHOTO = b"\xff\xd8\xff\xe0" + bytes(range(256)) * 8


def zipped(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def tarred(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def opened(path: Path, **limits: int) -> Unpacked:
    """The archive unpacked beside itself, after checking that everything written is private and in its place."""
    into = path.parent / "private"
    into.mkdir(exist_ok=True)
    unpacked = unpack(path, into, replace(LIMITS, **limits))
    written = {entry for entry in path.parent.rglob("*") if entry != path and entry != into}
    kept = {sibling for item in unpacked.files for sibling in item.path.parent.iterdir()}
    assert {entry for entry in written if entry.is_file()} == kept
    assert all(entry.is_relative_to(into) for entry in written)
    assert {stat.S_IMODE(entry.stat().st_mode) for entry in kept} <= {0o600}
    assert {stat.S_IMODE(item.path.parent.stat().st_mode) for item in unpacked.files} <= {0o700}
    return unpacked


def names(unpacked: Unpacked) -> list[str]:
    return [item.name for item in unpacked.files]


def refused(unpacked: Unpacked) -> list[tuple[str, str]]:
    return [(reject.where, reject.reason) for reject in unpacked.rejects]


SOURCES = {
    "Takeout/photo.jpg": PHOTO,
    "Takeout/Chrome/Lesezeichen.html": HTML,
    "Takeout/readme.txt": b"words of no kind\n",
    "backup/History": CHROMIUM,
}


@pytest.mark.parametrize("make", [zipped, tarred])
def test_sources_come_out_whole_and_in_order_and_nothing_else_does(make, tmp_path: Path) -> None:
    unpacked = opened(make(tmp_path / "a", SOURCES))
    assert names(unpacked) == ["Takeout/Chrome/Lesezeichen.html", "backup/History"]
    assert [item.path.read_bytes() for item in unpacked.files] == [HTML, CHROMIUM]
    assert [item.path.name for item in unpacked.files] == ["Lesezeichen.html", "History"]
    assert (unpacked.rejects, unpacked.fault, unpacked.skipped) == ([], None, 2)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_every_way_of_packing_is_read(method: int, tmp_path: Path) -> None:
    assert names(opened(zipped(tmp_path / "a.zip", {"History": CHROMIUM}, method))) == ["History"]


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize("log_first", [True, False])
def test_the_log_of_a_database_comes_with_it_and_is_no_source(make, log_first: bool, tmp_path: Path) -> None:
    members = {
        "p/my places.sqlite": FIREFOX,
        "p/my places.sqlite-wal": FIREFOX_LOG,
        "q/b.sqlite-wal": FIREFOX_LOG,
    }
    unpacked = opened(make(tmp_path / "a", dict(sorted(members.items(), reverse=log_first))))
    (found,) = unpacked.files
    assert found.name == "p/my places.sqlite"
    assert sorted(entry.name for entry in found.path.parent.iterdir()) == [
        "my places.sqlite",
        "my places.sqlite-wal",
    ]
    assert found.path.with_name("my places.sqlite-wal").read_bytes() == FIREFOX_LOG


def test_what_an_archive_is_shows_in_its_content_alone(tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl.gz").write_bytes(gzip.compress(b'{"url": "https://a.example/"}\n' * 99))
    (tmp_path / "named.zip").write_bytes(b"no archive")
    assert is_archive(zipped(tmp_path / "x", {}))
    assert is_archive(tarred(tmp_path / "y", {"a": b"b"}))
    assert not any(is_archive(tmp_path / name) for name in ("lines.jsonl.gz", "named.zip", "absent", "."))


@pytest.mark.parametrize(
    ("stored", "flag", "shown"),
    [
        ("Café/History".encode(), 0, "Café/History"),  # what most programs write
        ("Café/History".encode(), 0x800, "Café/History"),
        ("Café/History".encode("cp437"), 0, "Café/History"),  # what the format says
        ("履歴/History".encode(), 0, "履歴/History"),
        (b"Takeout\\Chrome\\History", 0, "Takeout/Chrome/History"),
    ],
)
def test_names_are_shown_as_they_were_meant(stored: bytes, flag: int, shown: str, tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"x" * len(stored): CHROMIUM})
    content = bytearray(path.read_bytes().replace(b"x" * len(stored), stored))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", content, content.index(mark) + at, flag)
    path.write_bytes(content)
    assert names(opened(path)) == [shown]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../History", "its name leads out of the archive"),
        ("a/../../History", "its name leads out of the archive"),
        ("..\\History", "its name leads out of the archive"),
        ("/etc/History", "its name is an absolute path"),
        ("C:/Users/History", "its name is an absolute path"),
        ("/".join("a" * 70) + "/History", "its name is too long"),
    ],
)
@pytest.mark.parametrize("make", [zipped, tarred])
def test_names_that_lead_elsewhere_are_refused(make, name: str, reason: str, tmp_path: Path) -> None:
    if make is tarred and "\\" in name:
        return  # an ordinary letter there
    unpacked = opened(make(tmp_path / "a", {name: CHROMIUM, "good.html": HTML}))
    assert names(unpacked) == ["good.html"]
    assert refused(unpacked) == [(name.replace("\\", "/"), reason)]


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name, kind in (("link.json", stat.S_IFLNK), ("pipe.json", stat.S_IFIFO)):
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
        archive.writestr("good.html", HTML)
    wanted = [("link.json", "a link"), ("pipe.json", "no regular file")]
    assert refused(opened(tmp_path / "a.zip")) == wanted
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as tar:
        for name, type_ in (("link.json", tarfile.SYMTYPE), ("pipe.json", tarfile.FIFOTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = type_, "/etc/passwd"
            tar.addfile(member)
        hard = tarfile.TarInfo("hard.json")
        hard.type, hard.linkname = tarfile.LNKTYPE, "link.json"
        tar.addfile(hard)
    (tmp_path / "a.zip").unlink()
    for left in (tmp_path / "private").iterdir():
        for file in left.iterdir():
            file.unlink()
        left.rmdir()
    assert refused(opened(tmp_path / "a.tgz")) == [*wanted, ("hard.json", "a link")]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_two_members_of_one_name_the_second_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("History", CHROMIUM)
        archive.writestr("./History", HTML)
    unpacked = opened(tmp_path / "a.zip")
    assert [item.path.read_bytes() for item in unpacked.files] == [CHROMIUM]
    assert refused(unpacked) == [("./History", "a second member of that name")]


def test_encrypted_members_are_named(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"History": CHROMIUM, "photo.jpg": PHOTO})
    content = bytearray(path.read_bytes())
    for at in [i for i in range(len(content)) if content[i : i + 4] == b"PK\x01\x02"]:
        content[at + 8] |= 1
    path.write_bytes(content)
    assert refused(opened(path)) == [("History", "encrypted")]


class TestLimits:
    """Bombs, each small on disk."""

    @pytest.mark.parametrize("make", [zipped, tarred])
    def test_too_many_members(self, make, tmp_path: Path) -> None:
        unpacked = opened(make(tmp_path / "a", SOURCES), members=2)
        assert names(unpacked) == ["Takeout/Chrome/Lesezeichen.html"]
        assert unpacked.fault == "it holds more than 2 members"

    def test_too_large_a_directory(self, tmp_path: Path) -> None:
        unpacked = opened(zipped(tmp_path / "a.zip", SOURCES), directory_bytes=100)
        assert (names(unpacked), unpacked.fault) == ([], "its directory is larger than 100 bytes")

    def test_too_large_a_directory_of_a_large_zip(self, tmp_path: Path) -> None:
        path = zipped(tmp_path / "a.zip", SOURCES)
        content = path.read_bytes()
        end = content.rindex(b"PK\x05\x06")
        record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 4, 4, 1 << 40, 0)
        locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
        last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 4, 4, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        path.write_bytes(content[:end] + record + locator + last)
        assert opened(path).fault == f"its directory is larger than {LIMITS.directory_bytes:,} bytes"

    @pytest.mark.parametrize("make", [zipped, tarred])
    def test_too_large_a_member(self, make, tmp_path: Path) -> None:
        unpacked = opened(make(tmp_path / "a", {"History": CHROMIUM, "b.html": HTML}), member_bytes=100_000)
        assert names(unpacked) == ["b.html"]
        assert refused(unpacked) == [("History", "larger than 100,000 bytes")]

    @pytest.mark.parametrize("make", [zipped, tarred])
    def test_too_much_in_all(self, make, tmp_path: Path) -> None:
        many = {f"{n}/History": CHROMIUM for n in range(4)}
        unpacked = opened(make(tmp_path / "a", many), total_bytes=500_000)
        assert names(unpacked) == ["0/History", "1/History"]
        assert unpacked.fault == "it unpacks to more than 500,000 bytes"

    def test_a_member_of_zeros(self, tmp_path: Path) -> None:
        zeros = HTML + b" " * (LIMITS.free_bytes + 1)
        unpacked = opened(zipped(tmp_path / "a.zip", {"b.html": HTML, "zeros.html": zeros}))
        assert names(unpacked) == ["b.html"]
        assert refused(unpacked) == [("zeros.html", "it unpacks to more than 200 times its size")]

    def test_a_tar_of_zeros_however_they_are_named(self, tmp_path: Path) -> None:
        path = tarred(
            tmp_path / "a.tgz", {"a.html": HTML, "photo.jpg": bytes(LIMITS.free_bytes), "b.html": HTML}
        )
        unpacked = opened(path)
        assert names(unpacked) == ["a.html"]
        assert unpacked.fault == "it unpacks to more than 200 times its size"

    def test_members_that_share_their_bytes(self, tmp_path: Path) -> None:
        path = zipped(
            tmp_path / "a.zip", {f"{n:03d}.html": HTML + b" " * 99_000 * (n == 0) for n in range(50)}
        )
        content = path.read_bytes()
        start = content.index(b"PK\x01\x02")
        entry = content[start : content.index(b"PK\x01\x02", start + 4)]
        directory = b"".join(entry.replace(b"000.html", f"{n:03d}.html".encode()) for n in range(50))
        end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 50, 50, len(directory), start, 0)
        path.write_bytes(content[:start] + directory + end)
        unpacked = opened(path, free_bytes=150_000, ratio=2)
        assert len(unpacked.files) <= 1
        assert unpacked.fault or len(unpacked.rejects) >= 49

    def test_a_header_that_would_fill_the_memory(self, tmp_path: Path) -> None:
        header = tarfile.TarInfo("long")
        header.type, header.size = tarfile.XHDTYPE, 1 << 32
        path = tmp_path / "a.tgz"
        path.write_bytes(gzip.compress(header.tobuf() + bytes(1024)))
        assert opened(path).fault == "it is damaged or cut off: a header of more than a megabyte"

    def test_headers_without_end(self, tmp_path: Path) -> None:
        header = tarfile.TarInfo("x")
        header.type, header.size = tarfile.XHDTYPE, 512
        block = header.tobuf() + b"12 path=abc\n".ljust(512, b"\0")
        (tmp_path / "a.tgz").write_bytes(gzip.compress(block * 20_000))
        assert "damaged" in str(opened(tmp_path / "a.tgz").fault)

    def test_an_archive_within_an_archive_is_counted_and_left_alone(self, tmp_path: Path) -> None:
        inner = zipped(tmp_path / "inner", SOURCES).read_bytes()
        (tmp_path / "inner").unlink()
        unpacked = opened(zipped(tmp_path / "a.zip", {"inner.zip": inner, "b.html": HTML}))
        assert (names(unpacked), unpacked.nested) == (["b.html"], 1)


class TestDamage:
    @pytest.mark.parametrize("make", [zipped, tarred])
    def test_it_is_told_in_one_line_whatever_the_member_before_is_called(self, make, tmp_path: Path) -> None:
        path = make(tmp_path / "a", {"a\nb\x1b[2J.html": HTML * 50, "c.html": HTML * 50})
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        unpacked = opened(path)
        told = [str(unpacked.fault), *(f"{each.where} {each.reason}" for each in unpacked.rejects)]
        assert len(told) > 1 or "a b" in told[0]
        assert all(line.isprintable() for line in told)

    @pytest.mark.parametrize("streamed", [False, True])
    def test_of_a_zip_that_is_cut_off_what_came_before_is_read(self, streamed: bool, tmp_path: Path) -> None:
        members = {"photo.jpg": PHOTO, "one.html": HTML, "two/History": CHROMIUM, "three.html": HTML}
        whole = io.BytesIO()
        target = _Unseekable(whole) if streamed else whole
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
            for name, content in members.items():
                archive.writestr(name, content)
        content = whole.getvalue()
        path = tmp_path / "a.zip"
        path.write_bytes(content[: content.index(b"PK\x01\x02") - 5])
        unpacked = opened(path)
        assert [item.path.read_bytes() for item in unpacked.files][:2] == [HTML, CHROMIUM]
        assert str(unpacked.fault).startswith("it is damaged or cut off at three.html")
        path.write_bytes(content[: content.index(b"two/History") + 5_000])
        for item in unpacked.files:
            item.path.unlink()
            item.path.parent.rmdir()
        unpacked = opened(path)
        assert names(unpacked) == ["one.html"]
        assert [where for where, _ in refused(unpacked)] == ["two/History"]
        assert "cut off" in str(unpacked.fault)

    def test_of_a_tar_that_is_cut_off_what_came_before_is_read(self, tmp_path: Path) -> None:
        path = tarred(tmp_path / "a.tgz", {"one.html": HTML, "two/History": CHROMIUM})
        path.write_bytes(path.read_bytes()[:-3_000])
        unpacked = opened(path)
        assert names(unpacked) == ["one.html"]
        assert [where for where, _ in refused(unpacked)] == ["two/History"]
        assert str(unpacked.fault).startswith("it is damaged or cut off at two/History")

    def test_a_damaged_member_keeps_no_other_from_being_read(self, tmp_path: Path) -> None:
        path = zipped(tmp_path / "a.zip", {"one.html": HTML * 99, "two.html": HTML}, zipfile.ZIP_STORED)
        path.write_bytes(path.read_bytes().replace(b"a.example", b"b.example", 1))
        unpacked = opened(path)
        assert names(unpacked) == ["two.html"]
        assert [where for where, _ in refused(unpacked)] == ["one.html"]

    def test_what_cannot_be_read_is_said_in_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match=r"a\.zip cannot be unpacked: No such file"):
            unpack(tmp_path / "a.zip", tmp_path)

    @pytest.mark.parametrize("make", [zipped, tarred])
    @settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        changes=st.lists(st.tuples(st.floats(0, 1), st.binary(min_size=1, max_size=6)), max_size=8),
        left=st.floats(0, 1),
    )
    def test_no_bytes_break_it(self, make, changes, left, tmp_path_factory) -> None:
        folder = tmp_path_factory.mktemp("fuzz")
        members = {
            "one.html": HTML,
            "b/photo.jpg": PHOTO,
            "two.html": HTML * 9,
            "p/list.txt": b"https://a.example/ | A\n",
        }
        content = bytearray(make(folder / "a", members).read_bytes())
        for part, new in changes:
            at = int(part * len(content))
            content[at : at + len(new)] = new
        if make is tarred:  # damage within the tar, not only in its packing
            inner = bytearray(zlib.decompress((folder / "a").read_bytes(), 31))
            for part, new in changes:
                at = int(part * len(inner))
                inner[at : at + len(new)] = new
            content = bytearray(gzip.compress(bytes(inner)))
        (folder / "a").write_bytes(content[: int(len(content) * (1 if left > 0.5 else left))])
        unpacked = opened(folder / "a")
        assert "\n" not in str(unpacked.fault)
        assert not any("\n" in reject.reason for reject in unpacked.rejects)


def test_thousands_of_photos_are_passed_over_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "a.zip", {f"Photos/{n}.jpg": b"x" for n in range(5_000)} | {"b.html": HTML})
    opens: list[str] = []
    really = zipfile.ZipFile.open
    monkeypatch.setattr(
        zipfile.ZipFile, "open", lambda self, name, *a: opens.append(name.filename) or really(self, name, *a)
    )
    unpacked = opened(path)
    assert (names(unpacked), unpacked.skipped, opens) == (["b.html"], 5_000, ["b.html"])


def test_a_large_text_of_no_kind_is_refused_by_its_beginning(tmp_path: Path) -> None:
    text = b'{"locations": [' + b'{"latitudeE7": 1},' * 4_000_000
    path = tmp_path / "a.zip"
    zipped(path, {"Records.json": text, "b.html": HTML}, zipfile.ZIP_STORED)
    assert len(text) > archives._PROBED
    unpacked = opened(path, total_bytes=archives._PROBED + (2 << 20))
    assert (names(unpacked), unpacked.fault) == (["b.html"], None)


class _Unseekable(io.RawIOBase):
    """A pipe, into which a zip is written with the sizes after each member."""

    def __init__(self, into: io.BytesIO) -> None:
        self._into = into

    def writable(self) -> bool:
        return True

    def write(self, data) -> int:
        return self._into.write(data)
