"""The laws about a user's object as tests of pytest, switched on by a line."""

import pytest

from tests.house import ROOT


def run(pytester: pytest.Pytester, subject: str) -> str:
    """Return what pytest prints for the laws about a subject, in a project of its own."""
    pytester.makeconftest('pytest_plugins = ["polycontext.testing.pytest_laws"]')
    pytester.makeini(
        f"[pytest]\npolycontext_subjects = {subject}\npolycontext_examples = 20\n"
        f"pythonpath = {ROOT}\n"
    )
    pytester.makepyfile(test_own="def test_own():\n    pass")
    return pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider", "-rA").stdout.str()


def test_each_law_about_an_object_is_a_test(pytester: pytest.Pytester) -> None:
    """A summariser that ignores its allowance fails one law, with the smallest counterexample."""
    printed = run(pytester, "tests.testing.law_subjects:Chatty")
    assert "1 failed, 2 passed" in printed
    assert "pressure.summaries_keep_to_their_allowance" in printed
    assert "found: " in printed
    assert "Traceback" not in printed


def test_a_sound_object_passes(pytester: pytest.Pytester) -> None:
    """Beside the tests that are there."""
    assert "3 passed" in run(pytester, "tests.testing.law_subjects:Silent")


@pytest.mark.parametrize("subject", ["no.such.module:thing", "tests.testing.law_subjects:number"])
def test_what_is_no_subject_is_refused(pytester: pytest.Pytester, subject: str) -> None:
    """By its name, before any test is run."""
    printed = run(pytester, subject)
    assert f"subject '{subject}'" in printed
    assert "passed" not in printed
