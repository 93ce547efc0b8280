"""Words by which claims are told apart: what is a value, what is a label, what says that something changed; small tables, as data.

A word in a wrong table costs a merge of two facts, a word too few leaves an old value standing: the tables are short on purpose.
"""

import re


def table(text: str) -> frozenset[str]:
    """Return the words of a table that is kept as text."""
    return frozenset(text.split())


STATES = table("""
    ok okay open opened closed running stopped stopping starting started restarting queued pending waiting scheduled failed failing failure fail
    passed passing pass success successful succeeded error green red yellow amber degraded clean dirty healthy unhealthy active inactive enabled
    disabled ready done complete completed finished aborted cancelled canceled canceling blocked unblocked resolved unresolved mitigated
    investigating reopened paused resumed idle busy online offline up down on off true false yes no none null high low medium normal critical
    warning draft published approved rejected accepted declined shipped delivered returned refunded paid unpaid confirmed unconfirmed booked
    available unavailable locked unlocked connected disconnected mounted unmounted synced stale expired valid invalid verified unverified docked
    cleaning charging charged empty full merged unmerged crashed alive dead rebuilding rebuilt deployed deploying building
    installed uninstalled loaded unloaded todo in-progress in_progress processing processed received sent unsent delayed boarding departed arrived
    landed suspended archived deleted created skipped missing present
    offen geschlossen läuft gestoppt wartend fertig fehlgeschlagen erfolgreich abgeschlossen bereit belegt frei bezahlt unbezahlt
    versandt geliefert storniert bestätigt gesperrt aktiv inaktiv an aus
    ouvert fermé terminé terminée échoué échouée réussi réussie actif inactif prêt prête payé payée livré livrée annulé annulée confirmé confirmée
    abierto cerrado terminado terminada fallido fallida correcto correcta activo inactivo listo lista pagado pagada enviado enviada entregado
    entregada cancelado cancelada pendiente confirmado confirmada
    正常 异常 成功 失败 完成 已完成 进行中 等待中 运行中 已停止 已关闭 开启 关闭 有货 缺货 已发货 已支付
    異常 失敗 完了 実行中 停止 停止中 待機中 稼働中 有効 無効 未対応 対応済み
""")
"""Words that are states: one of them in the place of another is the newer state of the same thing."""

STATE_STARTS = ("out of ", "in operation", "in progress", "in service", "under ", "not ", "waiting for ", "ready ", "no ")
"""How a state of more words begins."""

STATE_KEYS = re.compile(
    r"(?:^|[._ -])(?:stat(?:e|us)|phase|stage|health|result|outcome|decision|condition|mode|value|progress|assignee|owner|holder|eta)$"
    r"|(?:^|[._ -])(?:last|current|latest|default|next|active)[_ -]|(?i:zustand|état|estado|状态|状態)$",
)
"""Keys of which any text is the newer state; under others only numbers, dates, codes and states are."""

SCOPE_KEYS = re.compile(
    r"(?:^|[._ ])(?:type|kind|class|category|group)$"
    r"|(?:^|\.)(?:variant|flavou?r|colou?r|size|metric|measure|unit|parameter|severity|priority|direction|currency|meal|axis|split|subset|scenario|method"
    r"|verb|module|component|part|item|product|article|ingredient|target|side|position|rank|seat|leg|age|audience|tariff|fare|axis|quantile|percentile"
    r"|env|environment|tier|host|hostname|node|server|service|cluster|region|zone|dc|datacent(?:er|re)|site|location|place|city|country|store"
    r"|warehouse|office|building|floor|room|branch|file|filename|path|dir|directory|folder|section|table|column|row|line|field|date|day|weekday|week"
    r"|month|quarter|year|season|time|timestamp|ts|hour|slot|period|interval|from|to|origin|destination|user|username|owner_id|person"
    r"|author|actor|member|customer|client|employee|student|player|team|group|role|language|lang|locale|platform|os|arch|page|offset|cursor|index|idx"
    r"|fold|step|iteration|round|lap|batch|shard|partition|worker|thread|pid|replica|trace|trace_id|span|request|session|job|topic"
    r"|channel|event|action|message|msg|text|comment|content|body|title|subject|description|question|answer|query|note)$"
    r"|(?:^|\.)(?:labels|tags|selector|dimensions|filters?|params|match|metadata)\.",
    re.IGNORECASE,
)
"""Keys that say which thing a record is about, where several are alike: another value under them makes another thing."""

ID_KEYS = re.compile(
    r"(?i:(?:^|[_.-])(?:id|ids|uuid|guid|key|name|slug|code|number|nr|no|sku|login|email|url|uri|ref)$)|[a-z]I[dD]$|编号|番号"
)
"""Keys whose value is a name that one thing has."""

UNIQUE_KEYS = re.compile(r"(?i:(?:^|[_.-])(?:id|uuid|guid|sku)$)|[a-z]I[dD]$|编号|番号")
"""Those of them whose value nothing else has."""

GENERIC_KEYS = table("status state ok success result type kind page total count message code error version data value limit offset")
"""Keys that name nothing, though they stand first."""

ASKED_KEYS = re.compile(
    r"(?:^|_)(?:command|cmd|query|q|pattern|regex|search|sql|code|script|expression|prompt|question|url|path|paths|file|file_?name|file_?path"
    r"|dir|directory|folder|cwd|glob|date|day|month|year|start|end|from|to|origin|destination|env|environment|host|region|namespace|branch|page"
    r"|offset|limit|line|lines|view_range|section)$",
    re.IGNORECASE,
)
"""Arguments that say what a call asks: answers to two questions are two facts."""

LABELS = table("""
    step steps epoch iteration round lap page chapter section line row column item task job worker shard partition replica node fold batch chunk part
    phase stage level layer run build attempt try test case room gate seat flight floor slide question option ticket issue order invoice booking
    user session request process thread pid channel lane day week month quarter year grade class number no nr id version release port platform
    appendix figure table exercise lesson unit team group player bus train line tram track terminal building house apartment paragraph article
    schritt seite kapitel zeile gleis zug linie raum zimmer tag woche monat jahr teil aufgabe frage nummer bestellung rechnung stock etage
    étape page chapitre ligne salle porte vol jour semaine mois année partie question numéro commande facture étage voie
    paso página capítulo línea sala puerta vuelo día semana mes año parte pregunta número pedido factura planta andén opción
""")
"""Nouns whose number is a name: step 1 and step 2 are two things."""

LINKS = table("""
    a an the at to of for by in on from until till is are was were be with than over under about only now takes take has have gets get holds hold
    costs cost needs need shows show reached reaches lasts last every after before around roughly nearly exactly each up down and or not per
    currently still mit auf um am im ist sind war waren lautet beträgt heißt momentan derzeit aktuell heute jetzt noch nach von bis zu der die das den dem bei für hat haben kostet dauert pro ab
    actuellement encore maintenant à au aux de du des le la les est sont était en par pour dans vers coûte dure
    ahora todavía quedan el los las un una es son era a al del en por para con cuesta dura hasta
    ~ = - -> → / : ± ≈ < > <= >= 为 是 用 已用
""")
"""Words behind which a number is a value rather than a name."""

LEVELS = table("debug info notice warn warning error fatal critical trace verbose")

FILES = re.compile(
    r"(?<![\w@])(?:[\w.~-]*/[\w./@+-]+|[\w-]*\.[A-Za-z]\w{0,11}(?:\.\w{1,12})?(?![\w(])|Makefile|Dockerfile|Procfile|Gemfile|CODEOWNERS|Jenkinsfile|Vagrantfile"
    r"|hosts|crontab|fstab|sudoers|passwd)(?![\w/])"
)
"""What looks like the name of a file."""

HEADER = re.compile(
    r"\[[^\]\n]{1,80}\]\]?|[^\s:={}()]{1,60}:|<[\w:.-]{1,60}>|[^\s{}]{1,40}(?: [^\s{}]{1,40}){0,3} \{|(?:Host|Match|class|def|func|fn) \S.{0,60}"
)
"""A line that begins a section of a file."""

CODE_FILES = re.compile(
    r"\.(?:py|pyi|js|jsx|ts|tsx|java|c|h|cc|cpp|hpp|cs|go|rs|rb|php|swift|kt|scala|sh|lua|pl|r|m|sql|vue|html?|md|rst|tex|ipynb)$",
    re.IGNORECASE,
)
"""Files whose lines are no settings, constants aside."""
