"""A run of the benchmarks: selects and orders cases and contenders, shows and saves the results."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import platform
import statistics
import sys
from collections.abc import Iterator
from typing import Any

from tests.browser.app import BootError
from tests.environment import SetupError
from tests.perf.bench import cases, measure, pytorch, report
from tests.perf.bench.contender import Contender
from tests.perf.bench.in_browser import PEERS, BenchPage, PageError, Peer, PyTensor
from tests.perf.bench.native import Native, absence


def run(options: argparse.Namespace) -> int:
    """Run the command line; return the exit code: 0 if py_tensor had no wrong case."""
    known = cases.suites(cases.HARDWARE)
    unknown = [name for name in options.suite or [] if name not in known]
    if unknown:
        print(f"no suite {unknown[0]!r}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    if options.list:
        _list()
        return 0
    if options.native and (why := absence()) is not None:
        print(why, file=sys.stderr)
        return 1
    try:
        page = BenchPage(tuple(PEERS) if options.peers else ())
    except (BootError, SetupError, PageError) as error:
        print(error, file=sys.stderr)
        return 1
    with contextlib.closing(page):
        return _run(page, options)


def _list() -> None:
    hardware, software = (cases.suites(scale) for scale in (cases.HARDWARE, cases.SOFTWARE))
    for name in hardware:
        print(name, "(the page's; only when named)" if name in cases.PANEL else "")
        labels = [case.label for case in hardware[name]]
        smaller = [case.label for case in software[name] if case.label not in labels]
        for label in labels:
            print(f"    {label}")
        if smaller:
            print("    on a software adapter:", "; ".join(smaller))


def _run(page: BenchPage, options: argparse.Namespace) -> int:
    contenders: list[Contender] = [PyTensor(page)]
    if options.native:
        contenders.append(Native())
    if options.peers:
        contenders += [Peer(page, name) for name in PEERS]
    if (torch := pytorch.find()) is not None:
        contenders.append(torch)
    effort = measure.ON_SOFTWARE if page.is_software else measure.ON_HARDWARE
    if options.rounds is not None:
        effort = dataclasses.replace(effort, rounds=options.rounds)
    chosen = list(_chosen(options, page))
    if not chosen:
        print("no case fits", file=sys.stderr)
        return 2

    record = _describe(page, contenders, effort)
    record["probes"] = _probe(page, {})
    results: list[dict[str, Any]] = []
    record["results"] = results
    _show_head(record)
    table = report.Table([contender.name for contender in contenders])
    suite = None
    try:
        for name, case in chosen:
            if name != suite:
                suite = name
                print(f"\n{name}\n{table.head()}", flush=True)
            outcomes = measure.measure(case, contenders, effort, page.mend)
            page.served.clear()
            results.append(report.result(name, case, outcomes, record["probes"]))
            print("\n".join([table.row(results[-1]), *table.notes(results[-1])]), flush=True)
        record["probes"] = _probe(page, record["probes"])
    finally:  # after an interrupt too, save the results so far
        if options.json is not None:
            options.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
            print(f"\n{options.json}")
    ours = [entry["contenders"][report.OURS]["status"] for entry in results]
    return int(any(status in ("wrong", "failed") for status in ours))


def _chosen(options: argparse.Namespace, page: BenchPage) -> Iterator[tuple[str, cases.Case]]:
    scale = cases.SOFTWARE if page.is_software else cases.HARDWARE
    suites = cases.suites(scale)
    names = options.suite or [name for name in suites if name not in cases.PANEL]
    for name in names:
        for case in suites[name]:
            if options.case is None or any(text in case.label for text in options.case):
                yield name, case


def _describe(
    page: BenchPage, contenders: list[Contender], effort: measure.Effort
) -> dict[str, Any]:
    return {
        "schema": report.SCHEMA,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": sys.argv[1:],
        "machine": {
            "platform": platform.platform(),
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
        },
        "browser": page.browser,
        "adapter": page.info["adapter"],
        "software": page.is_software,
        "versions": {contender.name: contender.version for contender in contenders},
        "effort": dataclasses.asdict(effort),
    }


def _probe(page: BenchPage, before: dict[str, Any]) -> dict[str, Any]:
    """Run the probes; their samples join those of `before`."""
    function = """async (options) => {
      const probes = await import(new URL("sources/worker/peers/probes.js", location.href).href);
      return await probes.probeLimits(options);
    }"""
    probes = page.javascript(function, {"software": page.is_software})
    if "problem" in probes:
        raise PageError(probes["problem"])
    for name, probe in probes.items():
        probe["seconds"] = before.get(name, {}).get("seconds", []) + probe["seconds"]
        if "work" in probe:
            probe["rate"] = probe["work"] / statistics.median(probe["seconds"]) / 1e9
    return probes


def _show_head(record: dict[str, Any]) -> None:
    adapter = record["adapter"] or {}
    words = [
        str(adapter[key]) for key in ("vendor", "architecture", "description") if adapter.get(key)
    ]
    print(f"{' '.join(words)}, Chromium {record['browser']}")
    print(", ".join(f"{name} {version}" for name, version in record["versions"].items()))
    copy, multiply_add = (record["probes"][name] for name in ("copy", "multiplyAdd"))
    print(f"copy {copy['rate']:.4g} GB/s, multiply-add {multiply_add['rate']:.4g} GFLOP/s")
    one, hundred = (
        report.duration(statistics.median(record["probes"][name]["seconds"]))
        for name in ("readOfOne", "readOfHundred")
    )
    print(f"JavaScript alone reads the result of one small dispatch in {one}, of 100 in {hundred}")
