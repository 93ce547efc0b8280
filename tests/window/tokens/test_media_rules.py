"""Media cost the most that a published rule charges, or a flat price if unreadable."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from polycontext.window.media import Medium, MediumKind
from polycontext.window.tokens.media_rules import (
    AUDIO_TOKENS,
    BYTES_PER_PAGE,
    IMAGE_TOKENS,
    MAX_SIDE,
    PAGE_TOKENS,
    claude_image_tokens,
    medium_tokens,
    openai_image_tokens,
)
from tests.window.tokens.published_rules import claude, patches, tiles

sides = st.integers(1, 8_000)
details = st.sampled_from(["", "auto", "low", "high", "original", "nonsense"])


@given(sides, sides, details)
@example(1, 1, "")
@example(1, 8_000, "")
@example(28, 28, "high")
def test_a_picture_never_costs_less_than_any_rule(width: int, height: int, detail: str) -> None:
    """The bound is never below the published rules of either vendor for any model family."""
    bound = medium_tokens(Medium(MediumKind.IMAGE, width=width, height=height, detail=detail))
    assert bound >= claude(width, height, 4_784, 2_576)
    assert bound >= claude(width, height, 1_568, 1_568)
    assert bound >= min(1_600, width * height / 750)
    if detail == "low":
        assert bound >= max(85, patches(512, 512, 1_536, 2.46))
        return
    assert bound >= max(patches(width, height, 1_536, factor) for factor in (1.62, 1.72, 2.46))
    assert bound >= patches(width, height, 10_000, 1.2)
    assert bound >= max(
        tiles(width, height, *price) for price in ((70, 140), (85, 170), (75, 150), (65, 129))
    )


@pytest.mark.parametrize(
    ("width", "height", "claude_most", "openai_most"),
    [
        (1, 1, 1, 255),
        (64, 64, 9, 255),
        (200, 200, 64, 255),
        (1_000, 1_000, 1_334, 2_520),
        (1_024, 1_024, 1_399, 2_520),
        (8_000, 8_000, 4_784, 12_000),
    ],
)
def test_the_rules_give_the_published_figures(
    width: int, height: int, claude_most: int, openai_most: int
) -> None:
    """The rules give the figures of the vendors' own examples."""
    assert claude_image_tokens(width, height) == claude_most
    assert openai_image_tokens(width, height) == openai_most


def test_low_detail_is_cheap_where_only_openai_reads_it() -> None:
    """Low detail costs one small picture at OpenAI, but the size still counts for Anthropic."""
    assert openai_image_tokens(4_000, 4_000, "low") == 630
    assert (
        medium_tokens(Medium(MediumKind.IMAGE, width=4_000, height=4_000, detail="low"))
        == IMAGE_TOKENS
    )


@pytest.mark.parametrize(
    "medium",
    [
        Medium(MediumKind.IMAGE),
        Medium(MediumKind.IMAGE, size=4_400),
        Medium(MediumKind.IMAGE, width=1, height=1, size=5_000_000),
        Medium(MediumKind.IMAGE, width=MAX_SIDE + 1, height=1),
        Medium(MediumKind.IMAGE, width=2**31, height=2**31, size=100),
    ],
)
def test_a_head_that_cannot_be_true_costs_the_flat_price(medium: Medium) -> None:
    """A linked picture, a broken one and one whose head lies cost what a large one costs."""
    assert medium_tokens(medium) == IMAGE_TOKENS


@pytest.mark.parametrize(
    ("medium", "tokens"),
    [
        (Medium(MediumKind.DOCUMENT, "application/pdf", size=900, pages=1), PAGE_TOKENS),
        (Medium(MediumKind.DOCUMENT, "application/pdf", size=900, pages=40), 40 * PAGE_TOKENS),
        (
            Medium(MediumKind.DOCUMENT, "application/pdf", size=BYTES_PER_PAGE * 3 + 1),
            4 * PAGE_TOKENS,
        ),
        (Medium(MediumKind.DOCUMENT, "application/pdf", size=10**9), 600 * PAGE_TOKENS),
        (Medium(MediumKind.DOCUMENT), PAGE_TOKENS),
        (Medium(MediumKind.DOCUMENT, "text/plain", size=5, text="words"), 0),
        (Medium(MediumKind.DOCUMENT, size=2_000_000), 2_000_000),
        (Medium(MediumKind.AUDIO), AUDIO_TOKENS),
        (Medium(MediumKind.AUDIO, size=200_000), 1_000),
        (Medium(MediumKind.AUDIO, size=200_000, seconds=6.25), 125),
        (Medium(MediumKind.AUDIO, size=0), 1),
        (Medium(MediumKind.OTHER), 0),
    ],
)
def test_documents_and_recordings_cost_pages_and_seconds(medium: Medium, tokens: int) -> None:
    """Documents cost their pages or bytes, recordings their seconds, text its words."""
    assert medium_tokens(medium) == tokens
