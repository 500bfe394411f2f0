"""A visitor who opens the page more than once: one browser profile with its storage."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playwright.sync_api import BrowserContext, Route, ViewportSize

from tests.browser.app import AppPage, AppSession, BootError

Routes = Mapping[str, Callable[[Route], Any]]

KEPT_SECONDS = 120  # a quiet machine takes five

_IN_STORE = """async ([mode, work]) => {
  const database = await new Promise((resolve, reject) => {
    const request = indexedDB.open("py_tensor boot", 1);
    request.onupgradeneeded = () => request.result.createObjectStore("snapshots");
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const act = (0, eval)(work);
  const store = database.transaction("snapshots", mode).objectStore("snapshots");
  const of = (request) => new Promise((resolve) => {
    request.onsuccess = () => resolve(request.result);
  });
  try {
    return await act(store, of);
  } finally {
    database.close();
  }
}"""


_FORGET = """async () => {
  localStorage.clear();
  for (const { name } of await indexedDB.databases()) {
    if (name !== "py_tensor boot") indexedDB.deleteDatabase(name);
  }
}"""


class Visitor:
    """One profile of the shared browser.

    Its snapshot records are accessed from a blank page of the same origin, which stores a good one
    for `put_back` in `window.good`.
    """

    def __init__(self, session: AppSession, *, canvas: bool = False) -> None:
        self.url = session.url
        first = session.open_page(canvas=canvas, boot=False)
        self._context: BrowserContext = first.page.context
        # Served without the policy, so that tests can evaluate code there to access the store.
        self._context.route("**/blank", lambda route: route.fulfill(body=""))
        self._replaced: list[str] = []
        self._blank = first.page
        self._blank.goto(self.url + "blank")

    def close(self) -> None:
        self._context.close()

    def open(self, routes: Routes | None = None) -> AppPage:
        """Return a new page that has not booted."""
        for pattern, handler in (routes or {}).items():
            self._context.route(pattern, handler)
            self._replaced.append(pattern)
        return AppPage(self._context.new_page())

    def visit(self, routes: Routes | None = None) -> AppPage:
        """Return a new page, booted."""
        app = self.open(routes)
        app.boot(self.url)
        return app

    def leave(self) -> None:
        """Close every page of the app, and remove the routes that replace files."""
        for page in self._context.pages:
            if page is not self._blank:
                page.close()
        self.unroute()

    def unroute(self) -> None:
        """Remove the routes that replace files."""
        for pattern in self._replaced:
            self._context.unroute(pattern)
        self._replaced.clear()

    def kept(self) -> list[dict[str, Any]]:
        """Return the key of each record, whether it is a snapshot, and otherwise the reason."""
        return self._store(
            "readonly",
            """async (store, of) => {
              const asked = [of(store.getAllKeys()), of(store.getAll())];
              const [keys, records] = await Promise.all(asked);
              return records.map((record, i) => (
                {key: keys[i], snapshot: "memory" in record, unusable: record.unusable ?? null}));
            }""",
        )

    def wait_until_kept(self) -> list[dict[str, Any]]:
        deadline = time.monotonic() + KEPT_SECONDS
        while not any(record["snapshot"] for record in self.kept()):
            assert time.monotonic() < deadline, "no snapshot was left"
            self._blank.wait_for_timeout(200)
        return self.kept()

    def remember(self) -> None:
        """Remember the stored snapshot for `put_back`."""
        self._store(
            "readonly",
            """async (store, of) => {
              const asked = [of(store.getAllKeys()), of(store.getAll())];
              const [keys, records] = await Promise.all(asked);
              window.good = {key: keys[0], record: records[0]};
            }""",
        )

    def put_back(self, change: str = "(record) => record") -> None:
        """Store only the good snapshot, after a change (JavaScript, may be async)."""
        self._blank.evaluate(
            f"async () => {{ window.changed = await ({change})(window.good.record); }}"
        )
        self._store(
            "readwrite",
            """async (store, of) => {
              store.clear();
              await of(store.put(window.changed, window.good.key));
            }""",
        )

    def clear(self) -> None:
        """Delete all records."""
        self._store("readwrite", "async (store, of) => { await of(store.clear()); }")

    def _store(self, mode: str, work: str) -> Any:
        return self._blank.evaluate(_IN_STORE, [mode, work])


class Regular(Visitor):
    """A returning visitor: the snapshot is stored, so that Python starts quickly.

    Each page starts with nothing else stored, unless another is open.
    """

    def __init__(self, session: AppSession, *, canvas: bool = False) -> None:
        super().__init__(session, canvas=canvas)
        self.visit()
        self.wait_until_kept()
        self.leave()

    def open_page(
        self,
        *,
        routes: Routes | None = None,
        permissions: Sequence[str] = (),
        viewport: ViewportSize | None = None,
        path: str = "",
        boot: bool = True,
    ) -> AppPage:
        """Like `AppSession.open_page`; the caller may close the page."""
        if self._context.pages == [self._blank]:
            self._context.clear_permissions()
            self._blank.evaluate(_FORGET)
        if permissions:
            self._context.grant_permissions(permissions, origin=self.url)
        app = AppPage(self._context.new_page())
        if viewport:
            app.page.set_viewport_size(viewport)
        for pattern, handler in (routes or {}).items():
            app.page.route(pattern, handler)
        if boot:
            try:
                app.boot(self.url + path)
            except BootError:
                app.page.close()
                raise
        return app
