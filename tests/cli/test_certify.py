"""`polycontext certify`, as a user sees it."""

from pathlib import Path

from tests.bulk.data_sets import as_lines, saved
from tests.bulk.test_certificate import calling
from tests.cli.command import Command

ROW = {"messages": calling('{"flight": "HAT136", "n": 5123}')}


def test_budgets_are_tested_from_the_largest(polycontext: Command, tmp_path: Path) -> None:
    """Each budget has its loss and its bounds; the last line names the smallest that passes."""
    source = saved(tmp_path / "in.jsonl", as_lines([ROW] * 20))
    asked = ("certify", source, "--max-tokens", "20,9000", "--workers", 1, "--at-most", 0.2)
    ran = polycontext(*asked)
    assert ran.code == 0
    head, first, second, counted, last = ran.out.splitlines()
    assert head.split()[:2] == ["budget", "vanish"]
    assert first.split()[:3] == ["9,000", "0.00%", "13.91%"]
    assert second.split()[:3] == ["20", "100.00%", "100.00%"]
    assert counted == "40 arguments in 20 conversations"
    assert last == "at most 20.0% vanish, with 95% confidence: from 9,000 tokens on"
    told = polycontext(*asked, "--json").json()
    assert told["smallest"] == 9_000
    assert [each["max_tokens"] for each in told["budgets"]] == [9_000, 20]


def test_few_recordings_show_little(polycontext: Command, tmp_path: Path) -> None:
    """Without enough conversations no budget passes: exit code 1. Bad rows do not count."""
    source = saved(tmp_path / "in.jsonl", as_lines([ROW] * 3) + b"{}\n")
    ran = polycontext("certify", source, "--max-tokens", 9_000, "--workers", 1)
    assert ran.code == 1
    assert ran.out.endswith("no budget passes\n")
    assert "1 row holds no valid conversation" in ran.err
