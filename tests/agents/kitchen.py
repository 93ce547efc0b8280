"""A kitchen's agent: tools over a small database, and models that answer its nodes."""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from polycontext.agents import Agent, AgentMachine, Tool
from polycontext.agents.requests import ModelRequest
from polycontext.polynomial import ContextSession

RECIPES = {"r1-81b7d3c4": "Tomato soup", "r2-55aa11bb": "Miso soup"}


def find(*, idempotency_key: str) -> list[dict[str, str]]:
    """Return all recipes."""
    return [{"id": id, "name": name} for id, name in RECIPES.items()]


def read(id: str, *, idempotency_key: str) -> dict[str, Any]:
    """Return one recipe."""
    return {"id": id, "name": RECIPES[id], "minutes": 20}


class Plans:
    """A tool with an effect, which honours its key; `fails` is called before and after it."""

    def __init__(self, fails: Callable[[], None] = lambda: None) -> None:
        self.made: dict[str, tuple[str, str]] = {}
        self.runs = 0
        self.fails = fails

    def __call__(self, recipe: str, day: str, *, idempotency_key: str) -> dict[str, str]:
        """Plan a recipe for a day, once for each key."""
        self.runs += 1
        self.fails()
        self.made.setdefault(idempotency_key, (recipe, day))
        self.fails()
        number = [*self.made].index(idempotency_key) + 1
        return {"id": f"plan-{number}-77aa", "name": day}


def tools(plans: Plans | None = None) -> list[Tool]:
    """Return the kitchen's tools."""
    return [
        Tool("find", find, entities="recipes"),
        Tool("read", read, entities="recipes"),
        Tool("plan", plans or Plans(), entities="plans", report="create"),
    ]


def use(*calls: tuple[str, Mapping[str, Any]]) -> str:
    """Return Act's answer that calls tools."""
    return json.dumps({"calls": [{"tool": tool, "arguments": given} for tool, given in calls]})


UNDERSTOOD = json.dumps(
    {
        "intent": "plan",
        "confidence": 0.9,
        "phase": "exploring",
        "user_expressed": "wants quick meals",
    }
)
PLANNED = json.dumps(
    {
        "decision": "plan_direct",
        "goal": "Plan a soup",
        "steps": [
            {"type": "read", "subdomain": "recipes", "description": "Find soups"},
            {"type": "write", "subdomain": "plans", "description": "Plan it"},
        ],
    }
)
DONE = json.dumps({"outcome": "done"})
ASKED = json.dumps({"decision": "clarify", "goal": "which soup?", "questions": ["Which?"]})
SCRIPT: Sequence[str] = (
    UNDERSTOOD,
    PLANNED,
    use(("find", {})),
    use(("read", {"id": "recipe_1"})),
    json.dumps({"outcome": "found two soups", "entities": ["recipe_1"]}),
    use(("plan", {"recipe": "recipe_1", "day": "Monday"})),
    json.dumps({"outcome": "planned Monday", "entities": ["plan_1"]}),
    "Tomato soup on Monday.",
)


def plan(steps: int = 1) -> str:
    """Return Think's answer that plans so many steps."""
    step = {"type": "read", "subdomain": "recipes", "description": "Find soups"}
    return json.dumps({"decision": "plan_direct", "goal": "Plan a soup", "steps": [step] * steps})


def begun() -> ContextSession:
    """Return a new session of an agent."""
    return ContextSession(max_tokens=3000, machine=AgentMachine)


def agent_of(model: Any, session: ContextSession | None = None, **options: Any) -> Agent:
    """Return the kitchen's agent, over a new session by default."""
    session = session or begun()
    return Agent(session, model, tools(), **options)


def marks_of(text: str) -> set[str]:
    """Return the codes in a text, and each four words in a row."""
    words = re.findall(r"[a-z]+", text)
    runs = {" ".join(words[place : place + 4]) for place in range(len(words) - 3)}
    return {*re.findall(r"code-\w+", text), *runs}


class RandomModel:
    """Answers every node in a valid way, by chance; it repeats what prompts ask to look for."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.forbidden = rng, set[str]()
        self._quotes = random.Random(1)  # noqa: S311 - a test's

    def complete(self, request: ModelRequest) -> str:
        """Return an answer."""
        prompt, rng = request.prompt, self.rng
        shown = self.forbidden & marks_of(prompt)
        assert not shown, f"{request.node} reads what was forgotten: {shown}"
        known = [line for line in prompt.splitlines() if "turn_removed" not in line]
        refs = sorted({*re.findall(r'"ref":"((?:recipe|plan)_\d+)"', "\n".join(known))})
        asked = r"(?:look for|find|about|wants) (code-\w+|(?:[a-z]+ ){5}[a-z]+)"
        code = self._quotes.choice(re.findall(asked, prompt) or ["nothing"])
        match request.node:
            case "understand":
                retained = [{"ref": ref, "reason": f"needed for {code}"} for ref in refs[:1]]
                answer: dict[str, Any] = {
                    "intent": f"ask for {code}",
                    "confidence": 0.5,
                    "user_expressed": f"wants {code}",
                    "phase": rng.choice(["exploring", None]),
                    "retained": retained if rng.random() < 0.3 else [],
                    "demoted": refs[1:2] if rng.random() < 0.3 else [],
                }
            case "think" if rng.random() < 0.2:
                answer = {"decision": "clarify", "goal": f"which {code}", "questions": [code]}
            case "think":
                step = {"type": "read", "subdomain": "recipes", "description": f"find {code}"}
                answer = {
                    "decision": "plan_direct",
                    "goal": f"find {code}",
                    "steps": [step] * rng.randrange(3),
                }
            case "act" if "Result so far:" not in prompt:
                return use(*[("find", {})] * rng.randrange(1, 3))
            case "act":
                answer = {
                    "outcome": f"found it for {code}",
                    "note_for_next_step": code,
                    "entities": refs[:1],
                }
            case "summarize":
                answer = {"engagement": f"about {code}", "summary": "so it is"}
            case _:
                return f"Here is what I found on {rng.randrange(9)}."
        return json.dumps(answer)
