"""Bookmarks in HTML: each maker's variant built from its documented form, dates, encodings, damage and hostile text."""

import resource
import sys
from pathlib import Path

import pytest
from bookmark_files import DAMAGES, Damage, Row, damaged, read, refusal, row, takes_anything, written
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from brain import importers
from brain.errors import EmptySource, SourceError
from brain.importers import netscape_html
from brain.importers._bookmark_rows import written_date

DOCTYPE = "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n"
S = 1_000_000

FIREFOX = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<!-- This is an automatically generated file.
     It will be read and overwritten.
     DO NOT EDIT! -->
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'self'; script-src 'none'"></meta>
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks Menu</H1>

<DL><p>
    <DT><A HREF="place:type=6&amp;sort=14&amp;maxResults=10" ADD_DATE="1376683982">Recent Tags</A>
    <DT><H3 ADD_DATE="1376683982" LAST_MODIFIED="1376683983">Lost &amp; found/odd</H3>
    <DD>All sorts
    <DL><p>
        <DT><A HREF="https://a.example/?x=1&amp;y=%26" ADD_DATE="1376683982" LAST_MODIFIED="1376684000"\
 ICON_URI="https://a.example/i.ico" ICON="data:image/png;base64,AAAA" TAGS="one,two words,one"\
 SHORTCUTURL="k">Caf&eacute; &lt;3 &#128230;</A>
        <DD>First line
second &amp; last
        <HR>        <DT><A FEEDURL="https://feed.example/rss" HREF="https://feed.example/">Latest</A>
        <DT><A FEEDURL="https://feed.example/only">Feed</A>
    </DL><p>
    <DT><A HREF="javascript:alert('a>b')" LAST_VISIT="1376683985">run</A>
    <DT><H3 ADD_DATE="1376683982" PERSONAL_TOOLBAR_FOLDER="true">Bookmarks Toolbar</H3>
    <DL><p>
    </DL><p>
    <DT><A HREF="https://b.example/"></A>
</DL>
"""


def one(tmp_path: Path, attributes: str) -> Row:
    """The bookmark of a file that holds one with these attributes."""
    path = written(
        tmp_path / "b", f'{DOCTYPE}<DL><p><DT><A HREF="https://x.example/" {attributes}>X</A></DL>'
    )
    [bookmark], rejects = read(path)
    assert rejects == []
    return bookmark


class TestMakers:
    def test_firefox_exactly(self, tmp_path: Path) -> None:
        rows, rejects = read(written(tmp_path / "b", FIREFOX))
        inside = ["Lost & found/odd"]
        assert rows == [
            row("place:type=6&sort=14&maxResults=10", title="Recent Tags", added_us=1_376_683_982 * S),
            row(
                "https://a.example/?x=1&y=%26",
                title="Café <3 📦",
                folder=inside,
                tags=["one", "two words"],
                note="First line\nsecond & last",
                added_us=1_376_683_982 * S,
                modified_us=1_376_684_000 * S,
            ),
            row("https://feed.example/", title="Latest", folder=inside),
            row("https://feed.example/only", title="Feed", folder=inside),
            row("javascript:alert('a>b')", title="run", last_used_us=1_376_683_985 * S),
            row("https://b.example/"),
        ]
        assert rejects == []

    def test_safari_writes_no_dates_and_no_outer_list(self, tmp_path: Path) -> None:
        path = written(
            tmp_path / "b",
            f"{DOCTYPE}\t<HTML>\n\t<Title>Bookmarks</Title>\n\t<H1>Bookmarks</H1>\n"
            "\t<DT><H3 FOLDED>Favorites</H3>\n\t<DL><p>\n"
            '\t\t<DT><A HREF="https://a.example/">A</A>\n\t</DL><p>\n'
            '\t<DT><H3 FOLDED id="com.apple.ReadingList">Reading List</H3>\n\t<DL><p>\n'
            '\t\t<DT><A HREF="https://b.example/">B</A>\n\t</DL><p>\n\t</HTML>\n',
        )
        assert read(path) == (
            [
                row("https://a.example/", title="A", folder=["Favorites"]),
                row("https://b.example/", title="B", folder=["Reading List"]),
            ],
            [],
        )

    def test_pinboard_keeps_tags_notes_and_what_is_to_be_read(self, tmp_path: Path) -> None:
        path = written(
            tmp_path / "b",
            f"{DOCTYPE}<TITLE>Pinboard Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n<DL><p>"
            '<DT><A HREF="https://a.example/" ADD_DATE="1376683982" PRIVATE="1" TOREAD="1" TAGS="a,b">A</A>\n\n'
            '<DD>why\n<DT><A HREF="https://b.example/" ADD_DATE="1376683983" PRIVATE="0" TOREAD="0" TAGS="">B</A>\n'
            "</DL></p>\n",
        )
        assert read(path)[0] == [
            row(
                "https://a.example/",
                title="A",
                tags=["a", "b"],
                note="why",
                shelf="reading_list",
                added_us=1_376_683_982 * S,
            ),
            row("https://b.example/", title="B", added_us=1_376_683_983 * S),
        ]

    @pytest.mark.parametrize(
        ("title", "mark", "date"),
        [("Pocket Export", "ul", 'time_added="1376683982" tags="x,y"'), ("Instapaper: Export", "ol", "")],
    )
    def test_reading_lists_in_html_lists(self, title: str, mark: str, date: str, tmp_path: Path) -> None:
        path = written(
            tmp_path / "b",
            f"<!DOCTYPE html>\n<html><!--So long--><head><title>{title}</title></head><body>\n<h1>Unread</h1>\n"
            f'<{mark}>\n<li><a href="https://a.example/" {date}>A</a></li>\n</{mark}>\n<h1>Read Archive</h1>\n'
            f'<{mark}>\n<li><a href="https://b.example/" {date}>B</a></li>\n</{mark}>\n</body></html>',
        )
        rows, rejects = read(path)
        assert [(r["url"], r["folder"], r["shelf"]) for r in rows] == [
            ("https://a.example/", ["Unread"], "reading_list"),
            ("https://b.example/", ["Read Archive"], "reading_list"),
        ]
        expected = (1_376_683_982 * S, ["x", "y"]) if date else (None, [])
        assert (rows[0]["added_us"], rows[0]["tags"]) == expected
        assert rejects == []

    def test_google_bookmarks_in_microseconds_and_twice_filed(self, tmp_path: Path) -> None:
        link = '<DT><A HREF="https://a.example/" ADD_DATE="1260914469588170">A</A>\n'
        path = written(
            tmp_path / "b",
            f'{DOCTYPE}<H1>Bookmarks</H1>\n<DL><p>\n<DT><H3 ADD_DATE="1260914469588170">one</H3>\n<DL><p>\n{link}'
            f"<DD>noted\n</DL><p>\n<DT><H3>two</H3>\n<DL><p>\n{link}</DL><p>\n</DL><p>\n",
        )
        rows, _ = read(path)
        assert [(r["folder"], r["note"], r["added_us"]) for r in rows] == [
            (["one"], "noted", 1_260_914_469_588_170),  # 2009-12-15T22:01:09.588170Z
            (["two"], None, 1_260_914_469_588_170),
        ]

    def test_pearltrees_and_raindrop_nest_without_closing(self, tmp_path: Path) -> None:
        path = written(
            tmp_path / "b",
            f'{DOCTYPE}<H1>x</H1><DL><p><DT><H3 FOLDED ADD_DATE="1376683982">Outer</H3>\n<DL>\n'
            '<DT><H3>Empty</H3><DL></DL>\n<DT><H3></H3><DL><DT><A HREF="https://a.example/" DATA-COVER="">A</A></DL>\n'
            '<DT><H3>No list</H3>\n<DT><A HREF="https://b.example/">B<DT><A HREF="https://c.example/">C',
        )
        rows, _ = read(path)
        assert [(r["title"], r["folder"]) for r in rows] == [
            ("A", ["Outer", ""]),
            ("B", ["Outer"]),
            ("C", ["Outer"]),
        ]

    def test_lower_case_and_unquoted_attributes(self, tmp_path: Path) -> None:
        path = written(
            tmp_path / "b",
            "<!doctype netscape-bookmark-file-1><dl><p>"
            "<dt><a href=https://it's.example/a=b add_date=1376683982 tags='x, y'>A</a>"
            '<dt><a\nhref = \'https://b.example/"\'\nadd_date = "1376683982">B</a></dl>',
        )
        rows, rejects = read(path)
        assert [(r["url"], r["added_us"], r["tags"]) for r in rows] == [
            ("https://it's.example/a=b", 1_376_683_982 * S, ["x", "y"]),
            ('https://b.example/"', 1_376_683_982 * S, []),
        ]
        assert rejects == []


class TestDates:
    @pytest.mark.parametrize(
        ("written_as", "instant", "raw"),
        [
            ("1376683982", 1_376_683_982 * S, None),
            ("915148800", 915_148_800 * S, None),  # 1999-01-01
            ("1376683982550", 1_376_683_982_550_000, None),  # 2013-08-16T20:13:02.550Z
            ("1260914469588170", 1_260_914_469_588_170, None),
            ("13000000000000000", 1_355_526_400 * S, None),  # microseconds since 1601
            ("1376683982.55", 1_376_683_982_550_000, None),
            ("2013-08-16T22:13:02.55+02:00", 1_376_683_982_550_000, None),
            (" 1376683982 ", 1_376_683_982 * S, None),
            ("0", None, None),
            ("000", None, None),
            ("", None, None),
            ("-1", None, None),
            ("-62135596800", None, None),
            ("1", None, "1"),
            ("99999999999", None, "99999999999"),
            ("99999999999999999999999", None, "99999999999999999999999"),
            ("23000000000000000", None, "23000000000000000"),
            ("9999999999", None, "9999999999"),  # the year 2286
            ("yesterday", None, "yesterday"),
            ("٣٤٥٦٧٨٩٠١٢", None, "٣٤٥٦٧٨٩٠١٢"),
            ("2013-99-16T22:13:02Z", None, "2013-99-16T22:13:02Z"),
        ],
    )
    def test_the_unit_is_told_by_the_length_and_nothing_becomes_now(
        self, written_as: str, instant: int | None, raw: str | None, tmp_path: Path
    ) -> None:
        seen = one(
            tmp_path, f'ADD_DATE="{written_as}" LAST_MODIFIED="{written_as}" LAST_VISIT="{written_as}"'
        )
        assert (seen["added_us"], seen["added_raw"]) == (instant, raw)
        assert (seen["modified_us"], seen["last_used_us"]) == (instant, instant)

    def test_no_date_at_all_is_unknown(self, tmp_path: Path) -> None:
        assert (one(tmp_path, "")["added_us"], one(tmp_path, "ADD_DATE")["added_us"]) == (None, None)

    @given(st.one_of(st.text(max_size=30), st.integers(), st.none(), st.booleans()))
    def test_any_date_is_known_or_kept_or_missing(self, value: object) -> None:
        instant, raw = written_date(value)
        assert instant is None or raw is None


class TestEncodings:
    @pytest.mark.parametrize(
        ("encoding", "meta"),
        [
            ("utf-8", ""),
            ("utf-8-sig", ""),
            ("utf-8", "windows-1252"),
            ("utf-16", ""),
            ("utf-16-le", ""),
            ("utf-16-be", ""),
            ("cp1252", ""),
            ("cp1252", "ISO-8859-1"),
            ("cp1252", "no-such-charset"),
            ("cp1252", "unicode_escape"),
            ("cp1250", "windows-1250"),
        ],
    )
    def test_titles_survive_in(self, encoding: str, meta: str, tmp_path: Path) -> None:
        text = (
            f'{DOCTYPE}<META CONTENT="text/html; charset={meta}"><DT><A HREF="https://ä.example/">Größe ß</A>'
        )
        path = written(tmp_path / "b", text.encode(encoding))
        assert netscape_html.detect(path)
        assert read(path)[0] == [row("https://ä.example/", title="Größe ß")]

    def test_cyrillic_of_an_old_file(self, tmp_path: Path) -> None:
        text = f'{DOCTYPE}<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=windows-1251">\r\n'
        text += '<DT><A HREF="https://a.example/">Привет</A>\r\n'
        assert read(written(tmp_path / "b", text.encode("cp1251")))[0][0]["title"] == "Привет"

    def test_one_bad_byte_in_a_file_that_says_utf_8_costs_one_character(self, tmp_path: Path) -> None:
        text = f'{DOCTYPE}<META CONTENT="charset=UTF-8"><DT><A HREF="https://a.example/">é\x00</A>'.encode()
        path = written(tmp_path / "b", text.replace(b"\x00", b"\xff"))
        assert read(path)[0][0]["title"] == "é\ufffd"

    def test_characters_cut_by_a_piece_stay_whole(self, tmp_path: Path) -> None:
        for shift in range(4):
            filler = "x" * (262_144 - 3 - shift - len(DOCTYPE))
            path = written(
                tmp_path / "b", f'{DOCTYPE}{filler}<DT><A HREF="https://a.example/">&amp;📦&lt;</A>'
            )
            assert read(path, netscape_html)[0][0]["title"] == "&📦<"


class TestDetection:
    @pytest.mark.parametrize(
        "text",
        [
            FIREFOX,
            "\ufeff \r\n\t" + FIREFOX,
            FIREFOX.lower(),
            '<?xml version="1.0"?>\n<!-- saved - here -->\n' + FIREFOX,
            FIREFOX.partition("\n")[2],  # no doctype, dates
            '<TITLE>Bookmarks</TITLE><H1>Bookmarks</H1><DL><p><DT><A HREF="https://a.example/">A</A></DL>',
            '<html><body><dl><dt><h3 FOLDED>F</h3><dl><dt><a href="https://a.example/">A</a></dl></dl>',
        ],
    )
    def test_bookmarks_are_known_by_their_content(self, text: str, tmp_path: Path) -> None:
        path = written(tmp_path / "anything.txt", text)
        assert importers.pick(path) is netscape_html
        assert read(path)[0]

    @pytest.mark.parametrize(
        "text",
        [
            "<!DOCTYPE html><html><head><title>Bookmarks</title></head><body><h1>Bookmarks</h1><p>none</p></body>",
            "<html><head><title>My Activity History</title></head><body><div class='outer-cell'>"
            "<a href='https://a.example/'>A</a></div></body></html>",
            "<!doctype html><dl><dt><a href='#term'>term</a><dd>what it means</dl>",
            "<!doctype html><p>Files begin with &lt;!DOCTYPE NETSCAPE-Bookmark-file-1&gt;</p><pre>ADD_DATE</pre>",
            "<!doctype html><title>x</title><p><!DOCTYPE NETSCAPE-Bookmark-file-1>",
            "<!doctype html><title>Pocket Export</title><p>How to export from <a href='/'>Pocket</a>",
            "Notes: <DT><A HREF='https://a.example/' ADD_DATE='1'>",
            '{"html": "<DT><A ADD_DATE=1>"}',
            "",
            "<",
        ],
    )
    def test_other_pages_are_not_taken(self, text: str, tmp_path: Path) -> None:
        assert not netscape_html.detect(written(tmp_path / "bookmarks.html", text))

    def test_a_path_that_cannot_be_read_is_no_bookmarks(self, tmp_path: Path) -> None:
        assert not netscape_html.detect(tmp_path)
        with pytest.raises(SourceError, match="cannot be read"):
            list(netscape_html.read(tmp_path))


class TestNothingIsLostAndNothingInvented:
    def test_one_bad_link_among_many_is_named_with_its_line(self, tmp_path: Path) -> None:
        good = "".join(f'<DT><A HREF="https://g{n}.example/">{n}</A>\n' for n in range(430))
        bad = '<DT><A HREF="no address">x</A>\n<DT><A HREF="">y</A>\n<DT><A NAME="z">z</A>\n'
        rows, rejects = read(written(tmp_path / "b", f"{DOCTYPE}<DL><p>\n{good}{bad}{good}</DL>"))
        assert len(rows) == 860
        assert rejects == [
            ("line 433", "'no address' is no address"),
            ("line 434", "it has no address"),
            ("line 435", "it has no address"),
        ]

    def test_no_link_is_no_success(self, tmp_path: Path) -> None:
        with pytest.raises(EmptySource, match="b holds no links"):
            read(
                written(tmp_path / "b", f"{DOCTYPE}<H1>Bookmarks</H1><DL><p><DT><H3>F</H3><DL><p></DL></DL>")
            )
        with pytest.raises(SourceError, match="none of the 2 links of b could be taken"):
            read(written(tmp_path / "b", f"{DOCTYPE}<DT><A HREF=x>x</A><DT><A HREF=y>y</A>"))

    def test_a_quote_left_open_costs_one_link(self, tmp_path: Path) -> None:
        path = written(
            tmp_path / "b",
            f'{DOCTYPE}<DT><A HREF="https://a.example/>A</A>\n<DT><A HREF="https://b.example/">B</A>\n'
            '<DT><A HREF="https://c.example/">C</A>\n',
        )
        rows, rejects = read(path)
        assert [(r["url"], r["title"]) for r in rows] == [
            ("https://b.example/", "B"),
            ("https://c.example/", "C"),
        ]
        assert rejects == [("line 2", "it has no address")]

    def test_a_file_cut_off_gives_what_is_whole(self, tmp_path: Path) -> None:
        path = written(tmp_path / "b", FIREFOX[: FIREFOX.index("run</A>") - 20])
        rows, rejects = read(path)
        assert len(rows) == 4
        assert [where for where, _ in rejects] == ["line 21"]

    def test_long_names_and_texts_are_kept_whole(self, tmp_path: Path) -> None:
        name, title, note = "n" * 5_000, "t" * 100_000, "d" * 200_000
        path = written(
            tmp_path / "b",
            f'{DOCTYPE}<H3>{name}</H3><DL><DT><A HREF="https://a.example/{"p" * 60_000}">{title}</A><DD>{note}</DL>',
        )
        [bookmark], _ = read(path)
        assert (bookmark["folder"], bookmark["title"], bookmark["note"]) == ([name], title, note)

    def test_what_is_beyond_measure_is_refused_with_its_reason(self, tmp_path: Path) -> None:
        path = written(
            tmp_path / "b",
            f'{DOCTYPE}<DT><A HREF="https://a.example/{"p" * 70_000}">A</A><DT><A HREF="https://b.example/">'
            f'{"t" * 1_000_001}</A><DT><A HREF="https://c.example/">C</A><DT><A HREF="https://d.example/">D</A>'
            f"{'<DD>note' * 300_000}",
        )
        rows, rejects = read(path)
        assert [r["title"] for r in rows] == ["C"]
        assert [reason for _, reason in rejects] == [
            "its address has 70,018 characters, more than 65,536",
            "its texts have more than 1,000,000 characters",
            "its texts have more than 1,000,000 characters",
        ]

    def test_reading_twice_gives_the_same(self, tmp_path: Path) -> None:
        path = written(tmp_path / "b", FIREFOX)
        assert read(path) == read(path)

    def test_sixty_levels_keep_every_name(self, tmp_path: Path) -> None:
        names = [f"level {n}" for n in range(60)]
        opened = "".join(f"<DT><H3>{name}</H3>\n<DL><p>\n" for name in names)
        path = written(
            tmp_path / "b",
            f'{DOCTYPE}<DL><p>{opened}<DT><A HREF="https://a.example/">A</A>{"</DL><p>" * 60}'
            '<DT><A HREF="https://b.example/">B</A></DL>',
        )
        rows, rejects = read(path)
        assert [r["folder"] for r in rows] == [names, []]
        assert rejects == []

    def test_ten_thousand_levels_keep_every_link_and_say_what_is_left_out(self, tmp_path: Path) -> None:
        opened = "".join(
            f'<H3>{n}</H3><DL><DT><A HREF="https://a.example/{n}">A</A>\n' for n in range(10_000)
        )
        closed = "</DL>" * 10_000 + '<DT><A HREF="https://last.example/">L</A>'
        rows, rejects = read(written(tmp_path / "b", f"{DOCTYPE}{opened}{closed}"))
        assert len(rows) == 10_001
        assert rows[255]["folder"] == [str(n) for n in range(256)] == rows[9_999]["folder"]
        assert rows[-1]["folder"] == []
        assert [where for where, _ in rejects] == ["line 258"]


class TestSize:
    def test_icons_make_no_difference_and_batches_stay_small(self, tmp_path: Path) -> None:
        icon = "data:image/png;base64," + "iVBORw0KGgo" * 30
        links = "".join(
            f'<DT><A HREF="https://a.example/{n}" ADD_DATE="1376683982" ICON="{icon}">{n}</A>\n'
            for n in range(6_000)
        )
        with_icons = written(tmp_path / "icons", f"{DOCTYPE}<DL><p>\n{links}</DL>")
        without = written(
            tmp_path / "plain", f"{DOCTYPE}<DL><p>\n{links}</DL>".replace(f' ICON="{icon}"', "")
        )
        assert with_icons.stat().st_size > 2_000_000
        assert read(with_icons) == read(without)
        sizes = [item.rows.num_rows for item in netscape_html.read(with_icons) if hasattr(item, "rows")]
        assert (sum(sizes), max(sizes)) == (6_000, 4_096)

    @pytest.mark.parametrize(
        "text",
        [
            "<" * 1_000_000,
            "</" * 500_000,
            '<a href="' + "x" * 5_000_000,
            "<a " * 400_000,
            "<!--" * 400_000,
            "<!" * 400_000,
            "<a href=\" '" * 100_000,
            "<a =\"<a ='" * 100_000,
            "<a " + "= " * 500_000,
            "<a b" + " " * 1_000_000 + "c>",
            "<DL>" * 50_000,
            "</DL>" * 50_000,
            "<H3>" * 50_000,
            '<A HREF="x:y">' + "&amp" * 400_000,
            '<A HREF="x:y">a<DD>' + "<DD>x" * 60_000,
            "<!DOCTYPE" + " <!---" * 100_000,
            "<dt><a " + "add_dat " * 50_000,
        ],
        ids=lambda text: text[:12],
    )
    def test_hostile_text_takes_no_more_than_its_length(self, text: str, tmp_path: Path) -> None:
        path = written(tmp_path / "b", f"<H1>x</H1>{text}")
        netscape_html.detect(path)
        before = _peak_mb()
        assert "\n" not in refusal(path, netscape_html)
        assert _peak_mb() - before < 150


class TestDamage:
    @settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(damage=DAMAGES)
    def test_flipped_and_cut_bytes_never_surprise(self, damage: Damage, tmp_path: Path) -> None:
        takes_anything(netscape_html, tmp_path / "b", damaged(FIREFOX.encode(), damage))

    @settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        parts=st.lists(
            st.sampled_from(
                [
                    *(
                        "<DT>",
                        "<DL><p>",
                        "</DL>",
                        "<H3>",
                        "</H3>",
                        "<A HREF=",
                        '"https://a.example/',
                        '"',
                        ">",
                        "</A>",
                    ),
                    *(
                        "<DD>",
                        "<!--",
                        "-->",
                        "'",
                        "=",
                        "<",
                        "/",
                        "\n",
                        "&amp;",
                        "&#xD800;",
                        "\x00",
                        "<HR>",
                        "<ul>",
                    ),
                    *("title", 'ADD_DATE="', "13000000000000000", "TAGS=a,,b", "<title>", "Pocket Export"),
                ]
            ),
            max_size=60,
        ),
    )
    @example(parts=["<A HREF=", '"https://a.example/', '"', ">", "&#xD800;", "</A>"])
    def test_any_order_of_its_parts_is_read(self, parts: list[str], tmp_path: Path) -> None:
        takes_anything(netscape_html, tmp_path / "b", (DOCTYPE + "".join(parts)).encode())

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(title=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
    def test_any_title_comes_back(self, title: str, tmp_path: Path) -> None:
        escaped = title.replace("&", "&amp;").replace("<", "&lt;")
        path = written(tmp_path / "b", f'{DOCTYPE}<DT><A HREF="https://a.example/">{escaped}</A>')
        assert read(path)[0][0]["title"] == (" ".join(title.split()) or None)


def _peak_mb() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1_000_000
