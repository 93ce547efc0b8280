"""pi in its RPC mode, with our extension installed as its users do."""

import json
from typing import Any

from attrs import define

from .host import Host


@define
class Pi(Host):
    """pi 1.6; it needs a newer Node.js than the machine may have, which comes from npm too."""

    name = "pi"
    packages = ("@earendil-works/pi-coding-agent@1.6.0", "node@22")
    binary = "pi"

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
        self.told("install", self.installed())

    def start(self) -> None:
        """Start the client, and go on with its conversation if there is one."""
        again = ["--continue"] if self.script.sent else []
        self._spawn("--mode", "rpc", *again)

    def prompt(self, text: str) -> None:
        """Send a prompt, and wait until all of it is done."""
        self._write({"type": "prompt", "message": text})
        self._until("agent_settled")

    def compact(self) -> None:
        """Compact, as a user asks for it."""
        self._write({"type": "compact"})
        self._until("response")

    def _until(self, kind: str) -> None:
        for line in self._lines():
            event = json.loads(line)
            if event["type"] == "extension_ui_request" and event.get("method") == "notify":
                self.note(str(event["message"]))
            if event["type"] == kind and event.get("command") != "prompt":
                return
        raise RuntimeError("pi ended")
