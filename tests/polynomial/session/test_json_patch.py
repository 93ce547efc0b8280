"""JSON Patches are applied as jsonpatch applies them, and untouched parts are shared."""

import json
from typing import Any

import jsonpatch
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polycontext.base import InvalidDataError
from polycontext.polynomial.journal.json_patch import ABSENT, patched

KEYS = st.sampled_from(["a", "b", "~", "/", "0", "", "-"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, "x", "日本"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


def _leads(before: Any, patch: Any, after: Any) -> bool:
    """Return whether jsonpatch, given no move operations, turns `before` into `after`."""
    try:
        return bool(jsonpatch.apply_patch(before, patch) == after)
    except jsonpatch.JsonPatchException:
        return False


@given(before=JSON, after=JSON)
def test_a_patch_leads_where_the_library_says(before: Any, after: Any) -> None:
    """A patch made by jsonpatch leads to the same document, and leaves the first unchanged."""
    patch = [
        each
        for each in jsonpatch.make_patch(before, after).patch
        if each["op"] in ("add", "remove", "replace")
    ]
    whole = [{"op": "replace", "path": "", "value": after}]
    told = patch if _leads(before, patch, after) else whole
    kept = orjson.dumps(before)
    assert orjson.dumps(
        patched(before, json.dumps(told)), option=orjson.OPT_SORT_KEYS
    ) == orjson.dumps(after, option=orjson.OPT_SORT_KEYS)
    assert orjson.dumps(before) == kept


def test_what_is_not_touched_is_shared() -> None:
    """A patch of one entry makes anew what leads to it, and nothing else."""
    before = {"large": [[1], [2]], "small": {"x": {"y": 1}}}
    after = patched(before, '[{"op": "replace", "path": "/small/x/y", "value": 2}]')
    assert after["large"] is before["large"]
    assert (before["small"], after["small"]) == ({"x": {"y": 1}}, {"x": {"y": 2}})


@pytest.mark.parametrize(
    ("document", "patch", "after"),
    [
        ([1, 2], [{"op": "add", "path": "/-", "value": 3}], [1, 2, 3]),
        (
            {"a": [1.0]},
            [{"op": "test", "path": "/a/0", "value": 1.0}, {"op": "remove", "path": "/a"}],
            {},
        ),
    ],
)
def test_each_operation_does_what_it_says(document: Any, patch: Any, after: Any) -> None:
    """Of arrays, of objects, of the whole."""
    assert patched(document, json.dumps(patch)) == after


@pytest.mark.parametrize(
    ("document", "patch", "place"),
    [
        ({}, "{", ".patch"),
        ({}, "{}", ".patch"),
        ({}, '[{"op": "add", "path": "/a"}]', ".patch[0]"),
        ({}, '[{"op": "copy", "from": "/a", "path": "/b", "value": 1}]', ".patch[0]"),
        (
            {},
            '[{"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/b"}]',
            ".patch[1]",
        ),
        ({"a": 1}, '[{"op": "add", "path": "a", "value": 1}]', ".patch[0]"),
        ({"a": 1}, '[{"op": "add", "path": "/a/b", "value": 1}]', ".patch[0]"),
        ({"a": 1}, '[{"op": "test", "path": "/a", "value": true}]', ".patch[0]"),
        ([1], '[{"op": "remove", "path": "/1"}]', ".patch[0]"),
        ([1], '[{"op": "remove", "path": "/-"}]', ".patch[0]"),
        ([1], '[{"op": "remove", "path": "/00"}]', ".patch[0]"),
        ([1], '[{"op": "add", "path": "/2", "value": 1}]', ".patch[0]"),
        (ABSENT, '[{"op": "remove", "path": ""}]', ".patch[0]"),
        (ABSENT, "[]", ".patch"),
        ({}, '[{"op": "remove", "path": ""}]', ".patch"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(document: Any, patch: str, place: str) -> None:
    """All of a patch or none of it, and in words."""
    with pytest.raises(InvalidDataError) as refused:
        patched(document, patch)
    assert refused.value.path == place
