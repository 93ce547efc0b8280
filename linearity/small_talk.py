# ruff: noqa: RUF001 - punctuation of other scripts is the subject
"""What a conversation can lose without a trace: bare acknowledgements and results that hold nothing.

An answer is no acknowledgement: yes, no, a number or a choice decides something,
and so does a word of consent such as "sure" or "go ahead".
"""

import re

_LONGEST = 80
_LONGEST_EMPTY_RESULT = 16

_PHRASES = """
    ok; okay; okey; k; kk; thanks; thank you; thankyou; thx; ty; tysm; cheers; many thanks; thanks again; thank you again; much appreciated
    appreciated; i appreciate it; appreciate it; appreciate your help; appreciate the help; got it; gotcha; noted; understood; roger; i see
    ah; oh; ah i see; oh i see; makes sense; that makes sense; great; perfect; awesome; amazing; excellent; wonderful; fantastic; brilliant
    lovely; cool; nice; neat; sweet; super; nice work; good job; great job; well done; alright; all right; good to know; no problem; no worries
    you're welcome; you are welcome; youre welcome; welcome; my pleasure; anytime; so much; very much; a lot; a bunch; for your help
    for the help; for all your help; for that; for this; glad to help; happy to help; glad i could help; and; that's; thats; that is
    danke; dankeschön; vielen dank; danke schön; danke dir; besten dank; alles klar; verstanden; bitte schön; gern geschehen; gerne
    merci; merci beaucoup; merci bien; compris; parfait; bien reçu; je vous en prie; de rien; gracias; muchas gracias; mil gracias
    entendido; perfecto; de nada; obrigado; obrigada; grazie; grazie mille; capito
    好的; 谢谢; 谢谢你; 谢谢您; 多谢; 感谢; 明白; 明白了; 知道了; 收到; 了解了; 不客气; 謝謝; 謝謝你; 多謝; 感謝; 不客氣
    ありがとう; ありがとうございます; ありがとうございました; 了解; 了解です; 了解しました; 承知しました; わかりました; 分かりました; なるほど; どういたしまして
    감사합니다; 고마워요; 고맙습니다; 알겠습니다; спасибо; понял; понятно
"""
_EMOJI = "👍👌🙏😊🙂😀😄😁😃🎉👏💯🙌🤝❤💙🥳😎"
_EMOJI_MODIFIERS = "\ufe0f\u200d🏻🏼🏽🏾🏿"
_PUNCTUATION = " \t\r\n.,!;:~…-–—()\"'’*_。、，！；："
_WORD = re.compile(r"[\w'’]+")
_EMPTY_RESULTS = frozenset(
    ("", "null", "none", "nil", "undefined", "nan", "n/a", "[]", "{}", "()", "[[]]", "[{}]", "{[]}", '""', "''", "```", "``````")
)


def _phrases() -> dict[str, tuple[tuple[str, ...], ...]]:
    phrases = sorted((tuple(phrase.split()) for phrase in re.split("[;\n]", _PHRASES) if phrase.strip()), key=len, reverse=True)
    return {first: tuple(p for p in phrases if p[0] == first) for first in {p[0] for p in phrases}}


_BY_FIRST = _phrases()
_DROP_EMOJI = str.maketrans("", "", _EMOJI + _EMOJI_MODIFIERS)
_DROP_PUNCTUATION = str.maketrans("", "", _PUNCTUATION)


def is_acknowledgement(content: str) -> bool:
    """Tell whether `content` says thanks, seen or well done and nothing else; blank text says nothing and is none.

    >>> is_acknowledgement("Great, thank you so much! 👍")
    True
    >>> is_acknowledgement("yes"), is_acknowledgement("ok?"), is_acknowledgement("ok, do it")
    (False, False, False)
    """
    text = content.strip()
    if not 0 < len(text) <= _LONGEST:
        return False
    bare = text.lower().replace("’", "'").translate(_DROP_EMOJI)
    said = _WORD.findall(bare)
    others = _WORD.sub("", bare).translate(_DROP_PUNCTUATION)
    return not others and (_all_said(said) if said else len(bare) < len(text))


def is_empty_result(content: str) -> bool:
    """Tell whether a tool's result holds nothing: blank, ``null``, ``[]``, ``{}`` and their like; 0 and false are results.

    >>> is_empty_result(" [ ] "), is_empty_result("0")
    (True, False)
    """
    text = content.strip()
    return len(text) <= _LONGEST_EMPTY_RESULT and "".join(text.split()).lower() in _EMPTY_RESULTS


def _all_said(said: list[str]) -> bool:
    place = 0
    while place < len(said):
        width = next((len(p) for p in _BY_FIRST.get(said[place], ()) if tuple(said[place : place + len(p)]) == p), 0)
        if not width:
            return False
        place += width
    return True
