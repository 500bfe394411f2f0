"""The browser's storage is damaged at random: the page still works, and reports losses."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.app import AppPage, AppSession
from tests.browser.test_sessions import wait_until_written
from tests.browser.visitor import Regular

OpenPage = Callable[..., AppPage]

COMPUTE = "(pt.arange(16) * 2).sum().item()"
ROUNDS = 2

# draw() is the Park-Miller generator: the damage is determined by its seed.
DAMAGE = """async (seed) => {
  let state = seed;
  const draw = (n) => { state = (state * 48271) % 2147483647; return state % n; };
  const others = [null, undefined, 42, "", "text", [], {}, [null], true, new Uint8Array(3)];
  const damaged = (value) => {
    if (typeof value === "string") {
      const at = draw(value.length + 1);
      const [before, after] = [value.slice(0, at), value.slice(at + 1)];
      return [before, "", `${before}\\u0000${after}`][draw(3)];
    }
    if (value instanceof Uint8Array || value instanceof ArrayBuffer) {
      const bytes = new Uint8Array(value.slice(0));
      if (bytes.length === 0) return null;
      const at = draw(bytes.length);
      bytes[at] ^= 1 << draw(8);
      const changed = [bytes, bytes.slice(0, at), new Uint8Array()][draw(3)];
      return value instanceof ArrayBuffer ? changed.buffer : changed;
    }
    const keys = typeof value === "object" && value ? Object.keys(value) : [];
    if (keys.length === 0 || draw(4) === 0) return others[draw(others.length)];
    const key = keys[draw(keys.length)];
    return Object.assign(Array.isArray(value) ? [...value] : { ...value }, {
      [key]: damaged(value[key]),
    });
  };
  const of = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const touched = [];
  for (const key of Object.keys(localStorage)) {
    const text = localStorage.getItem(key);
    localStorage.setItem(key, draw(2) ? damaged(text) : JSON.stringify(others[draw(9)]) ?? "");
    touched.push(`localStorage ${key}`);
  }
  for (const { name } of await indexedDB.databases()) {
    const database = await of(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      const keys = await of(database.transaction(store).objectStore(store).getAllKeys());
      for (const key of keys) {
        const value = await of(database.transaction(store).objectStore(store).get(key));
        const writing = database.transaction(store, "readwrite").objectStore(store);
        await of(writing.put(damaged(value), key));
        touched.push(`${name} ${JSON.stringify(key)}`);
      }
    }
    database.close();
  }
  const root = await navigator.storage.getDirectory();
  for await (const [name, handle] of root.entries()) {
    if (handle.kind !== "file") continue;
    const writable = await handle.createWritable();
    await writable.write(damaged(new Uint8Array(await (await handle.getFile()).arrayBuffer())));
    await writable.close();
    touched.push(`file ${name}`);
  }
  return touched;
}"""

KEEP_MORE = """async () => {
  const keep = (database, store, value, key) => new Promise((resolve, reject) => {
    const request = indexedDB.open(database, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(store);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const transaction = request.result.transaction(store, "readwrite");
      transaction.objectStore(store).put(value, key);
      transaction.oncomplete = () => { request.result.close(); resolve(); };
    };
  });
  await keep("py_tensor benchmark runs", "runs", '{"id": "a", "run": {"date": "2026"}}', "a");
  await keep("py_tensor choices", "adapters", { build: "", browser: "", text: "{}" }, "adapter");
  localStorage.setItem("py_tensor.benchmarks", '{"rounds": 3}');
}"""


@pytest.fixture
def visitor(fresh_page: OpenPage) -> AppPage:
    return fresh_page()


@pytest.fixture
def separate_visitor(session: AppSession) -> Iterator[AppPage]:
    """A returning visitor of this test only, because its snapshot will be damaged."""
    regular = Regular(session)
    yield regular.open_page()
    regular.close()


def type_in(app: AppPage, code: str) -> None:
    prompt = app.page.locator("#prompt .cm-content, .cm-content").first
    prompt.click()
    app.page.keyboard.type(code)
    app.page.keyboard.press("Enter")


def test_damage_to_every_store(separate_visitor: AppPage) -> None:
    app, url = separate_visitor, separate_visitor.page.url
    assert app.info["boot"] == "snapshot"
    seed = random.randrange(1, 2**31 - 1)
    for round_ in range(ROUNDS):
        type_in(app, f"{round_} + 40")
        expect(app.page.locator("#transcript .entry").last).to_contain_text(f"{round_ + 40}")
        app.page.evaluate(KEEP_MORE)
        wait_until_written(app.page, f"{round_} + 40")
        touched = app.page.evaluate(DAMAGE, seed + round_)
        said = f"seed {seed + round_}: {touched}"
        assert len(touched) >= 5, said
        assert round_ > 0 or any("py_tensor boot" in name for name in touched), said
        app.boot(url)
        assert app.run(COMPUTE)["result"] == "240", said
        problems = [str(line) for line in app.logged if line.kind not in ("log", "info")]
        assert problems == [], said
        app.page.locator("#tab-benchmarks").click()
        expect(app.page.locator("#panel-benchmarks")).to_contain_text("Saved runs")
        app.page.locator("#tab-console").click()


def test_a_damaged_history_is_reported(visitor: AppPage) -> None:
    app, url = visitor, visitor.page.url
    for text in ('["1 + 1", 3]', '["1 + 1"', "null", "42"):
        app.page.evaluate("text => localStorage.setItem('py_tensor.history', text)", text)
        app.page.goto(url)  # the note does not wait for Python
        note = app.page.locator("#transcript").get_by_text("The saved input history was damaged.")
        expect(note).to_be_visible()
        app.page.evaluate("localStorage.setItem('py_tensor.history', '[]')")


def test_damaged_runs_are_reported_and_removed(visitor: AppPage) -> None:
    app, url = visitor, visitor.page.url
    app.page.evaluate(KEEP_MORE.replace('"run":', '"no run":'))
    for said in (True, False):
        app.boot(url)
        app.page.locator("#tab-benchmarks").click()
        panel = app.page.locator("#panel-benchmarks")
        expect(panel).to_contain_text("Saved runs")
        lost = panel.get_by_text("1 damaged in this browser’s storage and removed.")
        expect(lost).to_have_count(int(said))
    app.page.locator("#tab-console").click()
