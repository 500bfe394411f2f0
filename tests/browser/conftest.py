"""Fixtures of the tests that drive the page. See app.py for their types."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.app import EXPECT_SECONDS, AppPage, AppSession, Logged
from tests.browser.editor import Editor
from tests.browser.repl import Repl
from tests.browser.sharing import app_session, shared_app
from tests.browser.test_sessions import Visits
from tests.browser.visitor import Regular

expect.set_options(timeout=EXPECT_SECONDS * 1000)

LOADING = {"fresh_page", "visits", "guest", "kept", "served", "host", "visitor", "separate_visitor"}
"""The fixtures that load the page for one test: it takes seconds of CPU time, so it is `costly`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("py_tensor").addoption(
        "--costly",
        type=int,
        default=1,
        metavar="N",
        help="of the tests marked `costly`, and those that load the page, runs a random Nth",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "costly: a random part of these tests runs, see --costly")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    costly = [
        item
        for item in items
        if item.get_closest_marker("costly")
        or LOADING.intersection(getattr(item, "fixturenames", ()))
    ]
    omitted = set(random.sample(costly, len(costly) - len(costly) // config.option.costly))
    config.hook.pytest_deselected(items=list(omitted))
    items[:] = [item for item in items if item not in omitted]


class Console:
    """The log of the shared page since the test began."""

    def __init__(self, app: AppPage) -> None:
        app.settle()
        self._app = app
        self._start = len(app.logged)

    @property
    def messages(self) -> list[Logged]:
        """Every line, in order."""
        self._app.settle()
        return self._app.logged[self._start :]

    @property
    def problems(self) -> list[Logged]:
        """The warnings, errors and uncaught exceptions."""
        return [line for line in self.messages if line.kind in ("warning", "error", "pageerror")]


@pytest.fixture(scope="session")
def app(request: pytest.FixtureRequest) -> AppPage:
    """The booted page shared by the run; its `info` is the result of `pyTensor.ready`."""
    return shared_app(request.config)


@pytest.fixture(scope="session")
def session(request: pytest.FixtureRequest) -> AppSession:
    return app_session(request.config)


@pytest.fixture(scope="session")
def server(session: AppSession) -> str:
    """The address of the served page."""
    return session.url


@pytest.fixture(scope="session")
def browser(session: AppSession) -> Browser:
    return session.browser()


@pytest.fixture(scope="session")
def page(app: AppPage) -> Page:
    return app.page


@pytest.fixture(scope="session")
def run(app: AppPage) -> Callable[[str], dict[str, Any]]:
    """Run Python in the shared worker: `run(code)` returns the dict of `pyTensor.run(code)`."""
    return app.run


@pytest.fixture
def console(app: AppPage) -> Console:
    return Console(app)


@pytest.fixture(scope="session")
def regular(session: AppSession) -> Iterator[Callable[[bool], Regular]]:
    """The regular visitor of the run's browser, or of the one with WebGPU on canvases."""
    visitors: dict[bool, Regular] = {}

    def visitor(canvas: bool) -> Regular:
        if canvas not in visitors:
            visitors[canvas] = Regular(session, canvas=canvas)
        return visitors[canvas]

    yield visitor
    for made in visitors.values():
        made.close()


@pytest.fixture
def repl(page: Page) -> Iterator[Repl]:
    page.locator("#tab-console").click()
    page.locator("#clear").click()
    repl = Repl(page)
    repl.input.fill("")  # also focuses it
    yield repl
    page.evaluate("pyTensor.interrupt()")


@pytest.fixture
def fresh_page(
    session: AppSession, regular: Callable[[bool], Regular]
) -> Iterator[Callable[..., AppPage]]:
    """Open new pages for one test, and close them after it.

    Takes the options of `Regular.open_page`, and `canvas`; with `first_visit=True` it takes those
    of `AppSession.open_page`, and the page starts with empty storage.
    """
    opened: list[Callable[[], None]] = []

    def open_page(*, first_visit: bool = False, canvas: bool = False, **options: Any) -> AppPage:
        if first_visit:
            app = session.open_page(canvas=canvas, **options)
            opened.append(app.close)
        else:
            app = regular(canvas).open_page(**options)
            opened.append(app.page.close)
        return app

    yield open_page
    for close in opened:
        close()


@pytest.fixture(scope="module")
def opened(session: AppSession) -> Iterator[Editor]:
    """The editor of a page that the tests of a module share."""
    app = session.open_page()
    yield Editor(app.page).open()
    app.close()


@pytest.fixture
def editor(opened: Editor) -> Editor:
    """The shared editor, as on a first visit: with main.py."""
    opened.start_again()
    return opened


@pytest.fixture
def visits(regular: Callable[[bool], Regular]) -> Iterator[Visits]:
    visitor = regular(False)
    yield Visits(visitor)
    visitor.leave()
