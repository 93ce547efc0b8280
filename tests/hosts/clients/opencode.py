"""OpenCode as a server, with our plugin installed as its users do."""

import json
import re
from pathlib import Path
from typing import Any

import httpx
from attrs import define, field

from tests.house import free_port

from .host import SECONDS, Host

MODEL = {"providerID": "stand-in", "modelID": "gpt-5"}


@define
class OpenCode(Host):
    """OpenCode 1.18, whose plugin shortens each list that its model is sent."""

    name = "opencode"
    packages = ("opencode-ai@1.18.33",)
    binary = "opencode"
    _session: str = field(default="", init=False)
    _url: str = field(default="", init=False)

    def provider(self) -> Any:
        """Return the vendor."""
        return self.script.chat()

    def set_up(self, url: str) -> None:
        """Write the settings of a project, the plugin among them."""
        model = {"name": "gpt-5", "limit": {"context": 40_000, "output": 1_000}}
        vendor = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1", "apiKey": "none"},
            "models": {"gpt-5": model},
        }
        told = {
            "plugin": [Path(self.installed()).as_uri()],
            "model": "stand-in/gpt-5",
            "small_model": "stand-in/gpt-5",
            "permission": {"bash": "allow"},
            "provider": {"stand-in": vendor},
        }
        (self.work / "opencode.json").write_text(json.dumps(told))
        # Its types of plugins, which it fetches from npm before it loads any, count as installed.
        settings = self.home / ".config/opencode"
        (settings / "node_modules").mkdir(parents=True)
        lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
        (settings / "package-lock.json").write_text(json.dumps(lock))

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment, which names the settings."""
        # What OpenCode fetches from elsewhere is not there.
        off = ("AUTOUPDATE", "MODELS_FETCH", "DEFAULT_PLUGINS", "LSP_DOWNLOAD")
        told = {f"OPENCODE_DISABLE_{each}": "1" for each in off}
        told["OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER"] = "1"
        config = {"OPENCODE_CONFIG": str(self.work / "opencode.json")}
        return {**super().environment, **told, **config}

    def start(self) -> None:
        """Start the server, and begin a session unless there is one."""
        port = free_port()
        self._url = f"http://127.0.0.1:{port}"
        self._spawn("serve", "--port", str(port))
        # A request that arrives before this line is never answered.
        if not any("listening" in line for line in self._lines()):
            raise RuntimeError("OpenCode ended")
        if not self._session:
            self._post("/session", title="The build")  # or a model is asked for one

    def stop(self) -> None:
        """End the server, and read what the plugin told the log."""
        super().stop()
        for log in (self.home / ".local/share/opencode/log").glob("*.log"):
            for line in re.findall(r'message="(polycontext.*)"', log.read_text()):
                self.note(line)
            log.unlink()

    def prompt(self, text: str) -> None:
        """Send a prompt, and wait until all of it is done."""
        parts = [{"type": "text", "text": text}]
        self._post(f"/session/{self._session}/message", model=MODEL, parts=parts)

    def compact(self) -> None:
        """Do nothing: `/compact` is OpenCode's own."""

    def _post(self, path: str, **body: Any) -> None:
        told = httpx.post(f"{self._url}{path}", json=body, timeout=SECONDS)
        told.raise_for_status()
        self._session = self._session or told.json()["id"]
