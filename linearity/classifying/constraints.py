"""Find the rules in a turn that stand for the rest of the conversation, and the words by which people state them, as data.

A marker word is looked for, not understood: the share of the window that such
turns may preserve (see `default_classifier`) is what bounds a misreading.

A phrase is a run of whole words; the longest one that fits at a word decides. A decoy is a
longer phrase that holds a marker and states nothing: "never mind" is no rule.
Chinese and Japanese have no spaces between words, so there markers and decoys are substrings.
Phrases that as often describe as prescribe ("have to", "muss", 总是) are left out.
"""

from collections.abc import Iterable, Iterator
from itertools import product

from polycontext.linearity.classifying.prose import PhraseTree, is_bullet, phrases, sentences, words

START = "^"
"""Stands before the first word of a sentence."""

_ENGLISH = """
    never; always; must; mustn't; must not; musn't; cannot ever; shall not; shan't; henceforth
    from now on; from now onwards; from here on; from this point on; going forward; at all times; at no time; at no point
    under no circumstances; under no circumstance; under any circumstances; in no case; on no account
    in all cases; in every case; without exception; no exceptions; no matter what; for the rest of this conversation
    for the rest of the conversation; for the rest of this session; for the rest of the session; don't ever; do not ever; dont ever
    not ever; only ever; not allowed to; isn't allowed to; aren't allowed to; not permitted to; is forbidden; are forbidden
    i always want; i always need; i always prefer; i never want; i never need
    is prohibited; are prohibited; strictly forbidden; strictly prohibited; is mandatory; are mandatory
"""
_ENGLISH_DECOYS = """
    never mind; as always; like always; always been; never been; almost always; nearly always; almost never; not always; don't always; isn't always
    must have been; must have left; must have lost; must have missed; must have forgotten; i must admit; i must say; i must confess
    there must be; must be because; must be why; you never know; never know; never thought; never imagined; never hurts; never used to
    never heard; never ever seen; never seen; never would have; never would've; it never; it always; why never
"""
_GERMAN = """
    niemals; nie wieder; nie mehr; immer; stets; ab jetzt; ab sofort; von jetzt an; von nun an; ab heute; künftig; unter keinen umständen
    auf keinen fall; in keinem fall; keinesfalls; ausnahmslos; in jedem fall; auf jeden fall; zu keiner zeit; zwingend; darf nicht
    dürfen nicht; darfst nicht; darf nie; dürfen nie; darfst nie; ist verboten; sind verboten; ist untersagt
"""
_GERMAN_DECOYS = (
    "immer noch; noch immer; immer wieder; immer mehr; immer weiter; immer weniger; immer öfter; wie immer; fast immer; nicht immer"
)
_FRENCH = """
    jamais; toujours; dorénavant; désormais; à partir de maintenant; à l'avenir; en aucun cas; sous aucun prétexte; en aucune circonstance
    en toutes circonstances; en toute circonstance; dans tous les cas; sans exception; impérativement; obligatoirement; il ne faut pas
    ne dois pas; ne doit pas; ne devez pas; ne doivent pas; est interdit; sont interdits; est interdite
"""
_FRENCH_DECOYS = (
    "si jamais; à jamais; jamais vu; toujours pas; est toujours; ai toujours; a toujours; ont toujours; comme toujours; presque toujours"
)
_SPANISH = """
    nunca; jamás; siempre; a partir de ahora; de ahora en adelante; desde ahora; de aquí en adelante; en ningún caso; en todo momento
    bajo ninguna circunstancia; bajo ningún concepto; en todos los casos; sin excepción; obligatoriamente; no debes; no debe; no deben
    está prohibido; queda prohibido
"""
_SPANISH_DECOYS = "como siempre; para siempre; casi siempre; desde siempre; nunca he; nunca ha; nunca había; casi nunca; más que nunca"

_TELLERS = """
    i'm; you're; we're; they're; he's; she's; it's; that's; there's; i've; you've; we've; they've; have; has; had
    haven't; hasn't; was; were; i'd; you'd; he'd; she'd; we'd; they'd; would; could; i; he; she; they; who; everyone; people
"""
_ORDER_OPENERS = [(START,), ("please",), ("also",), ("but",), ("and",), ("just",)]
_NEGATIONS = [("don't",), ("dont",), ("do", "not")]
_REMARK_VERBS = "know; think; worry; have; see; mind; care; need; remember; recall; understand; believe; feel; get; want; like"

_CHINESE = """
    从现在起; 从现在开始; 从今以后; 从今往后; 今后请; 以后请; 以后都; 必须; 务必; 永远不要; 千万不要; 千万别; 绝不要; 绝对不要; 绝不能; 绝对不能
    切勿; 禁止; 严禁; 一律; 无论如何; 任何情况下; 请始终; 请总是; 從現在起; 從現在開始; 從今以後; 今後請; 以後都; 必須; 務必; 永遠不要; 千萬不要
    千萬別; 絕不要; 絕對不要; 絕不能; 嚴禁; 無論如何; 任何情況下; 請始終; 請總是
"""
_JAPANESE = """
    今後は; これからは; これ以降; 必ず; 決して; 絶対に; 常に; いかなる場合; してはいけない; してはいけません; してはならない; しなければならない
    しなければなりません; 厳禁
"""
_CJK_DECOYS = "必ずしも; 是否必须; 不是必须; 不必须; 必須ではない; 必須ではありません; 非常に; 正常に; 通常に; 異常に; 日常に; 平常に"

_POLITE_OPENERS = (
    "can; could; would; will; könntest; könnten; kannst; können; peux; pouvez; pourrais; pourriez; puedes; puede; podrías; podría"
)
POLITE_WORDS = frozenset(("please", "bitte", "stp", "svp"))
CJK_POLITE = ("请", "請", "ください", "下さい")


def _orders(tails: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    return ((*opener, *negation, *tail) for tail, opener, negation in product(tails, _ORDER_OPENERS, _NEGATIONS))


def _telling(phrase: tuple[str, ...]) -> tuple[str, ...]:
    return phrase[1:] if phrase[:1] in _ORDER_OPENERS else phrase


def _known() -> dict[tuple[str, ...], bool]:
    known = dict.fromkeys(phrases(f"{_ENGLISH};{_GERMAN};{_FRENCH};{_SPANISH}"), True)
    known |= dict.fromkeys(_orders([()]), True)
    decoys = f"{_ENGLISH_DECOYS};{_GERMAN_DECOYS};{_FRENCH_DECOYS};{_SPANISH_DECOYS}"
    habits = ((*subject, habit) for subject in phrases(_TELLERS) for habit in ("always", "never"))
    known |= dict.fromkeys((*phrases(decoys), *habits, *_orders(phrases(_REMARK_VERBS))), False)
    return known


_KNOWN = _known()
PHRASES = PhraseTree.grown(_KNOWN)
KEYS = frozenset(max(_telling(phrase), key=len) for phrase, states in _KNOWN.items() if states)
"""One word of every phrase that states a constraint: a text without any of them states none."""
CJK_MARKERS = tuple(marker for (marker,) in phrases(f"{_CHINESE};{_JAPANESE}"))
CJK_DECOYS = tuple(decoy for (decoy,) in phrases(_CJK_DECOYS))
POLITE_OPENERS = frozenset(opener for (opener,) in phrases(_POLITE_OPENERS))
"""A question that opens like this is an order: "Could you always answer in French?"."""


def states_constraint(content: str) -> bool:
    """Tell whether `content` states a standing constraint: "from now on", "never", "must" and their like (docs/linearity.md, "The rule that classifies").

    Whole words count, in English, German, French, Spanish, Chinese and
    Japanese; code does not, questions only when they are polite orders. Linear in the length of `content`.

    Law: ``states_constraint(c) == bool(constraint_sentences(c))``.

    >>> states_constraint("From now on, answer in French.")
    True
    >>> states_constraint("Never mind, it works.")
    False
    """
    return next(_constraints(content), None) is not None


def constraint_sentences(content: str) -> tuple[str, ...]:
    """Return the sentences that state a standing constraint, in order and once each; items of a list they announce follow them.

    >>> constraint_sentences("Hi! You must not delete files. How are you? Never push.")
    ('You must not delete files.', 'Never push.')
    """
    return tuple(dict.fromkeys(_constraints(content)))


def _constraints(content: str) -> Iterator[str]:
    if KEYS.isdisjoint(words(content)) and not _has_cjk_marker(content):
        return
    announced = False
    for sentence in sentences(content):
        listed = announced and is_bullet(sentence)
        stated = listed or _states(sentence)
        if stated:
            yield sentence
        announced = listed or (stated and sentence.endswith((":", "：")))


def _states(sentence: str) -> bool:
    said = words(sentence)
    if sentence.rstrip("\"'”’»)]").endswith(("?", "？")) and not _is_polite(sentence, said):
        return False
    return any(PHRASES.meanings([START, *said])) or _has_cjk_marker(sentence)


def _is_polite(sentence: str, said: list[str]) -> bool:
    asked = bool(said) and said[0] in POLITE_OPENERS
    return asked or not POLITE_WORDS.isdisjoint(said) or any(mark in sentence for mark in CJK_POLITE)


def _has_cjk_marker(sentence: str) -> bool:
    if sentence.isascii():
        return False
    for decoy in CJK_DECOYS:
        sentence = sentence.replace(decoy, " ")
    return any(marker in sentence for marker in CJK_MARKERS)
