"""`pt.tune` on the adapter of the tests, and its choices in the browser's storage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from py_tensor.tools.tuning import OUT_OF_TIME
from tests.browser.app import AppPage, AppSession

pytestmark = pytest.mark.alone

SECONDS = 2  # for all parameters; measurements already started are completed
TUNE = f"""
import json, time
begin = time.perf_counter()
found = pt.tune(seconds={SECONDS})
print(json.dumps([time.perf_counter() - begin, json.loads(found.to_json())]))
found.table(80)
"""

# Exact in float32, so every bit is right or the result is wrong.
RESULTS = """
x, y = pt.arange(3 * 70.0).reshape(3, 70) % 7, pt.arange(70 * 5.0).reshape(70, 5) % 11
[x.sum().item(), x.sum(0).sum().item(), (x @ y).sum().item(), (x * 2 + 1).max().item()]
"""

IN_STORE = """async ([change]) => {
  const { choiceStore } = await import("/sources/worker/boot/choices.js");
  await choiceStore.keep("adapter", "text");
  const good = await choiceStore.find("adapter");
  const opened = indexedDB.open("py_tensor choices", 1);
  await new Promise((resolve) => { opened.onsuccess = resolve; });
  const of = (request) => new Promise((resolve) => {
    request.onsuccess = () => resolve(request.result);
  });
  const store = opened.result.transaction("adapters", "readwrite").objectStore("adapters");
  const record = await of(store.get("adapter"));
  await of(store.put((0, eval)(change)(record), "adapter"));
  opened.result.close();
  const changed = await choiceStore.find("adapter");
  await choiceStore.keep("adapter", "");
  return [good, changed, await choiceStore.find("adapter"), await choiceStore.find("another")];
}"""


INTERRUPTED = """async () => {
  const run = pyTensor.run("pt.tune()");
  await new Promise((resolve) => setTimeout(resolve, 300));
  pyTensor.interrupt();
  return await run;
}"""


@pytest.fixture(scope="module")
def app(session: AppSession) -> Iterator[AppPage]:
    """A separate page, so that the tuning affects no other test."""
    app = session.open_page()
    yield app
    app.close()


@pytest.fixture(scope="module")
def visited(app: AppPage) -> tuple[AppPage, float, dict[str, Any], str]:
    """The page after `pt.tune`: the seconds it took, the record, and the table."""
    done = app.run(TUNE)
    assert done["ok"], done["error"]
    seconds, record = json.loads(done["stdout"])
    return app, seconds, record, done["result"]


def test_an_interrupt_changes_nothing(app: AppPage) -> None:
    done = app.page.evaluate(INTERRUPTED)
    assert "KeyboardInterrupt" in done["error"]
    assert app.run("pt.device_info()['tuned'], pt.tuning().when")["result"] == "(False, None)"
    assert app.run(RESULTS)["result"] == "[630.0, 630.0, 15549.0, 13.0]"


def test_it_ends_and_results_stay_right(visited: Any) -> None:
    app, seconds, record, table = visited
    assert seconds < SECONDS + 12  # it waits for a compilation in progress, on a busy machine
    for attempts in record["attempts"].values():
        verdicts = {attempt["verdict"] for attempt in attempts}
        assert len(verdicts & {"default", "chosen"}) == (verdicts != {OUT_OF_TIME})
        assert not any("wrong" in verdict or "failed" in verdict for verdict in verdicts)
    parameters = json.loads(
        app.run("import json; print(json.dumps(pt.device_info()['choices']))")["stdout"]
    )
    assert record["attempts"].keys() == parameters.keys()
    assert set(record["choices"]) <= set(record["attempts"])
    assert "kept" in table
    assert app.run(RESULTS)["result"] == "[630.0, 630.0, 15549.0, 13.0]"


def test_it_is_kept_over_a_reload(visited: Any, session: AppSession) -> None:
    app, _, record, _ = visited
    app.boot(session.url)
    assert app.run("pt.tuning().to_json()")["result"] == repr(json.dumps(record, indent=1))
    assert app.run("pt.device_info()['tuned']")["result"] == "True"
    chosen = app.run("import json; print(json.dumps(pt.device_info()['choices']))")
    assert json.loads(chosen["stdout"]).items() >= record["choices"].items()
    assert app.run(RESULTS)["result"] == "[630.0, 630.0, 15549.0, 13.0]"


@pytest.fixture(scope="module")
def blank(session: AppSession) -> Iterator[Page]:
    """A page of the same origin without the app and its security policy."""
    page = session.open_page(boot=False).page
    page.route("**/blank", lambda route: route.fulfill(body=""))
    page.goto(session.url + "blank")
    yield page
    page.context.close()


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("(good) => good", "text"),
        ("(good) => 'nonsense'", None),
        ("(good) => null", None),
        ("(good) => ({ ...good, text: 5 })", None),
        ("(good) => ({ ...good, build: 'of yesterday' })", None),
        ("(good) => ({ ...good, browser: 'another one' })", None),
    ],
)
def test_the_record_in_the_browser(blank: Page, change: str, found: str | None) -> None:
    assert blank.evaluate(IN_STORE, [change]) == ["text", found, None, None]


def test_a_storage_that_does_not_answer(blank: Page) -> None:
    outcomes = blank.evaluate("""async () => {
      const { choiceStore } = await import("/sources/worker/boot/choices.js");
      const open = IDBFactory.prototype.open;
      const outcome = (promise) => promise.then(() => "found", (error) => error.message);
      IDBFactory.prototype.open = () => ({});
      const late = await outcome(choiceStore.find("adapter"));
      IDBFactory.prototype.open = () => { throw new Error("refused"); };
      const refused = [choiceStore.find("adapter"), choiceStore.keep("adapter", "text")];
      const both = await Promise.all(refused.map(outcome));
      IDBFactory.prototype.open = open;
      return [late, ...both];
    }""")
    none = "the browser stores no data for this page (private window or settings)"
    assert outcomes == ["the browser’s storage does not respond", none, none]
