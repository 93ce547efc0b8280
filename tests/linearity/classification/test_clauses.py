"""Constraints are recognised by the structure of their sentences.

Examples are a colon, a condition and a statement about every reply. Preferences are only notes.
"""

import pytest

from polycontext.linearity import constraint_sentences
from polycontext.linearity.classification import RuleKind, find_rules
from polycontext.linearity.classification.constraints import states_mostly

STATED = {
    "a rule that is announced": [
        "House rule: shoes off at the door.",
        "## Ground rules: no force pushes.",
    ],
    "an order for every time": [
        "Every time you edit a file, run the linter.",
        "Whenever a sensor goes offline, send me a message.",
        "Before every commit, run the tests.",
        "Ask me before you delete anything.",
        "Could you please ask me before you order anything?",
        "If you are unsure about a date, ask.",
    ],
    "every one of a kind": [
        "Every email must end with my initials.",
        "All prices in euros, please.",
        "Start each reply with the date.",
    ],
    "how to answer": [
        "Please reply in bullet points only.",
        "Keep answers under 100 words.",
        "No emojis.",
        "Answer in at most two sentences.",
    ],
    "for as long as": [
        "For the rest of this session call me Captain.",
        "Until I say otherwise, the lamp stays on.",
        "As long as we work on this, use simple words.",
        "Use metric units until further notice.",
    ],
    "a ban": [
        "Only read, never write.",
        "You are not allowed to push.",
        "Avoid passive voice.",
        "Never, ever call him.",
        "Do not use tabs.",
    ],
    "German": [
        "Frag mich, bevor du etwas löschst.",
        "Alle Preise in Franken.",
        "Antworte bis auf Weiteres auf Deutsch.",
    ],
    "French": [
        "Demande-moi avant de supprimer un fichier.",
        "Chaque réponse doit tenir en trois phrases.",
        "Pas d'emojis.",
    ],
    "Spanish": [
        "Pregúntame antes de borrar nada.",
        "Todos los precios en euros.",
        "En adelante, sé breve.",
    ],
    "Chinese": ["删除任何东西之前先问我。", "所有金额一律用人民币。", "只用标准库。"],
    "Japanese": [
        "ファイルを削除する前に、必ず確認してください。",
        "すべての金額は税込で表示してください。",
    ],
}
NOTED = [
    "I prefer the morning train.",
    "I can't stand cilantro.",
    "I'm allergic to shellfish, what could I order there?",
    "I'm trying to find a good dentist.",
    "My budget is 900 dollars, not more.",
    "Je suis végétarien, que puis-je commander ?",
    "No soporto el ruido, ¿hay algo más tranquilo?",
    "我吃素，可以点什么？",
    "辛いものが苦手です。",
]
NOT_STATED = [
    "I love how this turned out!",
    "Which of these do you prefer?",
    "He said never to call on a Friday.",
    "The manual says you must restart it.",
    "Every summer the lake gets crowded.",
    "Show me all flights on Monday.",
    "Before we finish, could you add one bag?",
    "I'll get back to you as soon as I have it.",
    "There has to be some flexibility.",
    "What is the maximum file size?",
    "Ignore what I said about the colours.",
    "Forget all previous messages.",
    "Don't cancel it yet.",
    "Don't worry about it.",
    "You can always call me.",
    "I always do, and never complain.",
    "Before we finish, add one bag.",
    "Alle Tests sind grün.",
    "Tous les tests passent.",
    "Todas las pruebas pasan.",
    "所有测试都通过了。",
    "二番目の案が好きです。",
]
STORY = (
    "I grew up by the sea. We had a boat. My father fished. I learned to sail. Then we moved. The "
    "house was small. "
)


@pytest.mark.parametrize(
    ("form", "content"), [(form, content) for form, all_of in STATED.items() for content in all_of]
)
def test_a_constraint_is_found_by_its_form(form: str, content: str) -> None:
    """Each form is found, and quoted whole."""
    assert constraint_sentences(content) == (content,), form


@pytest.mark.parametrize("content", NOTED)
def test_a_preference_is_no_instruction(content: str) -> None:
    """Preferences and facts about the user are not instructions, and never pinned."""
    assert all(rule.kind is RuleKind.PREFERENCE for rule in find_rules(content))
    assert not states_mostly(content)


@pytest.mark.parametrize("content", NOT_STATED)
def test_what_is_asked_once_or_told_is_no_constraint(content: str) -> None:
    """A single task, a story, a question or another person's words state no constraint."""
    assert constraint_sentences(content) == ()


@pytest.mark.parametrize(
    "quote",
    [
        '"Never trust a map"',
        "“Never trust a map”",
        "«Never trust a map»",
        "`never --trust a map`",
        "「絶対に触るな」",
    ],
)
def test_what_is_quoted_states_nothing(quote: str) -> None:
    """Quoted words state no constraint, but the sentence around them still can."""
    assert constraint_sentences(f"Translate {quote} for me.") == ()
    assert constraint_sentences(f"Never print {quote} again.") == (f"Never print {quote} again.",)


def test_a_quotation_is_not_broken_into_sentences() -> None:
    """Its inner full stops end nothing, so that half of it is no sentence of the user's."""
    assert constraint_sentences('He wrote "It works. Never touch it. Bye." and left.') == ()


@pytest.mark.parametrize(
    "line",
    [
        "> never reply to this",
        "2026-03-01 12:00:00 must restart",
        "ERROR must not be empty",
        "$ git commit --never must",
        '{"rule": "always"}',
        "<b>never</b>",
        "ValueError: must be int",
        "+// Used when the flag is set, never without it",
        "+- Always use the events of the file system, not polling",
        "// Don't show output during watch mode",
        "-  /* only ever called once */",
        "+# Don't index saved files",
        "➜  api git:(main) ✗ never deploy",
        "⨯ release failed, only version 1 is always supported",
        "api:lint: never used, remove it",
        "src/auth.ts:29:5 - error: must not be void",
        'const db = new Database("only.db");',
        "export function always(never) {",
        "tests := []only{",
        "labels:\tonly, never",
    ],
)
def test_what_is_pasted_states_nothing(line: str) -> None:
    """Quoted mail, logs, commands, data, markup and errors state nothing, but the next line can."""
    assert constraint_sentences(line) == ()
    assert constraint_sentences(f"{line}\nNever push.") == ("Never push.",)


def test_in_a_long_text_only_what_is_clearly_a_rule_is_one() -> None:
    """A host's command tells much of what there is, and a few things that must be done."""
    weak = "- Current git status: On branch dev"
    assert constraint_sentences(weak)
    many = "\n".join(f"- The file number {number} was read." for number in range(50))
    assert constraint_sentences(f"{many}\n{weak}\n- Never push.") == ("- Never push.",)


def test_what_is_said_again_counts_once() -> None:
    """Whatever its capitals and signs."""
    assert constraint_sentences("Never push. NEVER push! Hello. never push") == ("Never push.",)


@pytest.mark.parametrize(
    "before",
    [
        "## Notes for the trip to the mountains that we take next summer",
        "- a very long item of a list that nobody ended with a full stop, as people do",
        "Here is a line, long enough to have been wrapped by an editor, without an end",
        "short",
    ],
)
@pytest.mark.parametrize(
    "stated",
    ["Never push to main.", "never push to main", "- never push to main", "**Never** push to main"],
)
def test_an_instruction_on_a_line_of_its_own_counts(before: str, stated: str) -> None:
    """The line before needs no full stop, whatever it is."""
    (sentence,) = constraint_sentences(f"{before}\n{stated}\nThe weather is nice")
    assert sentence == stated


def test_a_sentence_ends_where_it_is_still_a_constraint() -> None:
    """A long turn gives its constraint sentence alone."""
    assert constraint_sentences(STORY + "You must not sell the boat. " + STORY) == (
        "You must not sell the boat.",
    )


def test_what_an_element_of_output_holds_states_nothing() -> None:
    """Until it is closed; rules that stand in an element of that name are the user's."""
    assert constraint_sentences("<output>\nYou must not stop.\n</output>\nNever push.") == (
        "Never push.",
    )
    assert constraint_sentences("<output>You must not stop.</output>") == ()
    assert constraint_sentences("<rules>\nNever push.\n</rules>") == ("Never push.",)
    assert constraint_sentences("29:always import it\n330\tNever call it.") == ()


@pytest.mark.parametrize(
    "head",
    [
        "From: Eve <eve@example.com>\nSubject: Hello",
        "On Tue, 3 March 2026 at 10:12, Eve Moss wrote:",
        "Am 3. März 2026 um 10:12 schrieb Eve:",
        "---------- Forwarded message ---------",
        "-----Original Message-----",
        "<attachment name='a.txt'>",
    ],
)
def test_a_mail_or_an_attachment_states_nothing(head: str) -> None:
    """Somebody else wrote it; what stands before it is the user's."""
    said = f"Never push. What does she want?\n\n{head}\n\nAlways forward my mail. Never ask."
    assert constraint_sentences(said) == ("Never push.",)
    assert constraint_sentences("On Monday Eve wrote: hello.\nNever push.") == ("Never push.",)
