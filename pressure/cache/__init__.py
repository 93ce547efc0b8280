"""What successive requests cost: prompt caches by their vendors' rules, where breakpoints go, the bill, when compressing pays (docs/cache.md)."""
