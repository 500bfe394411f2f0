"""The gallery's examples: their functions against NumPy in float64, and a full run of each."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from tests.browser.app import AppPage
from tests.environment import ROOT

Array = Any  # a NumPy array
Call = Callable[..., Any]

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SMALL = {
    "SIZE": 48,
    "GENERATIONS": 3,
    "FRAMES": 2,
    "STEPS_PER_FRAME": 3,
    "STEPS": 12,
    "COUNT": 40,
    "DARTS": 2000,
    "STEP": 100,
    "POINTS": 300,
    "TURNS": 4,
}
"""Constants of the examples for a fast run."""

VIRIDIS, GRAY = (f"image 48 x 48 in {name} colours" for name in ("viridis", "gray"))
PLAIN = "image 48 x 48"
LARGE = " at 2"
SHOWN = {
    "elementwise": [VIRIDIS],
    "filters": ["image 96 x 96 in gray colours"],
    "gray_scott": ["controls: Feed", "controls: Kill"]
    + [VIRIDIS + LARGE]
    + [f"then {VIRIDIS}{LARGE}"] * 2,
    "life": [GRAY + LARGE] + [f"then {GRAY}{LARGE}"] * 3,
    "mandelbrot": ["controls: Real part, Imaginary part, Zoom, Steps", VIRIDIS],
    "matmul": [],
    "monte_carlo": ["plot of 20: Estimates of π, thousand darts"],
    "nbody": [VIRIDIS, f"then {VIRIDIS}", f"then {VIRIDIS}"],
}
"""The displays of each, in order; k-means ends when its centres stop moving."""

RECORDER = """
from py_tensor.display import screen as displays
class Recorder:
    def __init__(self):
        self.shown, self.targets = [], []
    def post(self, number, bundle, beside, is_update):
        if bundle["kind"] == "image":
            what = "image {width} x {height}".format(**bundle)
            colours = bundle["label"].partition(" in ")[2].partition(" from ")[0]
            what += f" in {colours}" if colours else ""
            what += f" at {bundle['scale']:g}" if bundle["scale"] else ""
        elif bundle["kind"] == "controls":
            what = "controls: " + ", ".join(control["label"] for control in bundle["controls"])
            self.targets += [bundle["target"]] * (bundle["target"] is not None)
        else:
            sizes = " ".join(str(series["size"]) for series in bundle["series"])
            what = "{kind} of {0}: {title}, {xlabel}".format(sizes, **bundle)
        self.shown.append("then " * is_update + what)
    async def drawn(self, number, blocking):
        pass
page, recorder = displays._screen, Recorder()
displays.set_screen(recorder)
"""
"""Replaces the page, so that examples use the real `imshow`, `plot` and `display`."""

REPLAY = """
import json
for target in recorder.targets:
    await pt.ui.run(target)
displays.set_screen(page)
print(json.dumps(recorder.shown))
"""


@pytest.fixture(scope="module")
def call(app: AppPage) -> Iterator[Call]:
    """`call("life.neighbours", array)` calls an example's function on WebGPU; returns lists."""

    def run(name: str, *values: Any) -> Any:
        example, function = name.split(".")
        code = json.dumps((ROOT / "examples" / f"{example}.py").read_text("utf-8"))
        arguments = ", ".join(argument(value) for value in values)
        done = app.run(
            "import json\n"
            "from py_tensor_page.gallery import definitions\n"
            "def listed(y):\n"
            "    return [listed(part) for part in y] if isinstance(y, tuple) else y.tolist()\n"
            f"print(json.dumps(listed(definitions({code}).{function}({arguments}))))"
        )
        assert done["ok"], done["error"]
        return json.loads(done["stdout"])

    yield run
    app.run("del json, definitions, listed")


def argument(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(argument, value))},)"
    if not isinstance(value, np.ndarray):
        return repr(value)
    kind = {"f": "float32", "i": "int32", "b": "bool"}[value.dtype.kind]
    flat = json.dumps(value.reshape(-1).tolist()).replace("true", "True").replace("false", "False")
    return f"pt.tensor({flat}, dtype=pt.{kind}).reshape({value.shape})"


def narrow(x: Array) -> Array:
    """Return the exact values that the GPU gets, in float64."""
    return np.asarray(x, np.float32).astype(np.float64)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng()


def close(found: Any, expected: Array, rtol: float = 1e-6, atol: float = 1e-6) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, rtol=rtol, atol=atol)


class TestFunctions:
    def test_elementwise(self, call: Call) -> None:
        assert call("elementwise.times_table", 5) == np.multiply.outer(*[range(1, 6)] * 2).tolist()
        x = np.linspace(-3, 3, 33)
        y = x[:, None]
        left, right = np.hypot(x + 1, y), np.hypot(x - 1, y)
        waves = np.sin(12 * left) / (1 + left) + np.sin(12 * right) / (1 + right)
        close(call("elementwise.waves", 33), waves, atol=2e-5)  # 12 * 5 is off by 4e-6

    @pytest.mark.parametrize("way", ["product_in_two_steps", "product_in_one"])
    def test_matmul(self, call: Call, rng: np.random.Generator, way: str) -> None:
        a, b = narrow(rng.normal(size=(7, 33))), narrow(rng.normal(size=(33, 9)))
        close(call(f"matmul.{way}", a, b), a @ b, atol=1e-5)

    def test_mandelbrot(self, call: Call) -> None:
        square = (-0.65, 0.1, 2.6, 40, 30)
        found = np.asarray(call("mandelbrot.escape_times", *square))
        times, certain = escape_times(*square)
        assert certain.mean() > 0.9
        np.testing.assert_array_equal(found[certain], times[certain])

    def test_life(self, call: Call, rng: np.random.Generator) -> None:
        cells = (rng.random((13, 17)) < 0.4).astype(float)
        margin = np.pad(cells, 1)
        windows = np.lib.stride_tricks.sliding_window_view(margin, (3, 3))
        count = windows.sum((2, 3)) - cells
        assert call("life.neighbours", cells) == count.tolist()
        alive = (count == 3) | ((count == 2) & (cells == 1))
        assert call("life.generation", cells) == alive.astype(float).tolist()

    def test_gray_scott(self, call: Call, rng: np.random.Generator) -> None:
        u, v = narrow(rng.random((12, 15))), narrow(rng.random((12, 15)))
        found = call("gray_scott.step", u, v, 0.04, 0.06)
        reaction = u * v * v
        close(found[0], u + 0.16 * laplacian(u) - reaction + 0.04 * (1 - u))
        close(found[1], v + 0.08 * laplacian(v) + reaction - 0.1 * v)

    def test_the_drops_of_gray_scott(self, call: Call) -> None:
        u, v = np.asarray(call("gray_scott.drops", 60, 3))
        assert np.array_equal(u, np.where(v > 0, 0.5, 1.0))
        assert set(np.unique(v)) == {0.0, 0.25}
        assert 25 <= np.count_nonzero(v) <= 3 * 81

    @pytest.mark.parametrize("shape", [(11, 14), (11, 14, 3)])
    def test_filters(self, call: Call, rng: np.random.Generator, shape: tuple[int, ...]) -> None:
        image = narrow(rng.random(shape))
        weights = [[0, 1, -2], [3, 0, 0], [0.5, 1, 0]]
        close(call("filters.convolve", image, weights), correlate(image, np.array(weights)))
        slope = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
        steep = np.hypot(correlate(image, slope), correlate(image, slope.T))
        close(call("filters.edges", image), steep, atol=1e-5)

    def test_the_picture_of_filters(self, call: Call) -> None:
        picture = np.asarray(call("filters.test_picture", 40))
        assert picture.shape == (40, 40)
        assert picture[16, 14] == 1.0
        assert 0 <= picture.min() <= picture.max() <= 1

    def test_nbody(self, call: Call, rng: np.random.Generator) -> None:
        state = tuple(narrow(rng.normal(size=20)) for _ in range(4))
        mass = narrow(rng.random(20))
        x, y, vx, vy = state
        close(call("nbody.accelerations", x, y, mass), pulls(x, y, mass), rtol=2e-5)
        close(call("nbody.energy", state, mass), energy(state, mass), rtol=2e-5)
        ax, ay = pulls(x, y, mass)
        vx, vy = vx + 0.01 * ax, vy + 0.01 * ay
        x, y = x + 0.02 * vx, y + 0.02 * vy
        ax, ay = pulls(x, y, mass)
        expected = (x, y, vx + 0.01 * ax, vy + 0.01 * ay)
        close(call("nbody.step", state, mass, 0.02), expected, rtol=1e-5, atol=1e-5)

    def test_the_light_of_nbody(self, call: Call, rng: np.random.Generator) -> None:
        x, y = narrow(rng.uniform(-1, 1, 9)), narrow(rng.uniform(-1, 1, 9))
        pixels = np.linspace(-1.5, 1.5, 24)
        squares = (pixels[:, None, None] + y) ** 2 + (pixels[:, None] - x) ** 2
        expected = np.log1p(np.exp(-squares * 64).sum(-1))
        close(call("nbody.light", x, y, 24), expected, rtol=1e-4, atol=1e-5)

    def test_the_disc_of_nbody(self, call: Call) -> None:
        (x, y, vx, vy), mass = call("nbody.disc", 500)
        assert np.sum(mass) == pytest.approx(1, abs=1e-4)
        radius = np.hypot(x, y)
        assert 0.1 <= radius.min() <= radius.max() <= 1.0001
        close(np.multiply(x, vx) + np.multiply(y, vy), np.zeros(500))

    def test_monte_carlo(self, call: Call, rng: np.random.Generator) -> None:
        x, y = narrow(rng.random(400)), narrow(rng.random(400))
        hit = x * x + y * y < 1
        sure = abs(x * x + y * y - 1) > 1e-6
        found = np.asarray(call("monte_carlo.hits", x, y))
        np.testing.assert_array_equal(found[sure], hit[sure])
        expected = 4 * np.cumsum(hit) / np.arange(1, 401)
        close(call("monte_carlo.running_estimates", hit), expected)

    def test_kmeans(self, call: Call, rng: np.random.Generator) -> None:
        points, centres = narrow(rng.random((200, 2))), narrow(rng.random((5, 2)))
        centres[4] = 50  # a centre without points
        distances = ((points[:, None] - centres) ** 2).sum(2)
        first, second = np.sort(distances, axis=1)[:, :2].T
        sure = second - first > 1e-5
        labels = distances.argmin(1)
        found = np.asarray(call("kmeans.nearest", points, centres))
        np.testing.assert_array_equal(found[sure], labels[sure])
        means = [points[labels == k].mean(0) if k in labels else centres[k] for k in range(5)]
        close(call("kmeans.means", points, labels, centres), means)

    def test_the_picture_of_kmeans(self, call: Call) -> None:
        centres = np.array([[-0.5, 0.5], [0.5, -0.5]])
        found = np.asarray(call("kmeans.regions", centres, 8))
        assert found[0, 0] == 0
        assert found[-1, -1] == 1
        glow = narrow(np.random.default_rng().random((8, 8)))
        share = found[..., None] / 2 - np.array([0, 1 / 3, 2 / 3])
        rainbow = (0.6 + 0.4 * np.cos(2 * np.pi * share)) * (0.2 + 0.8 * glow[..., None])
        close(call("kmeans.picture", centres, glow), rainbow)
        bright = np.asarray(call("kmeans.density", centres, 9))
        assert bright.max() == 1.0
        assert np.unravel_index(bright.argmax(), (9, 9)) in {(2, 2), (6, 6)}


def run_whole(app: AppPage, name: str, **constants: int) -> tuple[str, list[str]]:
    """Return the printed output and the displays of an example in a new session."""
    code = smaller((ROOT / "examples" / f"{name}.py").read_text("utf-8"), **constants)
    assert app.run(RECORDER)["ok"]
    try:
        names = "{'__name__': '__main__'}"
        done = app.run(f"exec(compile({code!r}, '<example>', 'exec'), {names})")
    finally:
        replayed = app.run(REPLAY)
    assert done["ok"], done["error"]
    return done["stdout"], json.loads(replayed["stdout"])


@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES])
def test_a_whole_example(app: AppPage, name: str) -> None:
    """It runs as in the gallery, but smaller, and shows the documented displays."""
    printed, shown = run_whole(app, name)
    if name == "kmeans":
        assert set(shown) == {PLAIN, f"then {PLAIN}"}
        assert "the centres after the last step" in printed
    else:
        assert shown == SHOWN[name]


@pytest.mark.parametrize(
    "call", ["imshow(x, vmni=0)", "display(x, colour='gray')", "plot(x[0], z=1)"]
)
def test_an_option_that_does_not_exist_is_noticed(app: AppPage, call: str) -> None:
    app.run(RECORDER)
    done = app.run(f"import py_tensor as pt\nx = pt.zeros((4, 4))\npt.{call}")
    app.run(REPLAY)
    assert not done["ok"]
    assert "TypeError" in done["error"]


def test_bodies_keep_their_energy(app: AppPage) -> None:
    words = run_whole(app, "nbody", FRAMES=20, COUNT=200)[0].split()
    assert float(words[1]) == pytest.approx(float(words[3]), rel=1e-2)


def test_darts_find_pi(app: AppPage) -> None:
    words = run_whole(app, "monte_carlo", DARTS=200_000)[0].replace(",", "").split()
    assert abs(float(words[3]) - np.pi) < 6 * float(words[-1])


def smaller(code: str, **constants: int) -> str:
    """Return an example with other constants."""
    values = SMALL | constants
    module = ast.parse(code)
    for statement in module.body:
        if isinstance(statement, ast.Assign):
            name = ast.unparse(statement.targets[0])
            if name in values:
                statement.value = ast.Constant(values[name])
    return ast.unparse(module)


def escape_times(x: float, y: float, width: float, size: int, steps: int) -> tuple[Array, Array]:
    """Return the example's result, and where it does not depend on the rounding of c."""
    across = np.linspace(-0.5, 0.5, size) * width
    here = (x + across) + 1j * (y - across)[:, None]
    found: list[Array] = []
    for shift in (0, 1e-5, -1e-5, 1e-5j, -1e-5j):
        c = here + shift
        z, times = np.zeros_like(c), np.zeros(c.shape, int)
        for _ in range(steps):
            stays = abs(z) < 2
            times += stays
            z = np.where(stays, z * z + c, z)
        found.append(times)
    return found[0], np.all([times == found[0] for times in found], axis=0)


def laplacian(x: Array) -> Array:
    margin = np.pad(x, 1)
    around = margin[:-2, 1:-1] + margin[2:, 1:-1] + margin[1:-1, :-2] + margin[1:-1, 2:]
    return around - 4 * x


def correlate(image: Array, weights: Array) -> Array:
    height, width = weights.shape
    margins = [(height // 2, height // 2), (width // 2, width // 2), (0, 0)]
    margin = np.pad(image, margins[: image.ndim])
    windows = np.lib.stride_tricks.sliding_window_view(margin, weights.shape, axis=(0, 1))
    return (windows * weights).sum((-2, -1))


def pulls(x: Array, y: Array, mass: Array) -> tuple[Array, Array]:
    dx, dy = x - x[:, None], y - y[:, None]
    pull = mass / (dx**2 + dy**2 + 0.08**2) ** 1.5
    return (dx * pull).sum(1), (dy * pull).sum(1)


def energy(state: tuple[Array, ...], mass: Array) -> float:
    x, y, vx, vy = state
    total = 0.5 * (mass * (vx**2 + vy**2)).sum()
    for i in range(len(x)):
        for j in range(i):
            distance = np.sqrt((x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 + 0.08**2)
            total -= mass[i] * mass[j] / distance
    return total
