"""Programs in the style of users' code, which change arrays in place, compared with NumPy.

Each takes the module. Their floats are few or short enough for both sides to round equally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import py_tensor as pt
from tests.ops.compare import same

pytestmark = pytest.mark.usefixtures("default_device")

Result = Any
PROGRAMS: list[Callable[[Any], Result]] = []


def program(function: Callable[[Any], Result]) -> Callable[[Any], Result]:
    PROGRAMS.append(function)
    return function


@program
def game_of_life(np: Any) -> Result:
    grid = np.zeros((8, 9), dtype=np.int32)
    grid[1:4, 1:4] = [[0, 1, 0], [0, 0, 1], [1, 1, 1]]
    for _ in range(6):
        n = np.zeros(grid.shape, dtype=np.int32)
        n[1:] += grid[:-1]
        n[:-1] += grid[1:]
        n[:, 1:] += grid[:, :-1]
        n[:, :-1] += grid[:, 1:]
        n[1:, 1:] += grid[:-1, :-1]
        n[:-1, :-1] += grid[1:, 1:]
        n[1:, :-1] += grid[:-1, 1:]
        n[:-1, 1:] += grid[1:, :-1]
        born = (n == 3) & (grid == 0)
        stays = ((n == 2) | (n == 3)) & (grid == 1)
        grid[...] = 0
        grid[born | stays] = 1
    return grid


@program
def sieve(np: Any) -> Result:
    prime = np.ones(200, dtype=bool)
    prime[:2] = False
    for i in range(2, 15):
        if prime[i]:
            prime[i * i :: i] = False
    return np.nonzero(prime)[0].astype(np.int32)


@program
def gauss_with_row_swaps(np: Any) -> Result:
    a = np.asarray([[0, 2, 1], [1, -2, -3], [-1, 1, 2]], dtype=np.float32)
    b = np.asarray([-8, 0, 3], dtype=np.float32)
    for i in range(3):
        pivot = i + int(np.argmax(np.abs(a[i:, i])))
        if pivot != i:
            a[[i, pivot]] = a[[pivot, i]]
            b[[i, pivot]] = b[[pivot, i]]
        for j in range(i + 1, 3):
            factor = a[j, i] / a[i, i]
            a[j, i:] -= factor * a[i, i:]
            b[j] -= factor * b[i]
    x = np.zeros(3, dtype=np.float32)
    for i in reversed(range(3)):
        x[i] = (b[i] - (a[i, i + 1 :] * x[i + 1 :]).sum()) / a[i, i]
    return a, b, x


@program
def lu_in_place(np: Any) -> Result:
    a = np.asarray([[4, 2, 8, 0], [2, 5, 4, 4], [8, 0, 32, 8], [4, 6, 8, 16]], dtype=np.float32)
    for k in range(3):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k, k + 1 :]
    return a


@program
def floyd_warshall(np: Any) -> Result:
    d = np.full((6, 6), 99, dtype=np.int32)
    d[np.arange(6), np.arange(6)] = 0
    for i, j, w in ((0, 1, 4), (1, 2, 3), (2, 3, 1), (0, 4, 2), (4, 3, 9), (3, 5, 2), (5, 0, 7)):
        d[i, j] = w
    for k in range(6):
        np.minimum(d, d[:, k : k + 1] + d[k], out=d)
    return d


@program
def bubble_sort(np: Any) -> Result:
    x = np.asarray([5, -2, 9, 0, 3, 3, -7, 1], dtype=np.int32)
    for end in range(len(x) - 1, 0, -1):
        for i in range(end):
            if x[i] > x[i + 1]:
                x[i], x[i + 1] = x[i + 1], x[i]
    return x


@program
def selection_sort_of_rows(np: Any) -> Result:
    x = np.asarray([[3, 0], [1, 5], [2, 2], [0, 9]], dtype=np.int32)
    for i in range(len(x)):
        j = i + int(x[i:, 0].argmin())
        x[[i, j]] = x[[j, i]]
    return x


@program
def odd_even_transposition_sort(np: Any) -> Result:
    x = np.asarray([7, 3, 9, 1, 0, 4, 8, 2], dtype=np.int32)
    for step in range(len(x)):
        left, right = x[step % 2 : -1 : 2], x[step % 2 + 1 :: 2]
        left = left[: len(right)]
        low, high = np.minimum(left, right), np.maximum(left, right)
        left[:], right[:] = low, high
    return x


@program
def interleaved_halves_change_places(np: Any) -> Result:
    x = np.arange(10)
    x[::2], x[1::2] = x[1::2], x[::2].copy()
    y = np.arange(10)
    y[::2], y[1::2] = y[1::2], y[::2]
    return x.astype(np.int32), y.astype(np.int32)


@program
def rows_that_are_views_change_places(np: Any) -> Result:
    x = np.arange(6).reshape(2, 3)
    x[0], x[1] = x[1], x[0]
    y = np.arange(6).reshape(2, 3)
    y[0], y[1] = y[1].copy(), y[0].copy()
    z = np.arange(6).reshape(2, 3)
    kept = z[0]
    z[0] = z[1]
    z[1] = kept
    return x.astype(np.int32), y.astype(np.int32), z.astype(np.int32)


@program
def elements_change_places(np: Any) -> Result:
    x = np.asarray([1, 2, 3, 4], dtype=np.int32)
    x[0], x[-1] = x[-1], x[0]
    kept = x[1]
    x[1] = x[2]
    x[2] = kept
    return x


@program
def masks_that_clean(np: Any) -> Result:
    x = np.asarray([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]], dtype=np.float32)
    x[x < 0] = 0
    x[x > 3] = x[x > 3] * 2
    x[:, x[0] == 0] += 100
    x[x.sum(axis=1) > 110] -= 1
    return x


@program
def missing_values(np: Any) -> Result:
    x = np.asarray([[1, np.nan, 3], [np.nan, np.nan, 6]], dtype=np.float32)
    gaps = np.isnan(x)
    x[gaps] = 0
    counts = (~gaps).sum(axis=0)
    counts[counts == 0] = 1
    means = x.sum(axis=0) / counts
    rows, columns = np.nonzero(gaps)
    x[rows, columns] = means[columns]
    return x, means.astype(np.float32)


@program
def histogram_by_add_at(np: Any) -> Result:
    values = (np.arange(50) * 7) % 13
    counts = np.zeros(13, dtype=np.int32)
    np.add.at(counts, values, 1)
    once = np.zeros(13, dtype=np.int32)
    once[values] += 1
    pairs = np.zeros((4, 4), dtype=np.int32)
    np.add.at(pairs, (values % 4, values % 3), values.astype(np.int32))
    return counts, once, pairs


@program
def group_sums(np: Any) -> Result:
    group = np.asarray([0, 2, 1, 0, 2, 2])
    rows = np.arange(12).reshape(6, 2).astype(np.float32)
    sums = np.zeros((3, 2), dtype=np.float32)
    np.add.at(sums, group, rows)
    most = np.full((3, 2), -1, dtype=np.float32)
    np.maximum.at(most, group, rows)
    return sums, most


@program
def moving_sums_from_slices(np: Any) -> Result:
    x = (np.arange(20) * 3 % 7).astype(np.float32)
    width = 4
    total = x[: len(x) - width + 1].copy()
    for shift in range(1, width):
        total += x[shift : len(x) - width + 1 + shift]
    windows = np.stack([x[i : i + width] for i in range(len(x) - width + 1)])
    windows[0] = -1
    return total, windows.max(axis=1), x


@program
def windows_by_index(np: Any) -> Result:
    x = (np.arange(10) ** 2 % 11).astype(np.int32)
    at = np.arange(8)[:, None] + np.arange(3)
    windows = x[at]
    windows[:, 1] = 0
    x[at[:, 0]] = windows.max(axis=1)
    return windows, x


@program
def prefix_sums_by_doubling(np: Any) -> Result:
    x = np.arange(16).astype(np.int32)
    step = 1
    while step < len(x):
        x[step:] += x[:-step]
        step *= 2
    return x


@program
def reversal_in_place(np: Any) -> Result:
    x = np.arange(7).astype(np.int32)
    x[:] = x[::-1]
    x[2:5] = x[2:5][::-1]
    y = np.arange(9).reshape(3, 3).astype(np.int32)
    y[:] = y.T
    y[::-1] += y
    return x, y


@program
def rotation_of_a_square(np: Any) -> Result:
    x = np.arange(16).reshape(4, 4).astype(np.int32)
    x[...] = x.T[:, ::-1]
    n = len(x)
    for i in range(n // 2):
        top = x[i, i : n - i - 1].copy()
        x[i, i : n - i - 1] = x[n - 1 - i : i : -1, i]
        x[n - 1 - i : i : -1, i] = x[n - 1 - i, n - 1 - i : i : -1]
        x[n - 1 - i, n - 1 - i : i : -1] = x[i : n - i - 1, n - 1 - i]
        x[i : n - i - 1, n - 1 - i] = top
    return x


@program
def pascals_triangle(np: Any) -> Result:
    t = np.zeros((8, 8), dtype=np.int32)
    t[:, 0] = 1
    for i in range(1, 8):
        t[i, 1:] = t[i - 1, 1:] + t[i - 1, :-1]
    row = np.zeros(8, dtype=np.int32)
    row[0] = 1
    for _ in range(7):
        row[1:] += row[:-1]
    return t, row


@program
def longest_common_subsequence(np: Any) -> Result:
    a, b = [1, 3, 4, 1, 2, 3], [3, 4, 1, 2, 1, 3]
    best = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int32)
    for i, u in enumerate(a):
        for j, v in enumerate(b):
            if u == v:
                best[i + 1, j + 1] = best[i, j] + 1
            else:
                best[i + 1, j + 1] = max(best[i, j + 1], best[i + 1, j])
    return best


@program
def knapsack(np: Any) -> Result:
    best = np.zeros(21, dtype=np.int32)
    for weight, worth in ((3, 4), (4, 5), (7, 10), (8, 11), (9, 13)):
        best[weight:] = np.maximum(best[weight:], best[:-weight] + worth)
    return best


@program
def heat_in_a_plate(np: Any) -> Result:
    u = np.zeros((6, 6), dtype=np.float32)
    u[0] = 64
    for _ in range(3):
        inner = u[1:-1, 1:-1]
        inner[...] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    return u


@program
def red_black_relaxation(np: Any) -> Result:
    u = np.zeros((6, 6), dtype=np.float32)
    u[:, 0] = 256
    inner = u[1:-1, 1:-1]
    for _ in range(2):
        for parity in (0, 1):
            for row in range(4):
                start = (row + parity) % 2
                cells = inner[row, start::2]
                around = u[row, 1:-1] + u[row + 2, 1:-1] + u[row + 1, :-2] + u[row + 1, 2:]
                cells[:] = around[start::2] / 4
    return u


@program
def flood_fill(np: Any) -> Result:
    wall = np.asarray(
        [[0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0], [1, 1, 0, 1]], dtype=np.int32
    ).astype(bool)
    full = np.zeros_like(wall)
    full[0, 0] = True
    while True:
        before = full.copy()
        full[1:] |= before[:-1]
        full[:-1] |= before[1:]
        full[:, 1:] |= before[:, :-1]
        full[:, :-1] |= before[:, 1:]
        full &= ~wall
        if (full == before).all():
            return full


@program
def union_find(np: Any) -> Result:
    parent = np.arange(8)
    for a, b in ((0, 1), (2, 3), (1, 3), (5, 6), (7, 5)):
        parent[parent == parent[b]] = parent[a]
    return parent.astype(np.int32)


@program
def breadth_first_search(np: Any) -> Result:
    linked = np.zeros((7, 7), dtype=bool)
    for a, b in ((0, 1), (0, 2), (1, 3), (3, 4), (5, 6)):
        linked[[a, b], [b, a]] = True
    distance = np.full(7, -1, dtype=np.int32)
    distance[0] = 0
    level, front = 0, [0]
    while len(front):
        level += 1
        reached = linked[front].any(axis=0) & (distance < 0)
        distance[reached] = level
        front = np.nonzero(reached)[0]
    return distance


@program
def one_hot_and_argmax(np: Any) -> Result:
    labels = np.asarray([2, 0, 1, 2], dtype=np.int32)
    one_hot = np.zeros((4, 3), dtype=np.float32)
    one_hot[np.arange(4), labels] = 1
    one_hot[one_hot.argmax(axis=1) == 2] *= 3
    one_hot[range(4), one_hot.argmin(axis=1)] = -1
    return one_hot


@program
def functions_that_change_their_arguments(np: Any) -> Result:
    def normalize(x: Any) -> Any:
        x -= x.min()
        x = x * 2
        x += 1
        return x

    def clear(x: Any) -> None:
        x[...] = 0
        x = x + 5
        x[...] = 9

    a = np.asarray([[4, 2], [8, 6]], dtype=np.int32)
    b = normalize(a)
    clear(a[0])
    clear(a[1].copy())
    clear(a[:, 1][:1])
    return a, b


@program
def default_arguments_are_one_array(np: Any) -> Result:
    def count(i: int, seen: Any = np.zeros(4, dtype=np.int32)) -> Any:  # noqa: B008
        seen[i] += 1
        return seen

    first = count(0)
    count(3)
    count(3)
    return first, count(1)


@program
def closures_over_views(np: Any) -> Result:
    board = np.zeros((3, 4), dtype=np.int32)

    def writer(view: Any) -> Callable[[int], None]:
        def write(v: int) -> None:
            view[...] += v

        return write

    writers = [writer(board[i]) for i in range(3)] + [writer(board.T[1]), writer(board[::2, ::3])]
    for n, write in enumerate(writers):
        write(10**n % 7)
    return board


@program
def generators_of_views(np: Any) -> Result:
    x = np.arange(24).reshape(4, 6).astype(np.int32)

    def tiles(a: Any, n: int) -> Iterator[Any]:
        for i in range(0, a.shape[0], n):
            for j in range(0, a.shape[1], n):
                yield a[i : i + n, j : j + n]

    for n, tile in enumerate(tiles(x, 2)):
        tile[:] = tile.T
        tile[0, 1] = -n
    for row in x:
        row[row < 0] *= 2
    return x


@program
def accumulators_that_are_aliases(np: Any) -> Result:
    total = start = np.zeros(3, dtype=np.float32)
    for k in range(3):
        total += k
    moved = other = np.zeros(3, dtype=np.float32)
    for k in range(3):
        moved = moved + k
    sums = np.zeros(3, dtype=np.float32).sum()
    same = sums
    sums += 5
    return start, total, other, moved, same, sums


@program
def results_kept_in_a_list(np: Any) -> Result:
    x = np.zeros(3, dtype=np.int32)
    views, copies = [], []
    for i in range(3):
        x[i] = i + 1
        views.append(x)
        copies.append(x.copy())
    return np.stack(views), np.stack(copies), x


@program
def broadcast_templates(np: Any) -> Result:
    row = np.arange(3).astype(np.int32)
    wide = np.broadcast_to(row, (2, 3))
    mine = wide.copy()
    row[0] = 7
    mine[0, 1] = 9
    try:
        wide[0, 0] = 1
    except ValueError:
        row[2] = 8
    return wide, mine, row


@program
def transposed_writes(np: Any) -> Result:
    x = np.zeros((2, 3, 4), dtype=np.int32)
    y = x.transpose(2, 0, 1)
    y[0] = [[1, 2, 3], [4, 5, 6]]
    y[1:3, 0, ::2] += 7
    np.swapaxes(y, 0, 1)[1, 3] = -1
    z = y.reshape(4, 6)
    z[0, 0] = 50
    return x, y, z


@program
def ring_buffer(np: Any) -> Result:
    ring, at = np.zeros(5, dtype=np.float32), 0
    means = []
    for v in range(12):
        ring[at % 5] = v
        at += 1
        means.append(float(ring.sum()))
    ordered = np.concatenate([ring[at % 5 :], ring[: at % 5]])
    return ring, ordered, np.asarray(means, dtype=np.float32)


@program
def run_length_encoding(np: Any) -> Result:
    x = np.asarray([3, 3, 3, 1, 1, 7, 3, 3], dtype=np.int32)
    changes = np.flatnonzero(x[1:] != x[:-1]) + 1
    starts = np.concatenate([np.asarray([0], dtype=np.int32), changes.astype(np.int32)])
    ends = np.concatenate([starts[1:], np.asarray([len(x)], dtype=np.int32)])
    return x[starts], ends - starts


@program
def permutations_and_their_inverse(np: Any) -> Result:
    p = np.asarray([3, 0, 4, 1, 2], dtype=np.int32)
    inverse = np.empty_like(p)
    inverse[p] = np.arange(5)
    x = np.asarray([10, 20, 30, 40, 50], dtype=np.int32)
    y = x[p]
    y[inverse] = y.copy()
    x[p] = x
    return inverse, x, y


@program
def ranks_with_ties(np: Any) -> Result:
    x = np.asarray([3, 1, 3, 2, 1], dtype=np.int32)
    order = np.argsort(x, kind="stable")
    rank = np.zeros(5, dtype=np.int32)
    rank[order] = np.arange(5)
    for v in (1, 3):
        rank[x == v] = rank[x == v].min()
    return rank


@program
def triangles_and_diagonals(np: Any) -> Result:
    x = np.arange(16).reshape(4, 4).astype(np.int32)
    i = np.arange(4)
    x[i[:, None] > i] = 0
    x[i, i] *= 10
    x[i, 3 - i] -= 1
    np.fill_diagonal(x[1:, :3], -7)
    x[1:, 0], x[0, 1:] = x[0, 1:], x[1:, 0]
    return x


@program
def power_iteration(np: Any) -> Result:
    a = np.asarray([[2, 1], [1, 2]], dtype=np.float32)
    v = np.asarray([1, 0], dtype=np.float32)
    for _ in range(4):
        v[:] = a @ v
    return v


@program
def k_means_steps(np: Any) -> Result:
    x = np.asarray([[0, 0], [0, 2], [8, 8], [8, 10], [2, 0]], dtype=np.float32)
    centres = x[[0, 2]].copy()
    nearest = np.zeros(5)
    for _ in range(2):
        distances = ((x[:, None] - centres[None]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        for k in range(2):
            if (nearest == k).any():
                members = x[nearest == k]
                centres[k] = members.sum(axis=0) * (1 / 4 if k == 0 else 1 / 2)
    return centres, nearest.astype(np.int32)


@program
def conjugate_updates_in_place(np: Any) -> Result:
    a = np.asarray([[4, 0], [0, 2]], dtype=np.float32)
    b = np.asarray([8, 4], dtype=np.float32)
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    for _ in range(2):
        ap = a @ p
        x += p * 0.25
        r -= ap * 0.25
        p *= 0.5
        p += r
    return x, r, p


@program
def sandpile(np: Any) -> Result:
    pile = np.zeros((7, 7), dtype=np.int32)
    pile[3, 3] = 40
    while (pile > 3).any():
        top = pile > 3
        pile[top] -= 4
        grains = top.astype(np.int32)
        pile[1:] += grains[:-1]
        pile[:-1] += grains[1:]
        pile[:, 1:] += grains[:, :-1]
        pile[:, :-1] += grains[:, 1:]
    return pile


@program
def cellular_automaton(np: Any) -> Result:
    rule = np.asarray([int(c) for c in reversed(f"{110:08b}")], dtype=np.int32)
    rows = np.zeros((8, 16), dtype=np.int32)
    rows[0, 8] = 1
    for t in range(1, 8):
        before = rows[t - 1]
        rows[t] = rule[4 * np.roll(before, 1) + 2 * before + np.roll(before, -1)]
    return rows


@program
def string_of_states(np: Any) -> Result:
    step = np.asarray([[1, 2], [2, 0], [0, 1]], dtype=np.int32)
    state, visited = 0, np.zeros(3, dtype=np.int32)
    for symbol in (0, 1, 1, 0, 1, 0, 0):
        state = step[state, symbol]
        visited[state] += 1
    return visited, int(state)


@program
def matrix_chain_of_minima(np: Any) -> Result:
    sizes, n = [3, 5, 2, 6, 4], 4
    cost = np.zeros((n, n), dtype=np.int32)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            ways = [
                int(cost[i, k]) + int(cost[k + 1, j]) + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            ]
            cost[i, j] = min(ways)
    return cost


@program
def errors_that_are_caught(np: Any) -> Result:
    x = np.arange(4).astype(np.int32)
    caught = []
    for change in (
        lambda: x.__setitem__(9, 1),
        lambda: x.__setitem__(slice(0, 2), [1, 2, 3]),
        lambda: x.__iadd__(0.5),
        lambda: x.reshape(3),
        lambda: x[[0, 7]],
        lambda: x.__delitem__(0),
        lambda: x.sum(axis=2),
        lambda: np.matmul(x, x[:3]),
        lambda: np.copyto(x, [0.5] * 4),
    ):
        try:
            change()
            caught.append("nothing")
        except (IndexError, ValueError, TypeError) as error:
            kinds = (IndexError, ValueError, TypeError)
            caught.append(next(k.__name__ for k in kinds if isinstance(error, k)))
    return x, caught


@program
def shapes_that_are_set(np: Any) -> Result:
    x = np.arange(6).astype(np.int32)
    view = x[::-1]
    x.shape = (2, 3)
    x[0] = 7
    y = x.reshape(-1)
    y[-1] = 9
    return x, view, y


@program
def conditions_in_assignments(np: Any) -> Result:
    x = np.arange(8).astype(np.float32)
    x[x % 2 == 0], x[x % 2 == 1] = -1, -2
    y = np.arange(8).astype(np.int32)
    y[(y > 2) & (y < 6)] //= 2
    y[~(y > 2)] **= 2
    z = np.where(y > 3, y, -y)
    z[np.where(z < 0)] = 0
    return x, y, z


@program
def indices_of_indices(np: Any) -> Result:
    x = np.arange(10).astype(np.int32)
    odd = np.nonzero(x % 2)[0]
    x[odd[x[odd] > 4]] = 0
    x[odd][:2] = 100
    chosen = x[2:]
    chosen[[0, 1]] = chosen[[1, 0]]
    return x


@program
def matrices_of_blocks(np: Any) -> Result:
    big = np.zeros((4, 6), dtype=np.int32)
    blocks = big.reshape(2, 2, 2, 3).swapaxes(1, 2)
    blocks[0, 0] = 1
    blocks[1, 1] += [[1, 2, 3], [4, 5, 6]]
    blocks[0, 1, :, 0] = blocks[1, 1, :, 2]
    return big, blocks.sum(axis=(2, 3)).astype(np.int32)


def leaves(result: Result) -> list[Any]:
    """Return the arrays and numbers in nested tuples and lists."""
    if isinstance(result, tuple | list):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


@pytest.mark.computes
@pytest.mark.parametrize("run", PROGRAMS, ids=lambda run: run.__name__)
def test_as_under_numpy(run: Callable[[Any], Result]) -> None:
    ours, theirs = leaves(run(pt)), leaves(run(numpy))
    assert len(ours) == len(theirs)
    for n, (x, a) in enumerate(zip(ours, theirs, strict=True)):
        if isinstance(x, pt.Tensor):
            same(x, a, f"{run.__name__}, {n}")
        else:
            assert x == a
