"""A host: how its client is installed, started and asked."""

import json
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from attrs import define, field

from .model import Script

NPM = shutil.which("npm") or "npm"
SECONDS = 1_800
"""The longest that a step of a client may take, on a busy machine."""


def run(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None
) -> str:
    """Run a command and return its output; raise what it says if it fails."""
    done = subprocess.run(
        [*map(str, command)],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    if done.returncode:
        raise RuntimeError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@define
class Host(ABC):
    """A client in an empty home, whose model is a script.

    Attributes:
        clients: the folder of the npm packages.
        place: an empty folder for its home and its work.
        shortened, left: the compactions by polycontext, and those left to the host, as it told.
    """

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]
    binary: ClassVar[str]
    clients: Path
    place: Path
    script: Script = field(factory=Script)
    shortened: list[str] = field(factory=list[str])
    left: list[str] = field(factory=list[str])
    _process: "subprocess.Popen[str] | None" = field(default=None, init=False)

    @abstractmethod
    def provider(self) -> Any:
        """Return the strict vendor."""

    @abstractmethod
    def set_up(self, url: str) -> None:
        """Write the settings of an empty home, and install the host's part."""

    @abstractmethod
    def start(self) -> None:
        """Start the client, and go on with its conversation if there is one."""

    @abstractmethod
    def prompt(self, text: str) -> None:
        """Send a prompt, and wait until all of it is done."""

    @abstractmethod
    def compact(self) -> None:
        """Compact, as a user asks for it, if our part answers that."""

    @property
    def home(self) -> Path:
        """Return the home of the user."""
        return self.place / "home"

    @property
    def work(self) -> Path:
        """Return the folder of the project."""
        return self.place / "work"

    def version(self) -> str:
        """Return the version of the client."""
        return self.told("--version").split()[0]

    def told(self, *arguments: str | Path) -> str:
        """Return what the client prints with arguments."""
        return run([*self._program, *arguments], self.work, self.environment)

    def stop(self) -> None:
        """End the client."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def _program(self) -> list[str | Path]:
        return [self.clients / "node_modules/.bin" / self.binary]

    def _spawn(self, *arguments: str) -> None:
        """Start the client with arguments; it is talked to by lines."""
        self._process = subprocess.Popen(
            [*self._program, *arguments],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def _write(self, told: Mapping[str, Any]) -> None:
        """Send the client a line of JSON."""
        assert self._process is not None
        print(json.dumps(told), file=self._process.stdin, flush=True)

    def _lines(self) -> Iterator[str]:
        """Return the further lines that the client prints, up to its end."""
        assert self._process is not None
        assert self._process.stdout is not None
        return iter(self._process.stdout.readline, "")

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the client: nothing of ours but the path."""
        ours = Path(sys.executable).parent
        paths = (self.clients / "node_modules/.bin", ours, os.environ["PATH"])
        told = {"HOME": str(self.home), "PATH": os.pathsep.join(map(str, paths))}
        return {**told, "TERM": "xterm", "LANG": "C.UTF-8", "POLYCONTEXT_SECONDS": str(SECONDS)}

    def installed(self) -> str:
        """Return the path that a user installs."""
        command = ["polycontext", "compact", "--host-path", self.name]
        return run(command, self.work, self.environment).strip()

    def note(self, line: str) -> None:
        """Keep a line that our part told the user."""
        if line.startswith("polycontext"):
            (self.left if "left" in line else self.shortened).append(line)

    def install(self) -> None:
        """Install the client from npm by its name, unless it is there."""
        stamp = self.clients / "installed"
        if stamp.exists() and stamp.read_text() == " ".join(self.packages):
            return
        self.clients.mkdir(parents=True, exist_ok=True)
        quiet = ("--no-audit", "--no-fund", "--loglevel", "error", "--prefix", str(self.clients))
        run([NPM, "install", *quiet, *self.packages], self.clients)
        stamp.write_text(" ".join(self.packages))
