"""Cues of change: the words by which people say that something is no longer as it was, in six languages; small tables, as data.

A pattern of `OLD` names the old value in its only group; those of `STRONG` say that something changed.
"""

import re

from polycontext.window.text.claims.wording import table

_TO = r"(?=\s(?:before|since|until|because|after|as|so|to|into|auf|in|zu|à|au|a|al|por|for|with|by|and|und|et|y)\b|\s?[,.;:!()]|$)"
_NEXT = r"((?:[^\s,.;:!?()]|[.:](?=\w)){1,40}(?:\s(?:[^\s,.;:!?()]|[.:](?=\w)){1,40}){0,5}?)"
_MOVED = (
    r"(?:mov|chang|shift|renam|updat|rais|lower|reduc|increas|bump|upgrad|downgrad|postpon|extend|shorten|push|convert|migrat|transfer|switch"
    r"|swap|reschedul|revis|adjust|correct|went|goes|go|grew|grown|fell|fallen|drop|cut|jump|rose|risen|replac)\w{0,5}"
)
_QUOTED_OLD = [
    rf"\b(?:instead of|rather than|in place of|in lieu of|as opposed to|formerly|previously|no longer \w{{2,15}} (?:on|in|at|with|to|from|via|by|an?|the)) (?:an? |the |at |on |in )?{_NEXT}{_TO}",
    rf"\b{_MOVED}\b(?: (?!to\b|for\b|of\b|on\b|in\b|with\b|flights?\b|trips?\b|journey\b|travel\b|from\b)[\w'-]{{1,30}}){{0,6}} from (?:an? |the )?{_NEXT}(?=\s(?:to|into|onto)\b)",
    rf"\bfrom {_NEXT} to\b(?=[^.?!]{{1,60}}\binstead\b)",
    rf"(?:[,;–—-] ?|\band )not (?:an? |the |at |on |in )?{_NEXT}(?=\s?[,.;:!()]|$)",
    rf"\((?:it )?(?:was|were|formerly|previously|before:?|old:?) (?:an? |the |at |on |in )?{_NEXT}{_TO}",
    rf"\b(?:forget(?: about)?|drop|ditch|scrap) (?:an? |the )?{_NEXT}(?=\s?[,.;:!]| and (?:take|use|go|make|book|put|do|get|choose|pick|try)\b)",
    rf"\b(?:take|choose|pick|prefer|go with|want|use) [^.,;?!]{{1,40}}? over (?:an? |the )?{_NEXT}{_TO}",
    rf"\b(?:swap|replace|exchange|trade) (?:out )?(?:an? |the )?{_NEXT}(?=\s(?:for|with|by|on)\b)",
    rf"\breplac(?:es|ed|ing) (?:an? |the )?{_NEXT}(?=\s(?:as|in|for|on)\b|\s?[,.;:!]|$)",
    rf"\b(?:statt|anstatt|anstelle(?: von)?|an stelle von|nicht mehr) (?:der |die |das |dem |den |des |am |im |um |eine?[rmns]? )?{_NEXT}(?=\s?[,.;:!()]|$|\s(?:auf|zu|in|und)\b)",
    rf"\b(?:verschoben|geändert|verlegt|umbenannt|erhöht|gesenkt|wechselt|ändert)?[^.?!]{{0,40}}\bvo[nm] {_NEXT}(?=\s(?:auf|zu|nach|in|zum|zur)\b[^.?!]{{1,60}}(?:verschoben|geändert|verlegt|umbenannt|erhöht|gesenkt|umgestellt|gelegt|gewechselt))",
    rf"\b(?:nicht|, nicht) (?:am |um |im )?{_NEXT}, sondern\b",
    rf"\b(?:au lieu d[eu]s?|à la place d[eu]s?|plutôt que|et non(?: pas)?) (?:l[ea]s? |l'|un |une |d')?{_NEXT}(?=\s?[,.;:!()]|$)",
    rf"\b(?:passe|passent|passé|déplacée?|changée?|reportée?|avancée?|décalée?)\b[^.?!]{{0,30}}? d[ue] {_NEXT}(?=\s(?:au|à|en)\b)",
    rf"\b(?:en lugar de|en vez de|y no) (?:el |la |los |las |un |una )?{_NEXT}(?=\s?[,.;:!()]|$)",
    rf"\b(?:pasa|pasan|cambia|cambiado|se mueve|movido|trasladado|aplazado)\b[^.?!]{{0,30}}? de(?:l)? {_NEXT}(?=\s(?:a|al)\b)",
    r"(?:而不是|不再是?|不要|取代|代替)([^,。，！!?？\s]{1,10})",
    r"从([^,。，！!?？\s]{1,12}?)(?:改|换|变|调|移|推迟|提前)",
    r"([^,。、，！!?？\s]{1,12}?)(?:ではなく|の代わりに|じゃなくて)",
    r"([^,。、，！!?？\sはがを]{1,12})から[^。]{1,20}(?:変更|変わ|移動|延期)",
]
OLD = re.compile("|".join(_QUOTED_OLD), re.IGNORECASE)

STRONG = re.compile(
    r"(?:^|[\"'(\s])(?:update|correction|erratum|edit|aktualisierung|korrektur|berichtigung|nachtrag|mise à jour|correction|rectification|actualización|corrección"
    r"|更新|更正|訂正|変更)\s?[:：,]|\bscratch that|\bon second thought|\bchanged (?:my|our|his|her|their) mind|\bi (?:misread|misspoke|was wrong|made a mistake|mixed up)"
    r"|\b(?:has|have|had|was|were|is|are|been|got) (?:now |since |just )?(?:been )?(?:moved|changed|renamed|switched|shifted|rescheduled|postponed|brought forward|pushed back"
    r"|relocated|raised|lowered|increased|reduced|extended|shortened|bumped|replaced|superseded|corrected|revised) (?:\w+ ){0,3}(?:to|into|onto|until|by)\b"
    r"|\b(?:changed|moved|renamed|switched|shifted|relocated|rescheduled|convert(?:ed)?|switch|migrate[sd]?|bumped|raised|lowered) (?:[\w'-]{1,20} ){0,5}to\b"
    r"|\bno longer\b|\bnot any ?more\b|\banymore\b|\bfrom (?:today|tomorrow|next \w{1,12}|this \w{1,12}) on\b|\b(?:is|are) now\b"
    r"|\b(?:verschoben|verlegt|umbenannt|geändert|umgestellt|ist jetzt|sind jetzt|ist nun|nicht mehr|doch lieber|stattdessen)\b"
    r"|\b(?:désormais|a changé|a été (?:déplacée?|reportée?|changée?|modifiée?|renommée?|avancée?|décalée?)|est maintenant|sont maintenant|n'est plus|ne sont plus|finalement)\b"
    r"|\b(?:ha cambiado|se ha (?:movido|cambiado|trasladado|aplazado)|ahora es|ahora son|ya no|se traslada|se cambia|al final mejor|renombrado)\b"
    r"|改成|改为|改到|改在|换成|换到|变成|变为|调整为|推迟到|提前到|不再|現在は|今は|に変更|に変わ|に移|になりました|へ変更|やっぱり",
    re.IGNORECASE,
)

HEARSAY = re.compile(
    r"[?？]\s*$|[?？][\"”»」]|\b(?:said|says|told|asked|wrote|claims?|claimed|according to|quote|rumou?r|heard that|what if|if (?:we|you|i|it|they)|would have|could have"
    r"|suppose|imagine|whether|maybe|perhaps|might|sagte?|meinte|schrieb|laut|angeblich|vielleicht|falls|dit que|a dit|selon|peut-être|dijo|según|quizás?|tal vez)\b"
    r"|听说|如果|也许|可能|らしい|かもしれ|もし|[\"“„«「][^\"”“»」]{16,}[\"”“»」]",
    re.IGNORECASE,
)

WORDS = table(
    """
    instead rather lieu opposed formerly previously longer forget drop ditch scrap swap replace replaces replaced replacing exchange trade
    statt anstatt anstelle sondern lieu plutôt passe passent passé déplacé déplacée changé changée reporté reportée avancé avancée décalé décalée
    lugar vez pasa pasan cambia cambiado mueve movido trasladado aplazado
    update correction erratum aktualisierung korrektur berichtigung nachtrag mise rectification actualización corrección scratch misread
    misspoke mistake mixed moved changed renamed switched shifted rescheduled postponed brought pushed relocated raised lowered increased reduced
    extended shortened bumped superseded corrected revised convert converted switch migrate migrates migrated anymore
    verschoben verlegt umbenannt geändert umgestellt stattdessen désormais modifié modifiée renommé renommée finalement ahora traslada renombrado
    """
)
"""One word of nearly every cue in a spaced script: a sentence without any of them changes nothing, pairs aside."""

PAIRED = table("not was were now over place wrong mind more edit previous nicht jetzt nun lieber plus non maintenant no mejor")
PAIRS = re.compile(
    r"(?:[,;–—-] ?|\band )not\b|\((?:it )?w(?:as|ere)\b|\b(?:(?:is|are) now|over|in place of|was wrong|changed \w+ mind|on second|not any|edit\s?:|nicht mehr|, nicht"
    r"|(?:ist|sind) (?:jetzt|nun)|doch lieber|est plus|sont plus|et non|(?:est|sont) maintenant|ya no|y no|final mejor)\b",
    re.IGNORECASE,
)
"""The other cues, of words so common that one of them alone says nothing."""

MOVES = tuple(
    sorted(
        table(
            "mov chang shift renam updat rais lower reduc increas bump upgrad downgrad postpon exten shorten push convert migrat transfer switch swap"
        )
    )
)
"""How the verbs begin behind which "from" names an old value."""

MARKS = tuple(
    sorted(
        table(
            "而不是 不再 不要 取代 代替 改 换 变 调整 推迟 提前 更新 更正 訂正 変更 ではなく 代わりに じゃなくて から 現在は 今は に移 になりました やっぱり"
        )
    )
)
"""The same for scripts without spaces."""

WAS = re.compile(
    r"(?:\b(?:from|was|were|not|instead of|rather than|in place of|no longer|formerly|previously|statt|nicht|von|vom|au lieu de|de|du|en lugar de)"
    r"\s(?:an? |the |at |on |in |dem |der |den |la |le |el )?|从|原)$",
    re.IGNORECASE,
)
"""What stands before a value that is told as old already."""

STOP = table(
    """
    a an the and or but so if then than that this these those there here it its it's i i'm i'd i'll i've me my mine we we're we'd we'll we've us our you your you're he
    his him she her they them their who what when where which why how is are was were be been being am do does did done has have had having will would
    shall should can could may might must not no nor yes of to in on at by for from with without into onto over under as about after before between
    until till during per each every all any some both either more most much many few other another same such only just also too very really still
    already again once now please ok okay let let's get gets got go goes going put make makes take takes use uses used want wants need needs like
    know think say see look one two day today tomorrow everybody everyone since because while actually instead rather update
    correction scratch longer new old thing things bit lot
    der die das den dem des ein eine einen einem einer und oder aber ist sind war waren wird werden hat haben ich wir sie er es du ihr mein unser bitte
    auf in im am an um zu zum zur von vom mit für bei nach aus über statt nicht mehr noch auch nur jetzt nun doch
    le la les un une des du de et ou mais est sont était il elle on nous vous je ce cette ces mon notre pour dans sur avec par au aux en à ne pas plus que qui
    el los las una unos unas y o pero es son era yo nosotros mi nuestro para por con en al del se lo su que no ya más
    """
)
"""Words that every text has."""
