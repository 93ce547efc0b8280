"""Generate long chats on plans, learning and advice, and ask at the end for single facts."""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from benchmarks.retention.bound import Sources, View, view_of
from benchmarks.retention.methods import Asked, Method
from benchmarks.retention.noted import written
from benchmarks.retention.recall import Wanted
from benchmarks.retention.recordings import Conversation, Message, Probe, half_of, message_tokens
from benchmarks.retention.tally import Tally

CHATS = 24
TOPICS = 4
FACTS, TELLS = 5, 2
"""The numbers of facts per topic, told by the user and by the assistant, that are asked later."""

_BEFORE_VOWEL = re.compile(r"\ba (?=[aeio])")
_SLOT = re.compile(r"\{(\w+)\}")
_OPENERS = (
    "Hi again.",
    "Me once more.",
    "Quick one before work.",
    "It has been a week or two.",
    "Good evening!",
    "Sorry for the silence, we were away.",
    "Rainy Sunday, so here I am.",
    "Thanks for the last answer, it helped.",
    "Back to the {topic}.",
    "New week, new question.",
    "You wrote a lot last time, I read half of it.",
    "Coffee in hand.",
)
_REACTIONS = (
    "Good to know.",
    "That changes a few things.",
    "Thanks for telling me.",
    "Understood.",
    "That is a nice detail.",
    "Let me think along.",
    "Good question.",
    "There is more than one answer to that.",
    "A fair point.",
)
_LEADS = """Often|As a rule|In practice|With luck|Before anything else|For what it is worth|\
On paper|Now and then|Oddly enough|In a pinch|\
On a good day|If money is short|When in doubt|At the start|Towards the end|Between you and me|\
Strictly speaking|After a while|Without fuss|\
To be honest|Some years ago|According to {person}|Around {town}|By {weekday}|Within {n} days|\
Under pressure|Once it is quiet|In the long run"""
_SUBJECTS = """a {adjective} {thing}|the {thing} from {town}|{person}|most people|\
the second {thing}|a {thing} for {n} euros|hardly anybody|\
the {adjective} way|{person} and a {thing}|one {thing} in {n}|every {adjective} plan|\
whoever lives near {town}|a retired {trade}|the {trade}|\
a {trade} from {town}|my first idea|the usual {thing}|half of a {thing}|the advice of a {trade}|\
an {n}-year-old {thing}"""
_VERBS = """turns out to matter more than|does little for|should come before|\
pays for itself against|is worth a look beside|takes {n} minutes longer than|\
saves the trouble of|works well with|tends to hide|replaces|reminds one of|belongs next to|\
will outlast|costs less than|gets in the way of|\
is kinder than|needs the same care as|was once sold as|goes badly with|cannot make up for|\
depends on|quietly ruins|explains"""
_OBJECTS = """the {adjective} {thing}|a {thing} that nobody uses|whatever the {trade} promised|\
two {thing}s and some patience|a {adjective} week in {town}|\
an honest {trade}|the whole {thing}|a {thing} of {n} centimetres|the habits of {person}|\
any {adjective} shortcut|a {thing} left over from {weekday}|\
the price of a {thing}|{n} of the small ones|a quarrel with the {trade}|the noise of a {thing}|\
a {adjective} start"""
_ADJUNCTS = """, as {person} found out in {town}| until {weekday}| in {n} cases out of fifty|\
, though never twice| while the {thing} rests|, give or take {n}|\
 unless a {trade} is at hand| without a {adjective} {thing}||||, and that includes {person}|\
 for the first {n} hours|, at least around {town}"""
_CLOSINGS = (
    "Shall we go through it step by step?",
    "Tell me how it goes.",
    "Would a checklist help?",
    "Which part worries you most?",
    "Do you want me to put that into a table?",
    "Take your time with it.",
)
_SLOTS: Mapping[str, Sequence[str]] = {
    "person": [
        "Marlene",
        "Tobias",
        "Keiko",
        "Amadou",
        "Greta",
        "Fionn",
        "Lucia",
        "Pavel",
        "Ingrid",
        "Samir",
        "Odile",
        "Walter",
        "Beatrix",
        "Cormac",
        "Delia",
        "Efua",
        "Florian",
        "Gwen",
        "Hamid",
        "Isolde",
        "Jaro",
        "Kirsten",
        "Leopold",
        "Mirela",
        "Niamh",
        "Oswin",
        "Petra",
        "Quentin",
        "Ruben",
        "Signe",
        "Thekla",
        "Ursin",
        "Violet",
        "Wim",
        "Xenia",
        "Yannick",
        "Zelda",
    ],
    "town": [
        "Zutphen",
        "Bregenz",
        "Galway",
        "Aarhus",
        "Lugo",
        "Tartu",
        "Passau",
        "Annecy",
        "Leeds",
        "Bergamo",
        "Vaasa",
        "Ghent",
        "Olten",
        "Trieste",
        "Umea",
        "Kotor",
        "Dijon",
        "Elche",
        "Fano",
        "Gmunden",
        "Hexham",
        "Izola",
        "Jena",
        "Kaunas",
        "Lahti",
        "Maribor",
        "Narbonne",
        "Oban",
        "Pecs",
        "Quimper",
        "Rovigo",
        "Sligo",
        "Trento",
        "Udine",
        "Viborg",
        "Wexford",
        "Yverdon",
        "Zadar",
    ],
    "trade": [
        "carpenter",
        "nurse",
        "cellist",
        "baker",
        "surveyor",
        "translator",
        "welder",
        "midwife",
        "gardener",
        "archivist",
        "pilot",
        "tailor",
        "cobbler",
        "chemist",
        "printer",
        "plumber",
        "mason",
        "beekeeper",
        "librarian",
        "optician",
        "miller",
        "saddler",
        "glazier",
        "potter",
        "roofer",
        "referee",
        "notary",
        "locksmith",
        "florist",
        "tuner",
    ],
    "thing": [
        "ladder",
        "notebook",
        "kettle",
        "bucket",
        "timer",
        "chair",
        "rope",
        "calendar",
        "drawer",
        "torch",
        "tray",
        "hinge",
        "blanket",
        "compass",
        "lantern",
        "funnel",
        "magnet",
        "pulley",
        "basket",
        "curtain",
        "whistle",
        "anchor",
        "bellows",
        "candle",
        "crate",
        "dial",
        "envelope",
        "filter",
        "gasket",
        "hammer",
        "icebox",
        "jar",
        "knapsack",
        "lever",
        "mirror",
        "needle",
        "oar",
        "pillow",
        "quilt",
        "ribbon",
        "saddle",
        "thermos",
        "umbrella",
        "valve",
        "wedge",
        "yoke",
        "zip",
        "apron",
        "barrel",
        "chisel",
        "doorbell",
        "easel",
        "fiddle",
        "goblet",
        "hook",
        "inkwell",
        "jug",
        "kite",
        "latch",
        "mallet",
        "nozzle",
        "padlock",
    ],
    "adjective": [
        "cheap",
        "slow",
        "borrowed",
        "noisy",
        "narrow",
        "heavy",
        "sturdy",
        "damp",
        "plain",
        "crooked",
        "quiet",
        "early",
        "brittle",
        "copper",
        "dusty",
        "elastic",
        "faded",
        "glossy",
        "hollow",
        "idle",
        "jolly",
        "knotted",
        "lukewarm",
        "modest",
        "nimble",
        "oblique",
        "patient",
        "quaint",
        "rusty",
        "shallow",
        "tangled",
        "uneven",
        "velvet",
        "wooden",
        "yellow",
        "zealous",
    ],
    "weekday": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
_PARTS = [part.split("|") for part in (_LEADS, _SUBJECTS, _VERBS, _OBJECTS, _ADJUNCTS)]


def _aside(draw: random.Random) -> str:
    """Return a sentence of the assistant that is never asked for; hardly any two are alike."""
    lead, subject, verb, thing, adjunct = map(draw.choice, _PARTS)
    said = (
        f"{lead} {subject} {verb} {thing}{adjunct}."
        if draw.random() < 0.5  # noqa: PLR2004 - as often as not
        else f"{subject} {verb} {thing}{adjunct}."
    )
    return said[0].upper() + said[1:]


def chat(number: int) -> Conversation:
    """Return one chat of 60 messages or more, with a probe for each fact, the same in every run."""
    draw = random.Random(number)  # noqa: S311 - no secret
    messages: list[Message] = [{"role": "system", "content": "You are a helpful assistant."}]
    probes: list[Probe] = []
    for topic, kind, fact in _exchanges(draw):
        told, question, answer = "", draw.choice(topic["asks"]), ""
        if fact:
            answer = draw.choice(fact["answers"])
            told = draw.choice(fact["says"]).replace("{x}", answer)
            place = len(messages) + (kind == "tells")
            probes.append(
                Probe(
                    f"chat-{number:02}/{len(probes)}",
                    0,
                    question=fact["ask"],
                    answers=(answer,),
                    evidence=(place,),
                )
            )
        opener = (
            _filled(draw, draw.choice(_OPENERS), topic)
            if draw.random() < 0.5  # noqa: PLR2004 - as often as not
            else ""
        )
        said = [opener, told, question] if kind == "facts" else [opener, question]
        messages.append({"role": "user", "content": " ".join(filter(None, said))})
        messages.append(
            {"role": "assistant", "content": _reply(draw, topic, told if kind == "tells" else "")}
        )
    ended = len(messages)
    asked = tuple(
        Probe(each.id, ended, (), each.question, each.answers, each.evidence) for each in probes
    )
    return Conversation(
        f"chat-{number:02}", "chats", tuple(messages), tuple(map(message_tokens, messages)), asked
    )


def _exchanges(
    draw: random.Random,
) -> Iterator[tuple[Mapping[str, Any], str, Mapping[str, Any] | None]]:
    """Yield the topic and fact of each exchange; topics vary, and some have no fact."""
    topics = draw.sample(written("topics"), TOPICS)
    left = []
    for topic in topics:
        events = [("facts", fact) for fact in draw.sample(topic["facts"], FACTS)] + [
            ("tells", fact) for fact in topic["tells"][:TELLS]
        ]
        events += [("small", None)] * draw.randint(1, 3)
        draw.shuffle(events)
        left.append((topic, events))
    while left := [each for each in left if each[1]]:
        topic, events = draw.choice(left)
        for _ in range(min(len(events), draw.randint(1, 3))):
            kind, fact = events.pop()
            yield topic, kind, fact


def _reply(draw: random.Random, topic: Mapping[str, Any], told: str) -> str:
    advice = draw.sample(topic["advice"], draw.randint(2, 4)) + [
        _aside(draw) for _ in range(draw.randint(7, 12))
    ]
    draw.shuffle(advice)
    lines = [_filled(draw, each, topic) for each in advice]
    lines.insert(draw.randint(0, len(lines)), told) if told else None
    if draw.random() < 0.4:  # noqa: PLR2004 - lists are common, prose is more so
        body = (
            "\n\n" + "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1)) + "\n\n"
        )
    else:
        body = " " + " ".join(lines) + " "
    return f"{draw.choice(_REACTIONS)}{body}{draw.choice(_CLOSINGS)}"


def _filled(draw: random.Random, text: str, topic: Mapping[str, Any]) -> str:
    slots = {**_SLOTS, "n": [str(draw.randint(3, 99))], "topic": [topic["topic"]]}
    filled = _BEFORE_VOWEL.sub("an ", _SLOT.sub(lambda slot: draw.choice(slots[slot[1]]), text))
    return filled[:1].upper() + filled[1:]


@cache
def chats(half: str) -> list[Conversation]:
    """Return the chats that belong to `half`."""
    return [each for each in map(chat, range(CHATS)) if half in ("all", half_of(each.id))]


def measure(
    method: Method,
    conversations: Sequence[Conversation],
    share: float,
    *,
    asked: bool,
    tell: Callable[[str], None],
) -> Tally:
    """Count the evidence found: answers that are in view within their sentence.

    With `asked`, each question gets a view of its own.
    """
    found = Tally()
    for conversation in conversations:
        tell(f"chats {share:.0%}, {conversation.id}")
        at = len(conversation.messages)
        blind = None
        for probe in conversation.probes:
            sources = Sources(
                {},
                (conversation.messages[probe.evidence[0]]["content"],),
                frozenset(),
                frozenset(),
                frozenset(),
            )
            if blind is None or asked:
                question = probe.question if asked else None
                blind = method(
                    Asked(
                        conversation.messages,
                        conversation.budget(at, share),
                        question,
                        seed=conversation.id,
                    )
                )
            found.add(conversation.id, _has(view_of(blind, sources), probe, sources), 1)
    return found


def _has(view: View, probe: Probe, sources: Sources) -> bool:
    return view.binds(Wanted(probe.answers[0], frozenset()), sources)
