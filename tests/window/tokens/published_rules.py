"""The token cost of a picture as the vendors describe it, apart from the library's bound."""

from math import ceil


def claude(width: int, height: int, most: int, long_edge: int) -> int:
    """Return the 28-pixel patches of the largest size within both limits that keeps the shape."""
    scale = 1.0
    while True:
        wide, high = max(1, round(width * scale)), max(1, round(height * scale))
        tokens = ceil(wide / 28) * ceil(high / 28)
        if tokens <= most and max(wide, high) <= long_edge:
            return tokens
        scale *= 0.99


def patches(width: int, height: int, budget: int, factor: float) -> float:
    """Shrink as OpenAI documents it, patch by patch, and multiply."""
    count = ceil(width / 32) * ceil(height / 32)
    if count <= budget:
        return count * factor
    shrink = (32 * 32 * budget / (width * height)) ** 0.5
    wide, high = width * shrink / 32, height * shrink / 32
    shrink *= min(max(1, int(wide)) / wide, max(1, int(high)) / high)
    return (
        min(
            budget, ceil(max(1, int(width * shrink)) / 32) * ceil(max(1, int(height * shrink)) / 32)
        )
        * factor
    )


def tiles(width: int, height: int, base: int, tile: int) -> int:
    """Scale as OpenAI documents it and count tiles; pictures are never enlarged."""
    scale = min(1, 2_048 / max(width, height))
    scale = min(scale, 768 / (min(width, height)))
    return base + tile * ceil(round(width * scale, 6) / 512) * ceil(round(height * scale, 6) / 512)


def claude_most(width: int, height: int) -> int:
    """Return what the costliest of Anthropic's models charges."""
    return max(claude(width, height, 4_784, 2_576), claude(width, height, 1_568, 1_568))


def openai_most(width: int, height: int) -> float:
    """Return what the costliest of OpenAI's models charges at full detail, gpt-4o-mini aside."""
    in_patches = (
        patches(width, height, 1_536, 2.46),
        patches(width, height, 10_000, 1.2),
    )
    return max(*in_patches, tiles(width, height, 85, 170))
