"""Claude Code without a screen, with our mod installed as its users do."""

import json
import shutil
from pathlib import Path
from typing import Any

from attrs import define, field

from .host import Host

TESTS = Path(__file__).parents[1] / "claude-code"
EVERY = 4
"""The prompts between two compactions that the user asks for."""


@define
class ClaudeCode(Host):
    """Claude Code 2.1; its prompts are lines of JSON on standard input."""

    name = "claude-code"
    packages = ("@anthropic-ai/claude-code@2.1.332",)
    binary = "claude"
    _prompts: int = field(default=0, init=False)
    _url: str = field(default="", init=False)

    def provider(self) -> Any:
        """Return the vendor."""
        return self.script.messages()

    def set_up(self, url: str) -> None:
        """Run the mod's tests, and install it; the vendor is named by the environment."""
        self._url = url
        mod = self.place / "mod"
        shutil.copytree(self.installed(), mod)
        shutil.copytree(TESTS, mod / "tests")
        self.told("plugin", "test", mod)
        told = ["install", "polycontext", "--marketplace", self.installed()]
        told += ["--config", "seconds=600"]
        self.told("plugin", *told)

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment, which names the vendor."""
        vendor = {"ANTHROPIC_BASE_URL": self._url, "ANTHROPIC_API_KEY": "sk-ant-of-the-stand-in"}
        off = ("DISABLE_AUTOUPDATER", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC")
        return {**super().environment, **vendor, **dict.fromkeys(off, "1")}

    def start(self) -> None:
        """Start the client, and go on with its conversation if there is one."""
        again = ["--continue"] if self.script.sent else []
        lines = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        self._spawn("-p", *again, *lines, "--allowed-tools", "Bash")

    def stop(self) -> None:
        """End the client."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._process = None

    def prompt(self, text: str) -> None:
        """Send a prompt, and wait until all of it is done; compact now and then."""
        self._say(text)
        self._prompts += 1
        if self._prompts % EVERY == 0:
            self.compact()

    def compact(self) -> None:
        """Compact, as a user asks for it."""
        self._say("/compact")

    def _say(self, text: str) -> None:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        self._write({"type": "user", "message": message})
        for event in map(json.loads, self._lines()):
            if event.get("subtype") == "ui_log":
                self.note(str(event.get("text") or event.get("message") or event))
            if event["type"] == "result":
                return
        raise RuntimeError("Claude Code ended")
