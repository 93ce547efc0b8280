"""The table of promises: its verdicts, growth rates and cheapest schedule, and its exit codes."""

import doctest
from importlib import import_module

import pytest

from benchmarks.budget import caching_peers
from benchmarks.budget.__main__ import ROWS, main
from benchmarks.budget.caching import CACHED, Sent, best_bill, cache_rows
from benchmarks.budget.row import Found, Row, Scale
from benchmarks.budget.server import server_rows
from benchmarks.budget.sizes import import_rows
from benchmarks.budget.stores import store_rows
from benchmarks.budget.turns import exponent
from tests.house import ROOT, sizes

pytestmark = [pytest.mark.gate, pytest.mark.no_cover]  # benchmarks are no part of the package

MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("budget", "retention")
    for path in (ROOT / "benchmarks" / folder).glob("*.py")
    if path.stem != "__main__"
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_measuring_code_hold(name: str) -> None:
    """Every doctest of the two commands runs."""
    assert doctest.testmod(import_module(name)).failed == 0


def test_a_limit_is_kept_from_its_own_side() -> None:
    """At most, or at least; what is missed is said in the row; a row without figures is neither."""
    assert Found("cost", 2.0, 2.0).ok
    assert not Found("cost", 2.1, 2.0).ok
    assert not Found("share", 0.7, 0.8, most=False).ok
    assert str(Found("share", 0.7, 0.8, " x", most=False)) == "share 0.7 x (≥ 0.8 x)  <-- missed"
    assert str(Found("cost", 1234.5, 2000, " ms")) == "cost 1,234 ms (≤ 2,000 ms)"
    assert Row("work", (Found("a", 1, 2), Found("b", 3, 2))).ok is False
    assert Row("work").ok is None


@pytest.mark.parametrize(("power", "found"), [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (2.0, 2.0)])
def test_growth_is_told_by_its_exponent(power: float, found: float) -> None:
    """Cost n^p has exponent p; one slow turn in a sample does not move it."""
    costs = {size: [size**power, size**power, 1e9] for size in (100, 1_000, 10_000)}
    assert exponent(costs) == pytest.approx(found)


def test_the_best_schedule_is_found_among_all() -> None:
    """Beside every choice of moments, tried one by one: none is cheaper, and one costs the same."""
    new, most, left, kept = [10] * 8, 45, 20, 5
    sent = [Sent(10, 0), Sent(20, 10), Sent(left, kept)]

    def bill(moments: int) -> float:
        tokens, price = 0, 0.0
        for place, added in enumerate(new):
            if moments >> place & 1:
                tokens = left + added
                cached = kept
            else:
                cached, tokens = tokens, tokens + added
            price += tokens - cached + CACHED * cached
            if tokens > most:
                return float("inf")
        return price

    assert best_bill(sent, new, most) == pytest.approx(
        min(bill(moments) for moments in range(0, 2 ** len(new), 2))
    )


def test_prefixes_of_a_short_session_are_kept_but_for_its_compressions() -> None:
    """A session's cost is close to the best schedule's, and every other library is mentioned."""
    row, others = cache_rows(Scale(turns=400))
    kept, bill, *_ = (found.value for found in row.found)
    assert 0.5 < kept <= 1.0
    assert 0.95 < bill < 1.1
    assert all(any(name in note for note in others.notes) for name in caching_peers.PEERS)


def test_imports_and_files_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Own milliseconds are more than nothing; so are those of a commit, and the bytes of a file."""
    monkeypatch.setattr("benchmarks.budget.sizes.IMPORTED", 1)
    (imports,) = import_rows(Scale())
    assert all(found.value > 0 for found in imports.found)
    monkeypatch.setattr("benchmarks.budget.stores.MEASURED", 20)
    rows = list(store_rows(Scale(300)))
    assert [row.work for row in rows] == [
        "journal append, SQLite WAL",
        "opening 300 turns",
        "the file of a session",
    ]
    assert all(
        found.value > 0
        for row in rows
        for found in row.found
        if not found.name.startswith("CPU beyond")
    )


def test_a_server_is_measured_beside_a_bare_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """An append on a server has a cost or a reason why there is none."""
    monkeypatch.setattr("benchmarks.budget.server.MEASURED", 10)
    (row,) = server_rows(Scale(200))
    assert row.notes
    assert all(found.value > 0 for found in row.found)


@pytest.mark.parametrize("rows", sizes(["window"], ["journal", "window"]), ids=len)
def test_the_command_prints_rows_and_tells_by_its_code(
    capsys: pytest.CaptureFixture[str], rows: list[str]
) -> None:
    """Some rows, as a table; an unknown row is refused with the legal ones."""
    assert main([*rows, "--turns", "2000", "--quiet"]) in (0, 1)
    printed = capsys.readouterr().out
    assert "duplicate()" in printed
    assert "duplicate of 2,000 turns" in printed
    for wrong in (["sideways"], ["--turns", "10"]):
        with pytest.raises(SystemExit) as stopped:
            main(wrong)
        assert stopped.value.code == 2
        told = capsys.readouterr().err
        assert wrong[-1] in told
        assert ("2000" if "--turns" in wrong else ", ".join(ROWS)) in told
