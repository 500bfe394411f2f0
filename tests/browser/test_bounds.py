"""Texts and lists of programs are bounded where they enter the page, so that it never freezes.

Without its bound each of these inputs keeps the main thread busy for 5 s to 170 s, or shows
nothing; with it, for less than `BUSY` seconds of its CPU time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app import AppPage
from tests.browser.editor import Editor, cells_of, downloaded, drop, notebook, wait_for
from tests.browser.repl import Repl, paste

pytestmark = [pytest.mark.alone, pytest.mark.costly]

BUSY = 4  # seconds

SETTLED = """() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(
  () => setTimeout(resolve, 50))))"""


def busy(page: Page, act: Callable[[], object]) -> float:
    """Return for how many seconds of its CPU time the main thread was busy; the load is no part."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    before = spent()
    act()
    page.evaluate(SETTLED)
    seconds = spent() - before
    devtools.detach()
    return seconds


@pytest.fixture(autouse=True)
def without_history(page: Page) -> Iterator[None]:
    yield
    page.evaluate("localStorage.removeItem('py_tensor.history')")


HTML = """class Foreign:
    def __init__(self, html): self._repr_html_ = lambda: html
    def _repr_html_(self): ...
class Svg:
    def __init__(self, svg): self.svg = svg
    def _repr_svg_(self): return f'<svg xmlns="http://www.w3.org/2000/svg">{self.svg}</svg>'
def nested(tag, by):
    def two(i): return f'<g {by.format(i)}><rect width="9" height="9"/></g>' * 2
    parts = (f'<{tag} id="a{i}">{two(i - 1)}</{tag}>' for i in range(1, 26))
    return f'<{tag} id="a0"><rect/></{tag}>' + ''.join(parts) + two(25)
def uses(use):
    groups = (f'<g id="a{i + 1}">' + use.format(i) * 10 + '</g>' for i in range(9))
    return '<g id="a0"><rect/></g>' + ''.join(groups)
"""
TEXT = """class Text:
    def __init__(self, text): self.text = text
    def __repr__(self): return self.text
"""
RTL = r"'\u202e\u05d0b'"

PRINTED = {
    "streams": (
        "import sys\nfor i in range(100_000): print(i, file=(sys.stdout, sys.stderr)[i % 2])",
        "not kept",
    ),
    "styles": (r"print(''.join(f'\x1b[{31 + i % 6}mx' for i in range(100_000)))", "not kept"),
    "combining marks": (r"print('e' + '\u0301' * 1_000_000)", "not kept"),
    "right-to-left": (f"print({RTL} * 200_000)", "not kept"),
    "a sequence": (r"print('\x1b[' + '1;' * 500_000 + 'm')", "not kept"),
}

RESULTS = {
    "combining marks": (r"Text('\u05b0' * 200_000)", "100,000 more characters"),
    "html tags": ("Foreign('<b>' * 100_000)", "more characters of HTML are not shown."),
    "html list": ("Foreign('<ul>' + '<li>x' * 300_000)", "more characters of HTML"),
    "html attributes": (
        "Foreign('<p ' + ' '.join(f'a{i}' for i in range(200_000)) + '>x')",
        "more characters of HTML",
    ),
    "html depth": ("Foreign('<div>' * 100_000)", "more characters of HTML are not shown."),
    "html wrong ends": (
        "Foreign('<b>' * 20_000 + '</i>' * 20_000)",
        "nested more than 200 levels",
    ),
    "html in a drawing": ("Foreign('<svg>' + '<g>' * 100_000)", "more characters of HTML"),
    "html names": ("Foreign('<constructor>x<toString>y')", "xy"),
    "html text": (f"Foreign('<p>' + {RTL} * 90_000)", "more characters of HTML"),
    "html spans": ("Foreign('<table>' + '<tr><td colspan=1000 rowspan=60000>x' * 1000)", "x"),
    "html closed formats": (
        "Foreign(''.join(f'<b a{i}>' for i in range(4000)) + '<div>x</div>' * 4000)",
        "nested more than 200 levels",
    ),
    "svg uses": ("Svg(uses('<use href=\"#a{}\"/>'))", "This SVG is not shown"),
    "svg uses after a sign": (
        'Svg(uses(\'<use class=">" href="#a{}"/>\'))',
        "This SVG is not shown",
    ),
    "svg uses by a reference": ("Svg(uses('<use href=\"&#35;a{}\"/>'))", "This SVG is not shown"),
    "svg ids with a reference": (
        "Svg(uses('<use href=\"#a{}\"/>').replace('id=\"a', 'id=\"&#97;'))",
        "This SVG is not shown",
    ),
    "svg masks": ("Svg(nested('mask', 'mask=\"url(#a{})\"'))", "This SVG is not shown"),
    "svg clips": (
        "Svg(nested('clipPath', 'style=\"clip-path: url(#a{})\"'))",
        "This SVG is not shown",
    ),
    "svg markers": (
        "Svg(''.join(f'<marker id=\"a{i}\"><path d=\"M0 0' + ' 1 1' * 60 + f'\" marker-mid="
        '"url(#a{i - 1})"/></marker>\' for i in range(1, 9)) + \'<path d="M0 0 1 1 2 2" \''
        " 'marker-mid=\"url(#a8)\"/>')",
        "This SVG is not shown",
    ),
    "svg filters": (
        "Svg('<filter id=\"f\">' + '<feMorphology radius=\"9\"/><feGaussianBlur/>' * 300"
        " + '</filter><rect filter=\"url(#f)\"/>')",
        "This SVG is not shown",
    ),
    "svg style": (
        "Svg('<style>* { filter: blur(300px) }</style>' + '<g><rect/></g>' * 2000)",
        "This SVG is not shown",
    ),
    "svg tag": ("Svg('<' + 'a' * 100_000 + '<rect/>' * 30_000)", "This SVG is not shown"),
    "svg elements": ("Svg('<rect/>' * 400_000)", "This SVG is not shown"),
    "svg text": (f"Svg('<text>' + {RTL} * 60_000 + '</text>')", "This SVG is not shown"),
    "display": ("pt.display(Text('x ' * 5_000_000))", "9,900,000 more characters"),
    "label": ("pt.plot([1, 2], label='x' * 20_000)", "x…"),
    "title": ("pt.plot([1, 2], title='word ' * 20_000)", "99,500 more characters"),
    "contour": ("pt.contour(pt.random.rand(128, 128), levels=50)", "Lines are drawn at 1 in"),
    "choice": ("pt.ui.choice([str(i) for i in range(100_000)])", "98,000 more options are not"),
    "controls": (
        "pt.ui.interact(lambda **k: None, **{f'a{i}': pt.ui.slider(0, 1) for i in range(2000)})",
        "1,800 more controls are not shown.",
    ),
    "displays": ("for i in range(2000): pt.plot([i])\n", "1,700 more displays are not shown."),
    "large displays": (
        f"for i in range(60): pt.display(Text({RTL} * 60_000))",
        "because they are large",
    ),
    "large charts": (
        "for i in range(290): pt.scatter(pt.rand(5000), pt.rand(5000))\n",
        "more displays are not shown",
    ),
    "early displays": (
        "for i in range(301): pt.plot([i])\nprint('after')\n",
        "Only the first 300 displays of an input are shown.\nafter",
    ),
    "message": ("raise ValueError('x\\n' * 500_000)", "979,999 more characters"),
    "right-to-left message": (f"raise ValueError({RTL} * 30_000)", "70,000 more characters"),
}


class TestConsole:
    def run(self, repl: Repl, code: str) -> None:
        count = repl.entries.count()
        repl.input.fill(code)
        repl.press("Enter")
        expect(repl.entries).to_have_count(count + 1)
        expect(repl.page.locator("#transcript :is(.waiting, .running)")).to_have_count(0)

    @pytest.mark.parametrize("name", PRINTED)
    def test_printed(self, repl: Repl, name: str) -> None:
        code, said = PRINTED[name]
        assert busy(repl.page, lambda: self.run(repl, code)) < BUSY
        cut = repl.last(".printed > span").get_attribute("data-is-cut")
        assert said in (cut or "")

    @pytest.mark.parametrize("name", RESULTS)
    def test_shown(self, repl: Repl, app: AppPage, name: str) -> None:
        app.run(HTML + TEXT)
        code, said = RESULTS[name]
        assert busy(repl.page, lambda: self.run(repl, code)) < BUSY
        expect(repl.entries.last).to_contain_text(said)

    def test_the_chosen_option_is_shown(self, repl: Repl) -> None:
        self.run(repl, "kind = pt.ui.choice(list(range(100_000)), value=77_777); kind")
        chosen = repl.last("select")
        expect(chosen.locator("option")).to_have_count(2001)
        assert chosen.evaluate("(field) => field.selectedOptions[0].text") == "77777"
        expect(repl.entries.last).to_contain_text("97,999 more options are not shown.")
        chosen.select_option(label="5")
        wait_for(lambda: run_value(repl.page, "kind.value") == "5", repl.page)

    def test_help(self, repl: Repl, app: AppPage) -> None:
        app.run(
            "def tall(a): pass\ntall.__doc__ = 'Examples\\n--------\\n' + '>>> x = 1\\n' * 50_000"
        )
        assert busy(repl.page, lambda: self.run(repl, "tall?")) < BUSY
        expect(repl.page.locator(".help")).to_contain_text("more characters")
        repl.press("Escape")

    def test_many_inputs(self, repl: Repl) -> None:
        """A pasted session: storing the history at each input took 50 s."""
        repl.page.evaluate(
            "localStorage.setItem('py_tensor.history', JSON.stringify(['x'.repeat(400_000)]))"
        )
        text = "# " + "x" * 200_000 + "\n" + ">>> 1\n" * 100
        inputs = ">>> " + text.replace("\n", "\n>>> ", 1)

        def enter() -> None:
            paste(repl, inputs)
            repl.press("Enter")

        assert busy(repl.page, enter) < BUSY
        expect(repl.page.locator("#transcript :is(.waiting, .running)")).to_have_count(0)

    def test_a_long_input(self, repl: Repl, tmp_path: Path) -> None:
        """It is shown in part; the saved session has all of it."""
        lines = [f"x = {i}" for i in range(20_000)]

        def enter() -> None:
            paste(repl, "\n".join(lines))
            repl.press("Enter")

        assert busy(repl.page, enter) < BUSY
        expect(repl.entries.last).to_contain_text("more characters")
        expect(repl.last(".source .line")).to_have_count(1000)

    def test_what_is_no_request_for_help(self, repl: Repl) -> None:
        def enter() -> None:
            paste(repl, "a? " * 50_000)
            repl.press("Enter")

        assert busy(repl.page, enter) < BUSY


def run_value(page: Page, code: str) -> str:
    return page.evaluate("async (code) => (await pyTensor.run(code)).result", code)


SAME = """async (all) => {
  const { sanitized } = await import("./sources/page/display/sanitize.js");
  return all.map((html) => {
    const ours = document.createElement("div");
    ours.append(sanitized(html));
    const parsed = new DOMParser().parseFromString(html, "text/html");
    for (const drawing of parsed.querySelectorAll("svg, math")) drawing.remove();
    return [ours.innerHTML, parsed.body.innerHTML.replaceAll(/<!--.*?-->/g, "")];
  });
}"""

MARKUP = [
    "a<br>b<hr>c &amp; d &lt;e&gt; &eacute;&#233;&#xe9; & f &nbsp;",
    "<p>one<p>two<div>three</div>",
    "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>",
    "<dl><dt>a<dd>b<dt>c<dd>d</dl>",
    "<table><tr><td>1<td>2<tr><td>3<table><tr><td>4</table></table>",
    "<table><caption>c</caption><colgroup><col span=2></colgroup><thead><tr><th scope=col>a</thead>"
    "<tbody><tr><th scope=row>b<td colspan='2'>c</tbody><tfoot><tr><td>d</table>",
    "<table><tr><td><b>bold</td><td>plain</td></tr></table>",
    "<pre>\n a  b\n</pre>",
    "<b>a<i>b</i></b><em title='x &quot; y'>c</em><span>d</span>",
    "<details open><summary>s</summary><p>t</details>",
    "1 < 2 and 3 > 2 <3",
    "<UL><LI>A</LI></UL>",
    "<p>a</p></div></table>b",
    "<h1>a</h1><blockquote>b<q>c</q></blockquote><sub>1</sub><sup>2</sup><ol start=3><li>x</ol>",
    "a<!-->b<!--->c<!-- d -->e<!-- f --!>g<!---->h",
    "<svg><path d='M0 0'><p>visible",
    "<svg><g><svg><text>a</svg><b>visible",
    "<svg><style></svg><p>after</p>",
    "<svg><style>a {}</style><title>t</title><g/></svg>after",
    "a<svg><foreignObject><div>b</div></foreignObject><text>c</text></svg>d",
    "a<math><mi>x<b>y</b></mi><mo>+</math>b",
]


SPANNED = """async (html) => {
  const { sanitized } = await import("./sources/page/display/sanitize.js");
  const cells = [...sanitized(html).querySelectorAll("td")];
  return cells.reduce((sum, cell) => sum + cell.colSpan * cell.rowSpan - 1, 0);
}"""


@pytest.mark.parametrize(
    "cell",
    [
        "<td colspan=1000 rowspan=2>",
        "<td colspan='&#49;000' rowspan='&#50;'>",
        "<td colspan=1000 rowspan=-99999999999><td colspan=1000>",
    ],
)
def test_spanned_cells_are_bounded(page: Page, cell: str) -> None:
    spanned = page.evaluate(SPANNED, f"<table>{f'<tr>{cell}' * 1000}</table>")
    assert 10_000 < spanned <= 20_000


def test_html_is_read_as_browsers_read_it(page: Page) -> None:
    for ours, parsed in page.evaluate(SAME, MARKUP):
        assert ours == parsed


class TestNotebooks:
    def test_outputs(self, editor: Editor, tmp_path: Path) -> None:
        """All 2,000 are shown, in pieces; all are in the file that is saved again."""
        cells = [
            (f"x = {i}", [{"output_type": "stream", "name": "stdout", "text": [f"out {i}\n"]}])
            for i in range(2010)
        ]
        made = notebook(*cells)

        def open_it() -> None:
            drop(editor.page, book__ipynb=made)
            expect(editor.outputs).to_have_count(2000)
            drawn = editor.outputs.locator(".printed")
            expect(drawn).to_have_count(2000)

        assert busy(editor.page, open_it) < BUSY
        expect(editor.outputs.first).to_contain_text("out 0")
        expect(editor.outputs.last).to_contain_text("10 more outputs are not shown.")
        editor.put("# changed", after="x = 0")
        editor.page.wait_for_timeout(500)
        saved = cells_of(editor, tmp_path)
        assert [cell["outputs"] for cell in saved] == [outputs for _, outputs in cells]
        assert "".join(saved[0]["source"]) == "x = 0# changed"

    def test_one_output(self, editor: Editor, tmp_path: Path) -> None:
        """What is not shown of it stays in the file."""
        text = "abcdef\n" * 1_000_000
        made = notebook(("x", [{"output_type": "stream", "name": "stdout", "text": text}]))

        def open_it() -> None:
            drop(editor.page, book__ipynb=made)
            expect(editor.outputs).to_have_count(1)
            expect(editor.outputs.locator(".printed")).to_contain_text("abcdef")

        assert busy(editor.page, open_it) < BUSY
        kept = editor.outputs.locator(".printed > span").get_attribute("data-is-cut")
        assert kept is not None
        assert kept.endswith("earlier lines not kept")
        assert downloaded(editor, "book.ipynb", tmp_path) == made

    def test_a_line_that_is_too_long(self, editor: Editor) -> None:
        """CodeMirror would draw it: 170 s."""
        line = "# " + "\u202e\u05d0b" * 100_000
        assert busy(editor.page, lambda: self.open_long(editor, line)) < BUSY

    def open_long(self, editor: Editor, line: str) -> None:
        drop(editor.page, long__py=line.encode())
        expect(editor.page.locator("#offered")).to_contain_text("too long to edit")
