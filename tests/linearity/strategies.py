"""Ledgers and their parts as Hypothesis strategies."""

from datetime import UTC

from hypothesis import strategies as st

from polycontext.linearity import LinearityMap, ResourceClass, Tag

CLASSES = st.sampled_from(ResourceClass)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
IDS = st.sampled_from(["a", "b", "c", "ab", "turn-1", "é", "日本", "0"]) | TEXTS.filter(bool)
MOMENTS = st.datetimes(timezones=st.just(UTC))
TAGS = st.builds(Tag, CLASSES, provenance=TEXTS, rationale=TEXTS, when=MOMENTS)


@st.composite
def ledgers(draw: st.DrawFn) -> LinearityMap:
    """Draw a ledger with a history: tags, promotions, drops, and a fork in the middle of them."""
    ledger = LinearityMap()
    for resource_id, tag in draw(st.dictionaries(IDS, TAGS, max_size=8)).items():
        ledger = ledger.tag(resource_id, tag.resource_class, provenance=tag.provenance, rationale=tag.rationale, when=tag.when)
        if draw(st.booleans()):
            ledger.tag("another branch", ResourceClass.REQUIRED)
        if tag.resource_class is ResourceClass.DROPPABLE and draw(st.booleans()):
            ledger = ledger.drop(resource_id)
        if tag.resource_class < ResourceClass.PRESERVED and draw(st.booleans()):
            ledger = ledger.promote(resource_id, ResourceClass.PRESERVED, rationale=draw(TEXTS))
    return ledger
