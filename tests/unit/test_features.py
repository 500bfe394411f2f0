"""The statements in FEATURES.md are true."""

from __future__ import annotations

import re

import numpy as np
import pytest

import py_tensor as pt
from py_tensor.tools.hints import FUNCTIONS, METHODS, PARTLY
from web.build import features

TEXT = features.TARGET.read_text("utf-8")
VERSION = re.findall(r"public names of NumPy ([\d.]+),", TEXT)
GROUPS = {group.title: group for group in features.groups()}


def listed(title: str) -> dict[str, set[str]]:
    """Return the names of a group by their support according to the file."""
    _, _, rest = TEXT.partition(f"\n## {title}\n")
    section, _, _ = rest.partition("\n## ")
    parts = re.split(r"^\*\*(Yes|Partly|No) \(\d+\):\*\*", section, flags=re.MULTILINE)
    return {
        kind: set(re.findall(r"`(\w+)`", re.sub(r"\|[^|]*\|$", "|", body, flags=re.MULTILINE)))
        for kind, body in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_it_is_not_stale() -> None:
    """A NumPy with other names is skipped; only the tests below apply to it."""
    (version,) = VERSION
    if np.__version__ == version:
        assert features.page() == TEXT, "run `npm run features`"


@pytest.mark.parametrize("title", GROUPS)
def test_names_listed_as_supported_exist(title: str) -> None:
    group = GROUPS[title]
    said = listed(title)
    there = {*dir(group.ours)}
    assert said["Yes"] | said.get("Partly", set()) <= there
    assert not said.get("No", set()) & there
    assert len(said["Yes"]) > 3


def test_every_name_has_its_row() -> None:
    """No name of the installed NumPy is left out."""
    for group in GROUPS.values():
        assert [row.key for row in group.rows()] == sorted(group.names, key=str.lower)
    main = {*GROUPS["Functions and constants"].names}
    main |= {*GROUPS["Dtypes"].names, *GROUPS["Modules"].names}
    public = {name for name in dir(np) if not name.startswith("_")}
    assert public - main <= features.OF_A_PLATFORM


def test_the_hints_and_the_file_say_the_same() -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(pt, "ctypeslib")  # noqa: B009 - type checkers know that it does not exist
    said = str(caught.value).partition("; ")[2]
    assert said == FUNCTIONS["ctypeslib"]
    assert f"| `ctypeslib` | {said} |" in TEXT
    assert METHODS["ctypes"] in TEXT


def test_partly_supported_names_exist() -> None:
    there = {group.prefix + name for group in GROUPS.values() for name in dir(group.ours)}
    assert PARTLY.keys() <= there


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        (lambda a, axis=None: 0, lambda x, axis=None: 0, []),
        (lambda a, axis=None, *, weights=None: 0, lambda x, axis=None: 0, ["weights"]),
        (lambda a, b: 0, lambda x, y: 0, []),
        (lambda a, *args, out=None, **kw: 0, lambda x, out=None: 0, []),
        (lambda a, out=None: 0, lambda x, **options: 0, []),
    ],
)
def test_what_is_not_taken(theirs: object, ours: object, expected: list[str]) -> None:
    assert features.not_taken(theirs, ours) == expected
