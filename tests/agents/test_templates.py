"""The prompts of an agent's nodes come from templates, which a project replaces."""

from pathlib import Path
from typing import Any

import pytest

from polycontext.agents import Agent
from polycontext.base import InvalidOptionError
from polycontext.nodes import Now, PromptBuilder
from polycontext.nodes.builders import Node, build_context
from polycontext.nodes.prompts.template import TemplateError
from polycontext.polynomial import ContextSession
from polycontext.testing import ScriptedModel
from tests.agents.kitchen import SCRIPT, begun, tools

FRAME = (
    "# Vorgang\n{reasoning}\n\n# Dinge\n{entities}\n\n# Gesagt\n{conversation}\n\n# Aufgabe\n{task}"
)
TEMPLATES = {
    "_node": FRAME,
    "_node_think": "Plane.",
    "_node_act": "{task}\n\nHandle jetzt.",
    "_step": "Schritt: {step}",
    "_schema": "Antworte nach {schema}",
    "_refusal": "Falsch: {refusal}",
    "_persona": "# warmth\nhigh: Sei herzlich.",
}


def prompts_of(folder: Path, script: Any) -> dict[str, list[str]]:
    """Return the prompts of an agent with the templates of a folder, by node."""
    for name, text in TEMPLATES.items():
        (folder / f"{name}.md").write_text(text)
    session = begun()
    builder = PromptBuilder(folders=[folder])
    model = ScriptedModel(script)
    Agent(session, model, tools(), persona={"warmth": 0.9}, prompts=builder).send("Suppe?")
    found: dict[str, list[str]] = {}
    for request in model.requests:
        found.setdefault(request.node, []).append(request.prompt)
    return found


def test_a_project_replaces_the_prompts_of_nodes(tmp_path: Path) -> None:
    """The frame, the instructions, and all sentences about the answer."""
    script = [SCRIPT[0], "no plan", *SCRIPT[1:]]
    prompts = prompts_of(tmp_path, script)
    assert all(prompt.startswith("# Vorgang\n") for each in prompts.values() for prompt in each)
    assert "\n\n# Dinge\n(nothing yet)\n\n# Gesagt\n### Recent turns" in prompts["think"][0]
    assert "\n\n# Aufgabe\nPlane.\nAntworte nach {" in prompts["think"][0]
    assert "Plane.\nFalsch: $: the answer has no JSON object" in prompts["think"][1]
    assert "# Aufgabe\nSchritt: {" in prompts["act"][0]
    assert prompts["act"][0].endswith("}\n\nHandle jetzt.")
    assert prompts["reply"][0].endswith("stands.\nSei herzlich.")
    assert [node for node in prompts if "Sei herzlich." in str(prompts[node])] == ["reply"]


def test_a_node_of_a_project_takes_its_instructions_from_a_template() -> None:
    """Its own task comes first; a node with neither is refused with what to write."""
    now = Now(ContextSession(1000).output)
    prompts = PromptBuilder(section_templates={"node_critic": "Judge."})
    assert build_context(Node("critic"), now, prompts=prompts).text.endswith("Task\nJudge.")
    own = build_context(Node("critic", "Praise."), now, prompts=prompts, task="Be brief.")
    assert own.text.endswith("Task\nPraise.\nBe brief.")
    with pytest.raises(InvalidOptionError, match=r"_node_critic\.md"):
        build_context(Node("critic"), now)


@pytest.mark.parametrize("frame", ["{entities} {task}", f"{FRAME} {{city}}"])
def test_a_frame_holds_every_section_and_nothing_else(frame: str) -> None:
    """What a node reads is never lost by a template."""
    with pytest.raises(TemplateError, match=r"does not name exactly \{conversation\}, \{ent"):
        PromptBuilder(section_templates={"node": frame})
