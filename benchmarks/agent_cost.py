"""Measure an exchange of an agent of nodes beside a plain loop: calls, tokens, shared prefixes.

Both do the same work: each exchange finds recipes, plans one, and replies.
"""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from os.path import commonprefix

from attrs import define, field
from rich.console import Console
from rich.table import Table

from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.agents.forms import parameters_of
from polycontext.agents.requests import ModelRequest
from polycontext.polynomial import ContextSession
from polycontext.testing import ScriptedModel
from polycontext.window import Role, default_counter

CACHED_FROM = 1_024
"""The fewest tokens of a prefix that providers cache."""

_NAMES = ("Tomato soup", "Miso soup", "Lentil soup", "Leek soup", "Carrot soup", "Onion soup")
_ROWS = [
    {"id": f"r{number}-81b7d3c4", "name": name, "minutes": 20 + number, "servings": 4}
    for number, name in enumerate(_NAMES)
]


def find(words: str, **_: str) -> object:
    """Find recipes."""
    return [row for row in _ROWS if words in str(row["name"])]


def plan(recipe: str, day: str, **_: str) -> object:
    """Plan a recipe."""
    return {"id": f"{recipe}/{day}", "name": day}


TOOLS = [Tool("find", find, "Finds recipes.", entities="recipes"), Tool("plan", plan, "Plans one.")]
ASKED = "Please find me a soup that takes less than half an hour, and plan it for day {}."
REPLY = "I planned {} for day {}: it takes {} minutes and serves four."


@define
class Prompts:
    """The prompts that a model was given."""

    texts: list[str] = field(factory=list[str])
    shared: int = 0
    cached: int = 0
    tokens: int = 0
    calls: int = 0

    def add(self, prompt: str) -> None:
        """Count a prompt, and the prefix that it shares with an earlier one."""
        count = default_counter().count
        both = ([prompt, each] for each in self.texts)
        longest = max((len(commonprefix(each)) for each in both), default=0)  # noqa: RUF071 - texts
        prefix = count(prompt[:longest])
        self.shared += prefix
        self.cached += prefix if prefix >= CACHED_FROM else 0
        self.tokens += count(prompt)
        self.calls += 1
        self.texts.append(prompt)


def nodes(exchanges: int, max_tokens: int, *, summarizes: bool) -> Prompts:
    """Run an agent of nodes."""
    prompts, made = Prompts(), iter(range(exchanges * 10))
    step = {"type": "write", "subdomain": "plans", "description": "Find a soup and plan it"}
    answers = [
        {"intent": "plan a soup", "confidence": 0.9, "user_expressed": "wants a quick soup"},
        {"decision": "plan_direct", "goal": "Plan a quick soup", "steps": [step]},
        {"calls": [{"tool": "find", "arguments": {"words": "soup"}}]},
        {"calls": [{"tool": "plan", "arguments": {"recipe": "recipe_1", "day": "Monday"}}]},
        {"outcome": "planned a soup"},
        None,
        *([{"engagement": "quick soups", "summary": "Soups are planned."}] if summarizes else []),
    ]

    def answer(request: ModelRequest) -> str:
        number = next(made)
        exchange, place = divmod(number, len(answers))
        prompts.add(request.prompt)
        form = answers[place]
        return _reply(exchange) if form is None else json.dumps(form)

    session = ContextSession(max_tokens=max_tokens, machine=AgentMachine)
    session.add_system("You are a kitchen assistant for one household.")
    model = ScriptedModel([answer] * (exchanges * len(answers)))
    agent = Agent(session, model, TOOLS, summarizes=summarizes)
    for exchange in range(exchanges):
        agent.send(ASKED.format(exchange))
    return prompts


def loop(exchanges: int, max_tokens: int) -> Prompts:
    """Run a plain loop: the model reads the whole view, and calls tools until it replies."""
    prompts = Prompts()
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": parameters_of(tool.run)}
        for tool in TOOLS
    ]
    schemas = [{"type": "function", "function": tool} for tool in tools]
    session = ContextSession(max_tokens=max_tokens, tools=schemas)
    session.add_system("You are a kitchen assistant for one household.")

    def ask() -> None:
        prompts.add(json.dumps(schemas) + json.dumps(session.messages()))

    for exchange in range(exchanges):
        session.add_user_turn(ASKED.format(exchange))
        for number, (tool, given) in enumerate(
            [("find", {"words": "soup"}), ("plan", {"recipe": "r1-81b7d3c4", "day": "Monday"})]
        ):
            ask()
            call = {"id": f"c{exchange}_{number}", "name": tool, "arguments": json.dumps(given)}
            session.add_assistant_turn(
                None, [{"id": call["id"], "type": "function", "function": call}]
            )
            result = json.dumps((find if tool == "find" else plan)(**given))
            session.add_tool_turn(result, tool_call_id=call["id"])
        ask()
        session.add_assistant_turn(_reply(exchange))
    assert session.log()[-1].role is Role.ASSISTANT
    return prompts


def _reply(exchange: int) -> str:
    row = _ROWS[exchange % len(_ROWS)]
    return REPLY.format(row["name"], exchange, row["minutes"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each way."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--exchanges", type=int, default=50, help="how many exchanges to run")
    parser.add_argument("--max-tokens", type=int, default=8_000, help="the budget of the session")
    options = parser.parse_args(arguments)
    ways: dict[str, Callable[[], Prompts]] = {
        "a plain loop": lambda: loop(options.exchanges, options.max_tokens),
        "nodes": lambda: nodes(options.exchanges, options.max_tokens, summarizes=False),
        "nodes, with Summarize": lambda: nodes(
            options.exchanges, options.max_tokens, summarizes=True
        ),
    }
    table = Table(
        "an exchange of", "calls", "prompt tokens", "in a shared prefix", "of 1,024 or more"
    )
    for name, run in ways.items():
        prompts = run()
        per = options.exchanges
        table.add_row(
            name,
            f"{prompts.calls / per:.1f}",
            f"{prompts.tokens / per:,.0f}",
            f"{prompts.shared / per:,.0f} ({prompts.shared / prompts.tokens:.0%})",
            f"{prompts.cached / per:,.0f} ({prompts.cached / prompts.tokens:.0%})",
        )
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
