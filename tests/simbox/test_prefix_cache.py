"""Known prefixes need no prefill, and at least one token always does."""

from __future__ import annotations

from simbox.prefix_cache import PrefixCache


def test_the_longest_known_prefix_counts() -> None:
    cache = PrefixCache(enabled=True)
    assert cache.match([1, 2, 3]) == 0
    cache.insert([1, 2, 3])
    cache.insert([1, 2, 9, 9])
    assert cache.match([1, 2, 3]) == 2
    assert cache.match([1, 2, 9, 9, 5]) == 4
    assert cache.match([7]) == 0
    cache.flush()
    assert cache.match([1, 2, 3]) == 0


def test_switched_off_it_knows_nothing() -> None:
    cache = PrefixCache(enabled=False)
    cache.insert([1, 2, 3])
    assert cache.match([1, 2, 3]) == 0
