"""The site builder finds every public package and every broken link; see `just docs-site`."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.house import ROOT, module_names, script

site = script("docs_site")


def test_every_package_that_hands_out_names_has_a_page_of_the_reference() -> None:
    """A front door is a package with `__all__`; no list of them can go stale."""
    packages = [
        name
        for name in module_names()
        if (spec := find_spec(name)) and spec.submodule_search_locations is not None
    ]
    assert sorted(site.packages()) == sorted(
        name for name in packages if hasattr(import_module(name), "__all__")
    )


@pytest.mark.parametrize("package", site.packages())
def test_a_name_is_told_of_once(package: str) -> None:
    """Each name is documented on the page of its own package, and other pages link there."""
    doors = site.packages()
    page = site.reference(package, doors)
    for name, module in site.imported(package).items():
        home = site.door_of(module, doors)
        assert (f"<{home}.{name}>`: see [{home}]({home}.md)" in page) == (home != package)
        assert name in import_module(home).__all__


def test_every_page_that_is_put_into_a_group_is_there() -> None:
    """A page that is renamed leaves no hole in the contents."""
    assert [
        page
        for pages in site.CONTENTS.values()
        for page in pages
        if not (ROOT / f"{page}.md").is_file()
    ] == []


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        ("other.html", True),
        ("other.html#there", True),
        ("#here", True),
        ("#", True),
        ("picture%20one.svg", True),
        ("https://example.org/nowhere", True),
        ("gone.html", False),
        ("other.html#gone", False),
        ("#gone", False),
        ("../outside.html", False),
    ],
)
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, link: str, *, leads: bool) -> None:
    """Files and places in them are looked up; what is elsewhere is not asked."""
    (tmp_path / "page.html").write_text(
        f'<p id="here"><a href="{link}">x</a></p>', encoding="utf-8"
    )
    (tmp_path / "other.html").write_text('<a name="there"></a>', encoding="utf-8")
    (tmp_path / "picture one.svg").write_text("<svg/>", encoding="utf-8")
    assert site.broken_links(tmp_path) == ([] if leads else [f"page.html: {link}"])
