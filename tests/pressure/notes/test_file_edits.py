"""Edits are told as the final state of a file; what was undone never stands."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.pressure.notes.file_edits import edit_items
from polycontext.pressure.notes.items import Section
from polycontext.pressure.notes.note import items_of, write_note
from polycontext.pressure.notes.reading import read_events
from polycontext.testing import FAST
from polycontext.window import Turn
from tests.growth import BOUND, growth
from tests.pressure.notes.conversations import called, ran, read, replaced, talk, told

RED, BLUE = replaced("wall.py", "plain", "red"), replaced("wall.py", "red", "blue")


def test_an_edit_shows_the_changed_lines_alone() -> None:
    """Lines that both texts have are left out."""
    assert told(replaced("wall.py", "a\nplain\nb", "a\nred\nb")) == [
        "edited wall.py:\n- plain\n+ red"
    ]


def test_an_overwritten_edit_is_part_of_the_later_one() -> None:
    """What stood between is not told."""
    assert told([*RED, *BLUE]) == ["edited wall.py:\n- plain\n+ blue"]
    assert told([*RED, *called("write", path="wall.py", content="green")]) == [
        "wrote wall.py:\n+ green"
    ]


def test_an_edit_that_writes_most_lines_again_overwrites_one_whose_text_before_is_not_known() -> (
    None
):
    """Records of edits often leave out what was replaced."""
    first, again = (
        called("insert", path="wall.py", insert_text=f"def wall():\n    paint = {paint}\n    dry()")
        for paint in ("red", "blue")
    )
    (text,) = told([*first, *again])
    assert "red" not in text
    assert "blue" in text
    (text,) = told(
        [*first, *called("insert", path="wall.py", insert_text="def door():\n    oak()")]
    )
    assert "red" in text
    assert "oak" in text


@pytest.mark.parametrize(
    "undo",
    [
        replaced("wall.py", "red", "plain"),
        ran("git checkout wall.py"),
        ran("git checkout -- ."),
        ran("git restore src/wall.py"),
        ran("git reset --hard HEAD"),
        ran("git stash"),
        called("str_replace_editor", command="undo_edit", path="wall.py"),
        ran("rm wall.py"),
    ],
)
def test_an_undone_edit_does_not_stand(undo: list[Turn]) -> None:
    """It was reverted, put back or removed, also in the messages that stay."""
    assert not any("red" in text for text in told([*RED, *undo]))
    assert not any("red" in text for text in told(RED, undo))


def test_what_a_script_writes_into_a_file_is_an_edit_of_that_once_it_runs() -> None:
    """Also where the script is removed afterwards; what only reads, or never ran, is no edit."""
    script = (
        'import sys\n\npaint = """def wall():\n    return "red"\n"""\n'
        "with open('wall.py') as f:\n    lines = f.readlines()\n"
        "lines.insert(3, paint)\nwith open('wall.py', 'w') as f:\n    f.writelines(lines)\n"
    )
    written, run = called("write", path="fix.py", content=script), ran("python3 fix.py")
    (text,) = [text for text in told([*written, *run, *ran("rm fix.py")]) if "wall.py" in text]
    assert text.splitlines() == [
        "edited wall.py:",
        "+ def wall():",
        '+     return "red"',
    ]
    plain = called("write", path="fix.py", content=script.replace('"""', ""))
    assert "edited wall.py" in told([*plain, *run])
    named = called(
        "write",
        path="fix.py",
        content=script.replace("'wall.py'", "path").replace("import sys", "path = 'wall.py'"),
    )
    assert text in told([*named, *run])
    assert not any("edited wall.py" in text for text in told(written))
    only_reads = called("write", path="fix.py", content=script.replace("'wall.py', 'w'", "'x'"))
    assert not any("edited wall.py" in text for text in told([*only_reads, *run]))


def test_a_file_stands_that_was_written_before_the_next_command_failed() -> None:
    """Unless what failed names the file."""
    script = "cat > wall.py <<'E'\nred\nE\nmake house"
    assert told(ran(script, "make: *** no rule\n<returncode>2</returncode>")) == [
        "wrote wall.py:\n+ red"
    ]
    denied = ran(script, "bash: wall.py: Permission denied\n<returncode>1</returncode>")
    assert told(denied) == ["failed to edit wall.py:\n+ red"]


def test_a_file_has_no_quotes_in_its_name() -> None:
    """Where quotes stand inside quotes, parts of an expression are no file."""
    command = (
        """perl -pi -e 's{"quay":"a"}{"quay":"'"$TO"'"}g; s{"pier":"b"}{"pier":"c"}g' log.txt"""
    )
    assert all("pier" not in text.splitlines()[0] for text in told(ran(command)))
    assert told(ran("sed -i 's/a/b/' $TARGET")) == []
    assert told(ran("sed -i 's/a/b/' log.txt")) == ["edited log.txt: sed s/a/b/"]


def test_what_was_stashed_stands_again_when_it_is_popped() -> None:
    """A stash takes edits away for a while."""
    assert told([*RED, *ran("git stash"), *ran("git stash pop")]) == [
        "edited wall.py:\n- plain\n+ red"
    ]


def test_committed_edits_stay_when_a_file_is_put_back() -> None:
    """Only what was not committed is put back."""
    commit = ran("git commit -am 'Paint it'", "[main ab12cd3] Paint it")
    texts = told([*RED, *commit, *BLUE, *ran("git checkout wall.py")])
    assert texts == ["edited wall.py:\n- plain\n+ red", "committed: ab12cd3 Paint it"]
    assert told([*RED, *ran("git checkout wall.py"), *RED]) == ["edited wall.py:\n- plain\n+ red"]


def test_a_commit_that_nobody_told_takes_the_last_edits_back() -> None:
    """Those of the turn before; a substitution that is put back is none."""
    assert not any("red" in text for text in told([*RED, *ran("git reset --hard HEAD~1")]))
    there, back = ran("sed -i 's/plain/red/' wall.py"), ran("sed -i 's/red/plain/' wall.py")
    assert not any("red" in text for text in told([*there, *back]))


def test_a_folder_and_a_pattern_put_their_files_back() -> None:
    """And no file beside them."""
    walls = replaced("src/wall.py", "plain", "red")
    roof = replaced("roof.md", "bare", "tiled")
    for undo in (ran("git checkout -- src"), ran("git checkout -- src/*.py")):
        assert told([*walls, *roof, *undo]) == [
            "edited roof.md:\n- bare\n+ tiled",
            "put back src/wall.py; the edits before are undone",
        ]


def test_a_diff_that_takes_an_earlier_one_back_leaves_neither() -> None:
    """The lines that the first added are those that the second removes."""
    patch = "--- a/wall.py\n+++ b/wall.py\n@@ -1 +1 @@\n-{}\n+{}\n"
    there, back = (
        called("apply_patch", patch=patch.format(*lines))
        for lines in (("plain", "red"), ("red", "blue"))
    )
    assert not any("+ red" in text for text in told([*there, *back]))


def test_an_undone_commit_is_told_once_and_its_edits_are_not() -> None:
    """Neither as standing nor as edited."""
    block = "wall.py\n```\n<<<<<<< SEARCH\nplain\n=======\nred\n>>>>>>> REPLACE\n```\n\n"
    done = f"{block}Applied edit to wall.py\nCommit ab12cd3 Paint it red"
    turns = talk("Paint it.", done, "/undo", "Removed: ab12cd3 Paint it red")
    assert told(turns[:2]) == ["edited wall.py:\n- plain\n+ red", "committed: ab12cd3 Paint it red"]
    assert told(turns) == ["undone, not in the files any more: ab12cd3 Paint it red"]
    assert told(turns[:2], turns[2:]) == []


def test_a_failed_edit_is_told_only_if_nothing_later_succeeded() -> None:
    """A retry that succeeded makes it irrelevant."""
    failed = replaced("wall.py", "grey", "red", "Error: text not found")
    assert told(failed) == ["failed to edit wall.py:\n- grey\n+ red"]
    assert told([*failed, *RED]) == ["edited wall.py:\n- plain\n+ red"]
    assert told(failed, RED) == []


def test_paths_of_one_file_are_known_as_one() -> None:
    """A path may be the end of another."""
    turns = [
        *replaced("/srv/app/wall.py", "plain", "red"),
        *ran("cd /srv && git checkout app/wall.py"),
    ]
    assert not any("red" in text for text in told(turns))
    turns = [
        *replaced("app/wall.py", "plain", "red"),
        *called("write", path="app\\wall.py", content="x"),
    ]
    assert told(turns) == ["wrote app/wall.py:\n+ x"]


DIFF = """diff --git a/{0} b/{0}
--- a/{0}
+++ b/{0}
@@ -1 +1 @@
-plain
+green"""


def test_the_output_of_git_diff_is_the_state_of_a_file() -> None:
    """A script may have edited it."""
    turns = [*ran("python paint.py wall.py"), *ran("git diff", DIFF.format("wall.py"))]
    assert told(turns) == ["edited wall.py:\n- plain\n+ green"]
    assert told([*RED, *turns]) == ["edited wall.py:\n- plain\n+ green"]


def test_removed_files_are_told_together_and_made_ones_not_at_all() -> None:
    """A file that was written for a while leaves nothing."""
    made = called("write", path="tmp.py", content="x")
    assert told([*made, *ran("rm tmp.py old.py older.py")]) == ["removed old.py, older.py"]


def test_variants_become_shorter_and_keep_whole_lines() -> None:
    """The shortest names the file; an omission has its count."""
    lines = "\n".join(f"line {number}" for number in range(40))
    (item,) = edit_items(read(replaced("wall.py", "plain", lines)), total=4)
    assert item.section is Section.DONE
    assert [len(text) for text in item.variants] == sorted(map(len, item.variants), reverse=True)
    assert item.variants[0].endswith("+ line 39")
    assert item.variants[-2] == "edited wall.py:\n- plain\n+ line 0\n[… 39 lines]"
    assert item.variants[-1] == "edited wall.py"
    several = [*RED, *replaced("wall.py", "top", "bottom")]
    (item,) = edit_items(read(several), total=4)
    assert "edited wall.py, 2 edits, last:\n- top\n+ bottom" in item.variants


def test_a_finished_edit_is_told_last() -> None:
    """It was made for a request that two others followed."""
    script = called(
        "write_file", file_path="try.py", content="\n".join(f"x = {n}" for n in range(9))
    )
    (item,) = edit_items(read([*script, *ran("ls", "try.py")]), total=4)
    assert "x = 8" in item.variants[0]
    asks = talk("Moor the boat. " * 9, "Done.", "Paint the boat. " * 9, "Done.", "Sell it. " * 20)
    (item,) = edit_items(read([*asks[:1], *script]), read(asks[2:]), total=9)
    assert item.score < 60


def test_a_later_edit_has_a_higher_score() -> None:
    """What was done last comes first."""
    first, last = edit_items(read([*RED, *replaced("door.py", "a", "b")]), total=4)
    assert first.score < last.score


def test_an_edit_of_new_text_is_part_of_it() -> None:
    """A file that is written and then edited is told as it is."""
    made = called("write", path="wall.py", content="red\ndry")
    assert told([*made, *BLUE]) == ["wrote wall.py:\n+ blue\n+ dry"]
    grown = replaced("wall.py", "plain", "red\ndry")
    assert told([*grown, *BLUE]) == ["edited wall.py:\n- plain\n+ blue\n+ dry"]


def test_a_line_that_a_later_edit_removes_is_not_told() -> None:
    """Edits may overlap in some of their lines."""
    over = replaced("wall.py", "red\ntop", "blue\ntop")
    first = replaced("wall.py", "plain", "green\nred")
    assert told([*first, *over]) == ["edited wall.py:\n- plain\n+ green\n- red\n+ blue"]
    assert told(first, over) == ["edited wall.py:\n- plain\n+ green"]


CODE = "import oak\nwall = plain\nprint(wall)"


class Repository:
    """A repository of two files, and the conversation in which they are edited."""

    def __init__(self) -> None:
        self.files = {name: [f"{name} {line}" for line in range(3)] for name in ("a.py", "b.py")}
        self.head = copy.deepcopy(self.files)
        self.past = list[dict[str, list[str]]]()
        self.stash: dict[str, list[str]] | None = None
        self.turns = list[Turn]()

    def do(self, action: str, name: str, line: int, number: int) -> None:
        """Edit a file, or change all of them."""
        lines, new = self.files[name], f"new {number:03}"
        match action:
            case "replace" | "revert" if lines:
                old = lines[line % len(lines)]
                first = self.head[name] if action == "revert" else [new]
                text = next((each for each in first if each not in lines), new)
                lines[lines.index(old)] = text
                self.turns += replaced(name, old, text)
            case "write":
                self.files[name] = [new, f"more {number:03}"]
                content = "\n".join(self.files[name])
                self.turns += called("write", path=name, content=content)
            case "commit" if self.stash is None:
                self.past.append(self.head)
                self.head = copy.deepcopy(self.files)
                self.turns += ran(f"git commit -am {number}", f"[main abc{number:04}] {number}")
            case "uncommit" if self.past and self.stash is None:
                self.head = self.past.pop()
                self.files = copy.deepcopy(self.head)
                self.turns += ran("git reset --hard HEAD~1")
            case "checkout":
                self.files[name] = [*self.head[name]]
                self.turns += ran(f"git checkout {name}")
            case "reset":
                self.files = copy.deepcopy(self.head)
                self.turns += ran("git reset --hard")
            case "stash" if self.files != self.head:
                self.stash, self.files = self.files, copy.deepcopy(self.head)
                self.turns += ran("git stash")
            case "pop" if self.stash and self.files == self.head:
                self.files, self.stash = self.stash, None
                self.turns += ran("git stash pop")
            case _:
                pass


ACTIONS = (
    "replace", "replace", "revert", "write", "commit", "uncommit", "checkout", "reset", "stash",
    "pop",
)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(ACTIONS), st.sampled_from(["a.py", "b.py"]), st.integers(0, 2)),
        max_size=12,
    ),
    st.integers(0, 12),
)
def test_what_is_told_stands_in_the_files(actions: list[tuple[str, str, int]], first: int) -> None:
    """After any edits, commits and returns, no new line is told that is not in its file.

    The last of them may be in the messages that stay.
    """
    repository = Repository()
    cut = 0
    for number, (action, name, line) in enumerate(actions):
        cut = len(repository.turns) if number == first else cut
        repository.do(action, name, line, number)
    for before, after in ((repository.turns, []), (repository.turns[:cut], repository.turns[cut:])):
        for text in told(before, after):
            head, *lines = text.split("\n")
            name = head.split(" ")[-1].removesuffix(":")
            assert all(
                line[2:] in repository.files[name] for line in lines if line.startswith("+ ")
            ), text


@pytest.mark.parametrize("unit", ["[:", "[", "open(", "open( ", "''"])
def test_a_hostile_script_is_read_in_linear_time(unit: str) -> None:
    """Brackets that nothing closes are looked at once."""

    def read_script(length: int) -> object:
        line = unit * (length // len(unit))
        script = f"with open('wall.py', 'w') as f:\n    pass\n{line}\n"
        return told([*called("write", path="fix.py", content=script), *ran("python fix.py")])

    assert growth(read_script, 5_000) < BOUND


def test_a_failed_edit_whose_text_stands_is_not_told() -> None:
    """It had been applied before."""
    failed = replaced("wall.py", "plain", "red", "Error: not found in wall.py")
    assert told([*RED, *failed]) == ["edited wall.py:\n- plain\n+ red"]
    removal = replaced("wall.py", "plain", "", "Error: not found in wall.py")
    assert "failed to edit wall.py:\n- plain" in told(removal)


def test_an_edit_for_a_task_that_others_followed_is_told_in_a_few_lines() -> None:
    """Who needs more reads the file."""
    long = called("write", path="wall.py", content="\n".join(f"row_{n} = {n}" for n in range(9)))
    tasks = [
        turn for n in range(3) for turn in talk(f"{n} Now paint the next wall of the barn. " * 3)
    ]
    assert len(told(long)[0].splitlines()) > 9
    assert len(told([*long, *tasks])[0].splitlines()) <= 4


def test_brackets_alone_are_no_line_of_a_short_variant() -> None:
    """They tell nothing."""
    text = "{\n}\n" * 9 + "paint(red)\n"
    (item,) = edit_items(read(called("edit", path="a.js", new_string=text)), total=1)
    assert any("paint(red)" in each for each in item.variants[1:])


def test_a_file_that_was_edited_before_the_last_request_too_is_not_only_done_since() -> None:
    """All its edits are told in one place."""
    since = [*replaced("a.py", "v", "w"), *replaced("b.py", "k", "l")]
    events = [*read_events(replaced("a.py", "x", "y"), 0), *read_events(since, 3)]
    standing = read_events([Turn("user", "Also b.")], 2)
    note = write_note(items_of(events, standing), events, 400, FAST, standing=standing)
    done, _, later = note.partition("Since the user's last message:")
    assert "edited a.py" in done
    assert "edited b.py" in later
