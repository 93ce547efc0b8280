"""The offline summariser: the words that were said, chosen rather than rewritten.

No model and no network. Whatever it returns was in the turns, so it cannot
invent; it is deterministic, so a journal replays to the same bytes; and it
fits, whatever the text. It is the default, and what a model's summary falls
back to.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from attrs import field, frozen, validators

from polycontext.pressure._choice import Chooser, Opening, Segment
from polycontext.pressure._clip import clip
from polycontext.pressure._cues import failure_spans, standing_spans
from polycontext.pressure._lines import GAP, Line, LineKind, lines_of, print_line
from polycontext.pressure._segments import Span, lead_in, split
from polycontext.pressure._terms import TermBook
from polycontext.window import Role, TokenCounter, Turn

GAP_TOKENS = 1
QS = 0.5
OPEN = True


@frozen
class ExtractiveSummariser:
    """Summarise turns by copying out what matters (design §6)."""

    question_bonus: float = 1.3
    failure_bonus: float = 3.0
    query_bonus: float = 4.0

    def summarise(self, turns: Sequence[Turn], max_tokens: int, *, counter: TokenCounter, query: str | None = None) -> str:
        if max_tokens <= 0:
            return ""
        lines = lines_of(turns)
        segments, weights = self._segments(lines, len(turns), query)
        for s in segments:
            text = lines[s.line].parts[s.part]
            s.cost = counter.count(text[s.lead : s.end]) + GAP_TOKENS
        labels = {l: counter.count(l) + 2 for l in {line.label for line in lines}}
        op = [None] * len(lines)
        seen = set()
        for j, s in enumerate(segments):
            if s.part == 0:
                op[s.line] = None if s.line in seen else j
                seen.add(s.line)
        if not OPEN: op = [None] * len(lines)
        chosen = Chooser(segments, weights, [Opening(labels[line.label], o) for line, o in zip(lines, op)]).choose(max_tokens)
        return self._fit(lines, segments, chosen, max_tokens, counter)

    def _segments(self, lines, n, query):
        book = TermBook()
        out = []
        for i, line in enumerate(lines):
            for part, text in enumerate(line.parts):
                said = part == 0 or line.role is not Role.TOOL
                whole = standing_spans(text) if part and line.kind is LineKind.SPOKEN and line.role in (Role.USER, Role.SYSTEM) else []
                fails = list(failure_spans(text)) if part else []
                fi = wi = 0
                for a, b in split(text, whole):
                    terms, anchor = book.read(text, a, b, line.turn, said=said)
                    while wi < len(whole) and whole[wi][1] <= a: wi += 1
                    while fi < len(fails) and fails[fi][1] <= a: fi += 1
                    standing = wi < len(whole) and whole[wi][0] < b
                    failed = fi < len(fails) and fails[fi][0] < b
                    out.append(Segment(i, part, a, lead_in(text, a, anchor), b, terms, (self.question_bonus if line.answers and part else 1.0) * (self.failure_bonus if failed else 1), standing))
        asked = book.read(query, 0, len(query), -1, said=False)[0] if query else ()
        w = book.weights(n)
        total = sum(w[t] for t in asked)
        if total:
            aset = set(asked)
            of_line = [set() for _ in lines]
            for sg in out: of_line[sg.line] |= aset.intersection(sg.terms)
            for sg in out:
                rl = sum(w[t] for t in of_line[sg.line])
                rs = sum(w[t] for t in aset.intersection(sg.terms))
                if rl: sg.boost *= 1 + self.query_bonus * (rs*QS + rl*(1-QS)) / total
        return out, w

    def _fit(self, lines, segments, chosen, max_tokens, counter):
        lo, hi = 0, len(chosen) + 1
        best = ''
        while hi - lo > 1:
            k = (lo + hi) // 2
            t = self._print(lines, segments, chosen[:k])
            if counter.count(t) <= max_tokens: lo = k; best = t
            else: hi = k
        if not best and chosen:
            s = segments[chosen[0]]
            return clip(lines[s.line].parts[s.part][s.start:s.end].strip(), max_tokens, counter)
        return best

    def _print(self, lines, segments, chosen):
        spans = defaultdict(lambda: ([], []))
        for j in sorted(chosen):
            s = segments[j]
            spans[s.line][s.part].append((s.lead, s.end))
        return "\n".join(print_line(lines[i], *p) for i, p in spans.items())
