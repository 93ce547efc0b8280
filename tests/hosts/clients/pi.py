"""pi in its RPC mode, with our extension installed as its users do."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import define, field

from .host import Host, run


@define
class Pi(Host):
    """pi 1.6; it needs a newer Node.js than the machine may have, which comes from npm too."""

    name = "pi"
    packages = ("@earendil-works/pi-coding-agent@1.6.0", "node@22")
    _process: "subprocess.Popen[str] | None" = field(default=None, init=False)

    def provider(self) -> Any:
        """Return the vendor."""
        return self.script.chat()

    def set_up(self, url: str) -> None:
        """Write the settings of an empty home, and install the extension."""
        agent = self.home / ".pi" / "agent"
        agent.mkdir(parents=True)
        model = {"id": "gpt-5", "contextWindow": 24_000, "maxTokens": 1_000}
        vendor = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "none"}
        models = {"providers": {"stand-in": {**vendor, "models": [model]}}}
        (agent / "models.json").write_text(json.dumps(models))
        compaction = {"reserveTokens": 8_000, "keepRecentTokens": 3_000}
        settings = {"defaultProvider": "stand-in", "defaultModel": "gpt-5"}
        (agent / "settings.json").write_text(json.dumps({**settings, "compaction": compaction}))
        run([*self._program, "install", self.installed()], self.work, self.environment)

    @property
    def _program(self) -> list[str | Path]:
        return [self.clients / "node_modules/.bin/pi"]

    def version(self) -> str:
        """Return the version of the client."""
        return run([*self._program, "--version"], self.work, self.environment).strip()

    def start(self) -> None:
        """Start the client, and go on with its conversation if there is one."""
        again = ["--continue"] if self.script.sent else []
        self._process = subprocess.Popen(
            [*self._program, "--mode", "rpc", *again],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def stop(self) -> None:
        """End the client."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def prompt(self, text: str) -> None:
        """Send a prompt, and wait until all of it is done."""
        self._say({"type": "prompt", "message": text})
        self._until("agent_settled")

    def compact(self) -> None:
        """Compact, as a user asks for it."""
        self._say({"type": "compact"})
        self._until("response")

    def _say(self, told: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        print(json.dumps(told), file=self._process.stdin, flush=True)

    def _until(self, kind: str) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event = json.loads(line)
            if event["type"] == "extension_ui_request" and event.get("method") == "notify":
                self.note(str(event["message"]))
            if event["type"] == kind and event.get("command") != "prompt":
                return
        raise RuntimeError("pi ended")
