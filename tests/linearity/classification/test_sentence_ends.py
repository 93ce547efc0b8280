"""Where a sentence ends: abbreviations, dates, ordinals and file names are part of it."""

import pytest

from polycontext.linearity.classification import sentence_ends
from polycontext.pressure.notes.prose import sentences_of

WHOLE = {
    "English": [
        "The call is at 9:30 a.m. on Mar. 3 in room 5.",
        "Send it to Mr. and Mrs. Hale before noon.",
        "Prices incl. VAT must come first.",
        "Quote Lee et al. when you mention the study.",
        "Dr. J. K. Patel signs every letter.",
        "Use e.g. metres or i.e. SI units.",
        "See Fig. 3 and Sec. 4.2 before you answer.",
        "He lives at 12 St. James St. near the park.",
        "The U.S. Senate voted on Dec. 5 at 5 p.m. sharp.",
        "Keep config.yaml and README.md as they are.",
        "We need approx. 20 chairs, tables etc. for Friday.",
        "Never call no. 5 before 8 a.m. or after 9 p.m. local time.",
        'He said "stop!" and left.',
        "Use units (metres, feet, etc.) in all tables.",
        "Meet me Wed. or Thu. afternoon.",
        "Wait 5 min. before each retry, max. 3 times.",
        "Write to J. Smith at Acme Corp. about it.",
        "Version 2.0.1 runs on Node v. 18 only.",
        "Ship pkg. no. 17 c/o Lt. Col. Ann Brady before Jan. 9.",
        "It weighs 3.5 lbs. and measures 4.25 in. across.",
        "Chapter IV. covers vols. 2-4 and figs. 3a. to 3c.",
        "Est. arrival is 12 Dec. or 13 Dec., weather permitting.",
        "We paid $1.5 mil. to Smith Bros. Ltd. for it.",
    ],
    "German": [
        "Treffen wir uns vom 3. bis zum 6. Mai?",
        "Die Sitzung am 3. und 4. März entfällt.",
        "Bitte nutze z. B. Meter, d. h. SI-Einheiten.",
        "Nenne ggf. die Quelle, z.B. das Buch.",
        "Der Preis inkl. MwSt. beträgt ca. 20 Euro.",
        "Vom 3.-6. Mai bin ich weg.",
        "Am 24.12. und 31.12. arbeiten wir nicht.",
        "Die Fr. Meier aus der Bahnhofstr. 5 ruft an.",
        "Der 2. Entwurf gilt ab dem 15. jedes Monats.",
        "Schick es an Hrn. Dr. med. Koch i. A. der Fa. Beck.",
        "Ludwig XIV. und Friedrich II. lebten nicht zur selben Zeit.",
    ],
    "French": [
        "Appelle M. Dupont ou Mme. Leroy avant midi.",
        "Utilise p. ex. des mètres.",
        "Voir p. 12 et chap. 3 avant de répondre.",
        "Réponds avant le 3 janv. 2027 à 9.30.",
        "Le rendez-vous est le mar. 3 févr. chez M. et Mme Roy.",
        "Le Pr. Noir opère le 1er oct. à l'hôp. St. Louis.",
        "La sté. Martin S.A.R.L. a payé 1.250,50 € T.T.C. en déc. 2024.",
    ],
    "Spanish": [
        "Llame a la Sra. Gómez o al Sr. Ruiz.",
        "Use p. ej. metros en la pág. 4.",
        "El núm. 5 de la Avda. Mayor está cerrado.",
        "Los EE. UU. no participan este año.",
        "La cita es el mar. 3 de feb. a las 9:30 a. m. en la sala 5.",
        "La empresa Ruiz S.A. y Cía. Ltda. cerró en dic. de 2024.",
        "El Ing. Sanz lee el párr. 2 el vie. 12.",
    ],
    "Italian": [
        "Scriva al sig. Rossi e alla dott.ssa Bianchi.",
        "Vedi pag. 12, cap. 3, ecc. prima di rispondere.",
        "L'art. 5 vale per es. per i minori.",
        "L'ing. Costa e la sig.na Neri arrivano ven. 12 alle 16.45.",
        "Si vedano le pagg. 10-12 del vol. 3, int. 3.",
    ],
    "Portuguese": [
        "Fale com o Sr. Silva e a Dra. Costa.",
        "O preço máx. é de R$ 3.500,00 por mês.",
        "Reserve a sala n.º 4 para 5 pessoas.",
        "Escreva na ter. 3 de fev. à R. Augusta, ap. 3, 2.º andar.",
    ],
    "Chinese": [
        "小明说“今天3.5折”，请记住。",
        "请在上午9:30给Dr. Li发邮件。",
        "她说“我来。”然后走了。",
    ],
    "Japanese": [
        "価格は3.5ドルです。",
        "Mr. Smithへ連絡してください。",
        "彼は「行きます。」と言いました。",
    ],
}
SPLIT = [
    "The answer is no. | Then we go on.",
    "Buy milk, eggs, etc. | Then come home.",
    "It starts at 5 p.m. | Please be there.",
    "ok. | dont push to main",
    "Use plan B. | Then stop.",
    "He is taller than I. | Then he left.",
    "See config.py. | Then stop.",
    "Er kam am 3. Mai. | Danach ging er.",
    "Es kostet 20. | Bitte zahle.",
    "We work in the U.S. | The office is there.",
    "stimmt so. | nie wieder",
    "the test takes 30 min. | Always cache it.",
    "give me 5. | dont use emojis",
]


@pytest.mark.parametrize("sentence", [each for those in WHOLE.values() for each in those])
def test_a_sentence_with_shortened_words_is_whole(sentence: str) -> None:
    """It is not split in prose, nor in the sentences of notes."""
    assert [*sentence_ends(f"{sentence} So")] == [len(sentence)]
    assert sentences_of(sentence) == [sentence]


@pytest.mark.parametrize("line", SPLIT)
def test_two_sentences_are_split(line: str) -> None:
    """An abbreviation or a number at the end of a sentence ends it if another one follows."""
    first, second = line.split(" | ")
    assert next(sentence_ends(f"{first} {second}")) == len(first)


def test_marks_in_a_row_are_read_once() -> None:
    """A mark counts only at the end of a run of marks, so that no run is read anew."""
    assert [*sentence_ends("!" * 100_000 + "a")] == []
