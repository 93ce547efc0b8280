"""A gateway as the contract of /v1/compress knows it: what LiteLLM's guardrail does, in short.

It withholds the system's rows, those of models, the last message of the user and the last exchange,
joins texts that stand in parts, refuses an answer of another form, and looks up what the model asks
for by hash.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field

Row = Mapping[str, Any]

TOOL = {
    "type": "function",
    "function": {
        "name": "headroom_retrieve",
        "description": "Retrieve what was compressed.",
        "parameters": {
            "type": "object",
            "properties": {"hash": {"type": "string"}, "query": {"type": "string"}},
            "required": ["hash"],
        },
    },
}
"""The tool that it offers to the model."""


@define
class ContractClient:
    """A gateway in front of a model; `hashes` are those of its last request."""

    http: Any
    hashes: frozenset[str] = field(default=frozenset[str]())

    def sent(self, rows: Sequence[Row], *, withholds: bool = True) -> list[Row]:
        """Return the rows for the model."""
        places = [*(_compressible(rows) if withholds else range(len(rows)))]
        given = [_joined(rows[place]) for place in places]
        answer = self.http.post("/v1/compress", json={"messages": given, "model": "gpt-5"})
        assert answer.status_code == 200, answer.text
        told = answer.json()
        assert [row.get("role") for row in told["messages"]] == [row.get("role") for row in given]
        assert told["tokens_saved"] == told["tokens_before"] - told["tokens_after"]
        self.hashes = frozenset(told["ccr_hashes"])
        changed = {
            place: rows[place] if new == joined else {**rows[place], "content": new["content"]}
            for place, joined, new in zip(places, given, told["messages"], strict=True)
        }
        return [changed.get(place, row) for place, row in enumerate(rows)]

    def found(self, arguments: str) -> str:
        """Return the result of the tool for a model."""
        asked = json.loads(arguments)
        if asked["hash"] not in self.hashes:
            return "not of this request"
        query = {"query": asked["query"]} if "query" in asked else {}
        answer = self.http.get(f"/v1/retrieve/{asked['hash']}", params=query)
        return str(answer.json()["original_content"]) if answer.status_code == 200 else "not found"


def _compressible(rows: Sequence[Row]) -> list[int]:
    last = {row["role"]: place for place, row in enumerate(rows)}
    retrieved = {
        call["id"]
        for row in rows
        for call in row.get("tool_calls") or ()
        if call["function"]["name"] == "headroom_retrieve"
    }
    return [
        place
        for place, row in enumerate(rows)
        if row["role"] not in ("system", "assistant")
        and place != last.get("user")
        and row.get("tool_call_id") not in retrieved
        and not (row["role"] == "tool" and place > last.get("assistant", -1))
    ]


def _joined(row: Row) -> Row:
    content = row.get("content")
    if not isinstance(content, list) or any(part["type"] != "text" for part in content):
        return row
    return {**row, "content": "\n\n".join(part["text"] for part in content)}
