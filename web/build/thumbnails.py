"""Draws the pictures of the gallery's cards with the examples' own functions on the CPU.

usage: .venv/bin/python web/build/thumbnails.py

Writes web/page/gallery/pictures/NAME.png, 320 by 200. They are committed: a build needs no NumPy.
"""

from __future__ import annotations

import runpy
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import py_tensor as pt
from py_tensor.display.colormaps import table

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "web" / "page" / "gallery" / "pictures"
WIDTH, HEIGHT = 320, 200
COLOURS = 48
"""The number of colours, so small that a file takes a few kilobytes."""

Array = Any  # a NumPy array

INK = np.array([0.063, 0.075, 0.082])
TEAL = np.array([0.31, 0.80, 0.74])
SAND = np.array([0.95, 0.80, 0.55])
CORAL = np.array([0.93, 0.47, 0.38])


def definitions(name: str) -> SimpleNamespace:
    """Return the functions of an example, without its main part, as in the page."""
    page = runpy.run_path(str(ROOT / "web" / "worker" / "python" / "gallery.py"))
    return page["definitions"]((ROOT / "examples" / f"{name}.py").read_text("utf-8"))


def shown(x: Array, cmap: str = "viridis") -> Array:
    """Return values as in the examples: the extremes get the ends of a colour map."""
    colours = np.array(table(cmap), np.uint32).view(np.uint8).reshape(-1, 4)[:, :3] / 255
    share = (x - x.min()) / (x.max() - x.min())
    return colours[np.round(share * (len(colours) - 1)).astype(int)]


def crop(x: Array) -> Array:
    """Return the centre of a square of WIDTH by WIDTH."""
    above = (WIDTH - HEIGHT) // 2
    return x[above : above + HEIGHT]


def elementwise() -> Array:
    return shown(crop(definitions("elementwise").waves(WIDTH).numpy()))


def matmul() -> Array:
    """Return a tiled matrix, with the row and column of tiles that one result tile needs."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    picture = np.broadcast_to(INK, (HEIGHT, WIDTH, 3)).copy()
    for left, top, marked in ((24, 84, "row"), (124, 84, "tile"), (124, 8, "column")):
        for i in range(4):
            for j in range(4 if marked == "row" else 8):
                size, pitch = (20, 24) if marked != "column" else (16, 18)
                a, b = top + i * pitch, left + j * 24
                lit = {"row": i == 1, "tile": i == 1 and j == 3, "column": j == 3}[marked]
                inside = (y >= a) & (y < a + size) & (x >= b) & (x < b + 20)
                colour = (SAND if marked == "tile" else TEAL) if lit else TEAL * 0.22 + INK * 0.6
                picture[inside] = colour
    return picture


def mandelbrot() -> Array:
    times = crop(definitions("mandelbrot").escape_times(-0.7453, 0.1127, 0.016, WIDTH, 320).numpy())
    return shown(np.log(times))


def life() -> Array:
    example = definitions("life")
    cells = pt.where(pt.rand(100, 160) < 0.35, 1.0, 0.0)
    for _ in range(60):
        cells = example.generation(cells)
    return shown(np.kron(cells.numpy(), np.ones((2, 2))), "gray")


def gray_scott() -> Array:
    example = definitions("gray_scott")
    u, v = example.drops(WIDTH // 2, 30)
    for _ in range(5000):
        u, v = example.step(u, v, example.FEED, example.KILL)
    x = np.kron(v.numpy(), np.ones((2, 2)))
    return shown(crop(x))


def filters() -> Array:
    """Return the test picture, with its edges in the right half."""
    example = definitions("filters")
    picture = example.test_picture(WIDTH)
    plain, edges = crop(picture.numpy()), crop(example.edges(picture).numpy())
    return shown(np.where(np.arange(WIDTH) < WIDTH // 2, plain, np.clip(edges, 0, 1)), "gray")


def nbody() -> Array:
    example = definitions("nbody")
    state, mass = example.disc(900)
    for _ in range(90):
        state = example.step(state, mass, 0.02)
    shine = crop(example.light(state[0], state[1], WIDTH).numpy())
    return shown(np.clip(shine / 2.2, 0, 1) ** 0.7)


def monte_carlo() -> Array:
    """Random points inside and outside the quarter circle."""
    picture = np.broadcast_to(INK, (HEIGHT, WIDTH, 3)).copy()
    x, y = pt.rand(2600), pt.rand(2600)
    hit = definitions("monte_carlo").hits(x, y).numpy()
    columns = (x.numpy() * (WIDTH - 3)).astype(int)
    rows = ((1 - y.numpy()) * (HEIGHT - 3)).astype(int)
    for i, j, is_hit in zip(rows, columns, hit, strict=True):
        picture[i : i + 2, j : j + 2] = TEAL if is_hit else CORAL * 0.8
    return picture


def kmeans() -> Array:
    example = definitions("kmeans")
    points = example.clouds(3000, 6).realize()
    centres = points[:6]
    for _ in range(12):
        centres = example.means(points, example.nearest(points, centres), centres).realize()
    region = crop(example.regions(centres, WIDTH).numpy())
    glow = crop(np.sqrt(example.density(points, WIDTH).numpy()))
    colours = np.array([TEAL, SAND, CORAL, TEAL * 0.6, SAND * 0.6, CORAL * 0.6])
    return INK + colours[region] * (0.18 + 0.8 * glow[..., None]) * 0.9


def png(colours: Array) -> bytes:
    """Return a picture (height, width, 3), from 0 to 1, as a PNG with a palette of COLOURS."""
    pixels = np.clip(np.round(colours * 255), 0, 255).astype(np.uint8).reshape(-1, 3)
    palette = median_cut(pixels)
    distance = ((pixels[:, None].astype(int) - palette.astype(int)) ** 2).sum(-1)
    rows = distance.argmin(1).astype(np.uint8).reshape(HEIGHT, WIDTH)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"PLTE", palette.tobytes()), (b"IDAT", zlib.compress(raw, 9))]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*c) for c in [*chunks, (b"IEND", b"")])


def median_cut(pixels: Array) -> Array:
    """Return a palette (P. Heckbert, 1982): the longest box is split at its median."""
    boxes = [np.unique(pixels, axis=0)]
    while len(boxes) < COLOURS:
        widest = max(range(len(boxes)), key=lambda i: np.ptp(boxes[i], axis=0).max())
        box = boxes[widest]
        side = int(np.ptp(box, axis=0).argmax())
        if len(box) < 2:
            break
        ordered = box[box[:, side].argsort()]
        middle = len(ordered) // 2
        boxes[widest : widest + 1] = [ordered[:middle], ordered[middle:]]
    return np.array([box.mean(0).round() for box in boxes], dtype=np.uint8)


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def main() -> None:
    pt.set_default_device("cpu")
    pt.manual_seed(7)
    PICTURES.mkdir(exist_ok=True)
    drawers = (
        elementwise,
        matmul,
        mandelbrot,
        life,
        gray_scott,
        filters,
        nbody,
        monte_carlo,
        kmeans,
    )
    for draw in drawers:
        data = png(draw())
        (PICTURES / f"{draw.__name__}.png").write_bytes(data)
        print(f"{draw.__name__}.png {len(data)} bytes")


if __name__ == "__main__":
    main()
