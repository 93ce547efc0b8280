"""The wheel: every module and data file, one top-level name, and a light import."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from tests import quickstart
from tests.house import ROOT, examples, installed_path, module_names, shipped_files
from tests.test_examples import EXAMPLES

pytestmark = [pytest.mark.gate, pytest.mark.timeout(600)]
HEAVY = ("rich", "click")


def run(command: Sequence[str | Path], folder: str | Path = "/", **environment: str) -> str:
    """Run a command outside of the source tree and return its output; fail if it fails."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "VIRTUAL_ENV"}
    } | environment
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def uv() -> str:
    """Find uv: `uv run` names itself in the environment."""
    found = os.environ.get("UV") or shutil.which("uv")
    if not found:
        pytest.skip("uv is not on the PATH")
    return found


@pytest.fixture(scope="module")
def wheel(uv: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a source archive, and the wheel from that archive, as a release does."""
    place = tmp_path_factory.mktemp("dist")
    run([uv, "build", "--quiet", "--out-dir", place, ROOT])
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(uv: str, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an empty environment and return its interpreter."""
    place = tmp_path_factory.mktemp("env") / "env"
    run([uv, "venv", "--quiet", "--python", sys.executable, place])
    run([uv, "pip", "install", "--quiet", "--python", place, wheel])
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


@pytest.fixture(scope="module")
def with_sdks(uv: str, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and both vendors' SDKs into a new environment; return its interpreter."""
    place = tmp_path_factory.mktemp("sdks") / "env"
    run([uv, "venv", "--quiet", "--python", sys.executable, place])
    run([uv, "pip", "install", "--quiet", "--python", place, wheel, "openai", "anthropic"])
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def test_the_wheel_holds_the_rooms_and_nothing_else(wheel: Path) -> None:
    """The wheel holds exactly the modules and data files of the rooms, under `polycontext`."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {installed_path(path) for path in shipped_files()}


def test_every_module_imports(python: Path) -> None:
    """Every module imports without warnings and extras, or names the extra that it needs."""
    printed = run([python, "-W", "error", "-c", IMPORT_ALL, *module_names()])
    # The laws need what tests are written with: who calls them has it.
    needs = set(printed.splitlines()) - {
        f"No module named '{name}'" for name in ("hypothesis", "pytest")
    }
    assert needs
    extras = {
        "anthropic": "anthropic",
        "fastapi": "server",
        "sqlalchemy": "postgresql",
        "click": "cli",
    }
    extras |= {
        "agents": "openai-agents",
        "google.adk": "google-adk",
        "google.genai": "gemini",
        "pydantic_ai": "pydantic-ai",
    }
    extras |= {"langchain": "langchain", "litellm": "litellm"}
    extras |= {"haystack": "haystack", "llama_index.core": "llama-index", "strands": "strands"}
    extras |= {"agent_framework": "agent-framework", "pyarrow": "bulk", "opentelemetry": "otel"}
    assert needs == {
        need
        for need in needs
        if any(
            module in need and f'Run pip install ".[{extra}]"' in need
            for module, extra in extras.items()
        )
    }
    assert {extra for extra in extras.values() if f"[{extra}]" in printed} == set(extras.values())


IMPORT_ALL = """
import importlib, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(error)
"""


@pytest.mark.parametrize("host", ["litellm[proxy]==1.106.2", "hermes-agent==0.19.0"])
def test_it_installs_beside_a_host(uv: str, wheel: Path, host: str) -> None:
    """The wheel's dependencies resolve together with those of a proxy and an agent."""

    def resolve(*wanted: str) -> subprocess.CompletedProcess[str]:
        command = [uv, "pip", "compile", "--quiet", "--python", sys.executable, "-"]
        return subprocess.run(
            command, cwd="/", input="\n".join(wanted), capture_output=True, text=True, check=False
        )

    if resolve(host).returncode:
        pytest.skip(f"the package index has no {host}")
    together = resolve(host, f"polycontext @ {wheel.as_uri()}")
    assert together.returncode == 0, together.stderr
    assert "polycontext" in together.stdout


def test_the_machine_imports_no_terminal(python: Path) -> None:
    """`polycontext.polynomial` loads neither click nor rich."""
    code = (
        "import sys, polycontext.polynomial; print(*sorted({name.partition('.')[0] for name in "
        "sys.modules}))"
    )
    assert set(HEAVY).isdisjoint(run([python, "-c", code]).split())


@pytest.mark.parametrize("example", EXAMPLES[:2], ids=lambda path: path.name)
def test_an_example_needs_no_more_than_the_readme_installs(python: Path, example: Path) -> None:
    """An example runs with the package alone, without extras or warnings, from any folder."""
    assert run([python, "-W", "error", example])


def test_the_program_says_what_it_needs(python: Path) -> None:
    """Without its extra, the command line ends as for wrong usage and tells what to install."""
    for command in (
        [python.with_name("polycontext"), "--version"],
        [python, "-m", "polycontext", "--version"],
    ):
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, check=False, cwd="/"
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert 'pip install ".[cli]"' in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_the_page_comes_with_the_wheel(uv: str, wheel: Path, tmp_path: Path) -> None:
    """The README's three commands work with the wheel, and the printed address serves the page."""
    run([uv, "venv", "--quiet", "--python", sys.executable, tmp_path / "env"])
    program = tmp_path / ("env/Scripts/python.exe" if os.name == "nt" else "env/bin/python")
    run([uv, "pip", "install", "--quiet", "--python", program, f"{wheel}[server]"])
    with subprocess.Popen(
        [program.with_name("polycontext"), "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline()
            address = re.search(r"http://\S+/", said)
            assert address, said
            for name in ("", "page.js", "page.css"):
                assert httpx.get(address[0] + name, timeout=30).raise_for_status().content
        finally:
            server.terminate()


@pytest.mark.parametrize("number", [0, 1], ids=["openai", "anthropic"])
def test_the_quickstart_runs_where_nothing_but_the_wheel_is(
    with_sdks: Path, tmp_path: Path, number: int
) -> None:
    """Each quickstart agent outgrows its window in an empty folder, and no request is refused."""
    blocks = [code for _, code in examples(quickstart.PAGE.read_text(encoding="utf-8"), "python")]
    programs = [code for code in blocks if "print(session)" in code]
    assert len(programs) == 2  # the other blocks go on from these
    (tmp_path / "agent.py").write_text(programs[number], encoding="utf-8")
    with quickstart.providers() as (environment, *models):
        printed = run([with_sdks, "-W", "error", "agent.py"], tmp_path, **environment).splitlines()
    assert printed[0] == quickstart.ANSWER
    assert printed[1].endswith(f" {2 * quickstart.STEPS + 3} in the log)")
    asked, other = models[number].sizes, models[1 - number].sizes
    assert (len(asked), other) == (quickstart.STEPS + 1, [])
    assert any(later < earlier for earlier, later in pairwise(asked)), (
        "the conversation never outgrew its window"
    )
