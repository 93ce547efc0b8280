"""What a conversation can lose without a trace: bare acknowledgements and results that hold nothing.

An answer is no acknowledgement: yes, no, a number or a choice decides something,
and so does a word of consent such as "sure" or "go ahead".
"""

import re

from polycontext.linearity.classifying.phrase_tree import PhraseTree, phrases

_LONGEST = 80
_LONGEST_EMPTY_RESULT = 16

_ACKNOWLEDGEMENTS = """
    ok; okay; okey; k; kk; thanks; thank you; thankyou; thx; ty; tysm; cheers; many thanks; thanks again; thank you again; much appreciated
    appreciated; i appreciate it; appreciate it; appreciate your help; appreciate the help; got it; gotcha; noted; understood; roger; i see
    ah; oh; ah i see; oh i see; makes sense; that makes sense; great; perfect; awesome; amazing; excellent; wonderful; fantastic; brilliant
    lovely; cool; nice; neat; sweet; super; nice work; good job; great job; well done; alright; all right; good to know; no problem; no worries
    you're welcome; you are welcome; youre welcome; welcome; my pleasure; anytime; glad to help; happy to help; glad i could help
    danke; dankeschön; vielen dank; danke schön; danke dir; besten dank; alles klar; verstanden; bitte schön; gern geschehen
    merci; merci beaucoup; merci bien; compris; parfait; bien reçu; je vous en prie; de rien; gracias; muchas gracias; mil gracias
    entendido; perfecto; de nada; obrigado; obrigada; grazie; grazie mille; capito
    好的; 谢谢; 谢谢你; 谢谢您; 多谢; 感谢; 明白; 明白了; 知道了; 收到; 了解了; 不客气; 謝謝; 謝謝你; 多謝; 感謝; 不客氣
    ありがとう; ありがとうございます; ありがとうございました; 了解; 了解です; 了解しました; 承知しました; わかりました; 分かりました; なるほど; どういたしまして
    감사합니다; 고마워요; 고맙습니다; 알겠습니다; спасибо; понял; понятно
"""
_FILLERS = (
    "so much; very much; a lot; a bunch; for your help; for the help; for all your help; for that; for this; and; that's; thats; that is"
)
_EMOJI = "👍👌🙏😊🙂😀😄😁😃🎉👏💯🙌🤝❤💙🥳😎"
_EMOJI_MODIFIERS = "\ufe0f\u200d🏻🏼🏽🏾🏿"
_PUNCTUATION = " \t\r\n.,!;:~…-–—()\"'’*_。、，！；："
_WORD = re.compile(r"[\w'’]+")
_EMPTY_RESULTS = frozenset(
    ("", "null", "none", "nil", "undefined", "n/a", "[]", "{}", "()", "[[]]", "[{}]", "{[]}", '""', "''", "```", "``````")
)


_SAID = PhraseTree.grown(dict.fromkeys(phrases(_FILLERS), False) | dict.fromkeys(phrases(_ACKNOWLEDGEMENTS), True))
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
    if len(text) > _LONGEST:
        return False
    said = _WORD.findall(text.lower().replace("’", "'"))
    if None in _SAID.meanings(said):
        return False
    signs = _WORD.sub("", text).translate(_DROP_PUNCTUATION)
    acknowledged = True in _SAID.meanings(said) if said else bool(signs)
    return acknowledged and not signs.translate(_DROP_EMOJI)


def is_empty_result(content: str) -> bool:
    """Tell whether a tool's result holds nothing: blank, ``null``, ``[]``, ``{}`` and their like; 0 and false are results.

    >>> is_empty_result(" [ ] "), is_empty_result("0")
    (True, False)
    """
    text = content.strip()
    return len(text) <= _LONGEST_EMPTY_RESULT and "".join(text.split()).lower() in _EMPTY_RESULTS
