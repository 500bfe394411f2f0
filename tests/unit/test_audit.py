"""How the audit handles the registries' answers about vulnerabilities, and missing answers."""

from __future__ import annotations

import json
import re

import pytest

from tests import audit

NPM = {
    "auditReportVersion": 2,
    "vulnerabilities": {
        "deep": {
            "name": "deep",
            "severity": "high",
            "via": [{"title": "Prototype pollution", "url": "https://example.com/1"}],
        },
        "shallow": {"name": "shallow", "severity": "high", "via": ["deep"]},
    },
    "metadata": {"dependencies": {"total": 61}},
}
REFUSED = {"message": "405 Method Not Allowed", "statusCode": 405, "error": {}}
PYTHON = {
    "dependencies": [
        {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]},
        {"name": "b", "version": "2", "vulns": []},
        {"name": "c", "skip_reason": "Dependency not found"},
    ]
}


def test_known_vulnerabilities_fail(capsys: pytest.CaptureFixture[str]) -> None:
    npm, python = audit.of_npm(json.dumps(NPM)), audit.of_python(json.dumps(PYTHON))
    assert npm == audit.Found(
        61, ("deep (high): Prototype pollution (https://example.com/1)", "shallow (high): deep")
    )
    assert python == audit.Found(2, ("a 1: PYSEC-1, PYSEC-2",), "the index knows nothing of c")
    assert not audit.report("npm", npm)
    assert not audit.report("PyPI", python)
    assert "PYSEC-2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (json.dumps(REFUSED), "405 Method Not Allowed"),
        ("npm error audit endpoint\nnpm error: no network", "npm error: no network"),
        ("[]", "[]"),
        ("", "no answer"),
    ],
)
def test_a_missing_answer_is_reported_but_does_not_fail(
    capsys: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    found = audit.of_npm(text)
    assert found == audit.Found(unchecked=reason)
    assert audit.report("npm", found)
    assert audit.report("PyPI", audit.of_python(text))
    assert f"not checked: {reason}" in capsys.readouterr().out


def test_a_tool_that_is_not_there_is_no_answer() -> None:
    assert audit.of_npm(audit.call(["no-such-tool"])).unchecked


def test_python_packages_are_pinned() -> None:
    packages = audit.python_packages()
    names = [package.partition("==")[0] for package in packages]
    assert {"hatchling", "micropip", "numpy"} <= set(names)
    assert all(re.fullmatch(r"[\w.-]+==\d[\w.]*", package) for package in packages)
