"""The four nodes of seed 003, each declared in one place."""

from polycontext.nodes.builders.additions import ACCOMPLISHED, CONTENT_ARCHIVE, DO_NOT_READ, LAST_TURN, PREV_STEP_NOTE, STEP_RESULTS
from polycontext.nodes.builders.node import Node
from polycontext.nodes.entities import EntityMode
from polycontext.nodes.history import ConversationPart as Said
from polycontext.nodes.reasoning import NODE_PARTS

UNDERSTAND = Node(
    "understand",
    "Find out what the user wants. Decide which entities stay in mind, which may go, and why.",
    EntityMode.CURATION,
    conversation=set(Said),
    reasoning=NODE_PARTS["understand"],
)

THINK = Node(
    "think",
    "Plan the next steps: plan directly, propose, or ask. What is known needs no reading again.",
    EntityMode.REFS_AND_LABELS,
    conversation=set(Said),
    reasoning=NODE_PARTS["think"],
    additions=(DO_NOT_READ, LAST_TURN),
)

ACT = Node(
    "act",
    "Execute the step at hand with the data shown. Leave a note for the next step where it needs one.",
    EntityMode.FULL,
    conversation={Said.RECENT},
    reasoning=NODE_PARTS["act"],
    additions=(CONTENT_ARCHIVE, STEP_RESULTS, PREV_STEP_NOTE),
    budget=8000,
)

REPLY = Node(
    "reply",
    "Answer the user naturally, by the names of things, going on from where the conversation stands.",
    EntityMode.REPLY,
    conversation={Said.RECENT, Said.ENGAGEMENT, Said.PENDING},
    reasoning=NODE_PARTS["reply"],
    additions=(ACCOMPLISHED,),
)

NODES = {node.name: node for node in (UNDERSTAND, THINK, ACT, REPLY)}
"""The nodes of the seed by name."""
