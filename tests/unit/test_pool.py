"""The pool of freed buffers, against a simple model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import count
from random import Random
from types import FrameType
from typing import Any

from py_tensor.codegen.slabs import MIB, Kind, size_class
from py_tensor.runtime.pool import Buffer, Pool


def test_size_classes() -> None:
    sizes = [1, 16, 255, 256, 257, 1000, 4096, MIB - 1, MIB, MIB + 1, 5 * MIB + 3, 2**30]
    for n in sizes:
        size = size_class(n)
        assert size >= n
        assert size % 16 == 0
        assert size <= max(256, 2 * n)
        assert size_class(size) == size
        if n > MIB:
            assert size - n < MIB // 4
    assert sorted(map(size_class, sizes)) == list(map(size_class, sizes))


def of_size(nbytes: int) -> Kind:
    return Kind(size_class(nbytes))


def allocate(pool: Pool, nbytes: int) -> int:
    [(number, _)] = pool.take([of_size(nbytes)])
    pool.handed_over()
    return number


def reuse(pool: Pool, nbytes: int) -> int | None:
    """Take an existing buffer from the pool."""
    return allocate(pool, nbytes) if pool.has(of_size(nbytes)) else None


def release(pool: Pool, number: int) -> None:
    pool.released.append(Buffer(number, exists=True))


def abandon(pool: Pool, number: int) -> None:
    """Release a buffer whose flush was not completed."""
    pool.released.append(Buffer(number, exists=False))


def destroy(pool: Pool) -> list[int]:
    """Destroy buffers as a flush does."""
    numbers = pool.to_destroy()
    pool.destroyed(numbers)
    assert not set(numbers).intersection(pool.to_destroy())
    return numbers


KINDS: tuple[Kind, ...] = (
    *map(of_size, (1, 300, 5000, MIB, 2 * MIB + 7)),
    Kind(512, 2),
    Kind(2048, 8),
    Kind(2048, 4),
    Kind(524288, 8),
)


def test_accounting(source: Random) -> None:
    """Live and pooled bytes always match the existing buffers."""
    pool = Pool(limit=8 * MIB)
    live: dict[int, Kind] = {}
    pooled: dict[int, Kind] = {}
    ids: set[int] = set()
    for _ in range(3000):
        if source.random() < 0.5 and len(live) < 30:
            kinds = source.choices(KINDS, k=source.randrange(1, 4))
            for (number, exists), kind in zip(pool.take(kinds), kinds, strict=True):
                slices = kind.slices
                numbers = range(number, number + 1 + slices)
                assert exists == (number in pooled)
                if exists:
                    assert pooled.pop(number) == kind
                else:
                    assert ids.isdisjoint(numbers)
                assert number not in live
                assert pool.kind_of(number) == kind
                ids.update(numbers)
                live[number] = kind
            pool.handed_over()
        elif live:
            number = source.choice(sorted(live))
            if source.random() < 0.8:
                release(pool, number)
                pooled[number] = live.pop(number)
            else:
                abandon(pool, number)
                pool.collect()
                del live[number]
                assert number in pool.to_destroy()
                pool.destroyed([number])
        pool.collect()
        for number in destroy(pool):
            del pooled[number]
        assert pool.live_bytes == sum(kind.nbytes for kind in live.values())
        assert pool.pooled_bytes == sum(kind.nbytes for kind in pooled.values())
        assert (pool.live_buffers, pool.pooled_buffers) == (len(live), len(pooled))
        assert pool.pooled_bytes <= max(pool.limit, pool.peak_bytes)
        assert pool.live_bytes <= pool.peak_bytes
    for number in live:
        release(pool, number)
    pool.collect()
    pool.drain()
    assert set(destroy(pool)) == {*live, *pooled}
    assert (pool.live_bytes, pool.pooled_bytes, pool.live_buffers, pool.pooled_buffers) == (
        0,
        0,
        0,
        0,
    )


def test_a_loop_gets_the_same_buffers_in_the_same_places() -> None:
    pool = Pool(limit=MIB)

    def step() -> list[int]:
        pool.collect()
        numbers = [allocate(pool, n) for n in (100, 100, 5000, 100)]
        for number in reversed(numbers):
            release(pool, number)
        return numbers

    assert step() == step() == step()


def test_only_the_size_class_is_reused() -> None:
    pool = Pool(limit=MIB)
    release(pool, allocate(pool, 1000))
    pool.collect()
    assert reuse(pool, 2000) is None
    assert reuse(pool, 500) is None
    assert pool.has(of_size(900))
    assert not pool.has(of_size(900), 2)
    assert reuse(pool, 900) is not None


def test_with_a_limit_of_zero_the_peak_bounds_the_pool() -> None:
    pool = Pool(limit=0)
    for nbytes in (100, 5000, 70_000):
        release(pool, allocate(pool, nbytes))
        pool.collect()
        destroy(pool)
    assert pool.pooled_bytes <= pool.peak_bytes == size_class(70_000)


def test_buffers_of_a_failed_flush_are_destroyed() -> None:
    pool = Pool(limit=MIB)
    number = allocate(pool, 100)
    abandon(pool, number)
    pool.collect()
    assert pool.live_buffers == 0
    assert pool.live_bytes == 0
    assert pool.to_destroy() == pool.to_destroy() == [number]  # until the device was notified
    assert destroy(pool) == [number]
    assert reuse(pool, 100) is None


def test_buffers_of_another_device_are_forgotten() -> None:
    pool = Pool(limit=MIB)
    release(pool, 12345)
    abandon(pool, 12346)
    pool.collect()
    pool.drain()
    assert pool.to_destroy() == []
    assert pool.live_bytes == 0


Act = Callable[[Pool], object]


def test_interrupts_at_every_line(source: Random) -> None:
    """Owned buffers stay, pooled ones may be reused, all others are destroyed."""
    kinds: tuple[Kind, ...] = of_size(100), of_size(5000), Kind(1024, 4)
    acts: tuple[Act, ...] = (
        lambda pool: pool.collect(),
        lambda pool: pool.take([*kinds, *kinds]),  # they never get an owner
        lambda pool: pool.new(kinds[0]),
        lambda pool: pool.drain(),
        lambda pool: pool.to_destroy(),
        lambda pool: (pool.take(kinds[:2]), pool.drain(), pool.collect()),
    )
    for act in acts:
        for line in count(1):
            pool = Pool(limit=0)
            numbers = [number for number, _ in pool.take(source.choices(kinds, k=12))]
            pool.handed_over()
            pool.peak_bytes = 0  # so that every pooled buffer exceeds the limit
            pooled = set(numbers[:4])
            for number in pooled:
                release(pool, number)
            pool.collect()
            released, abandoned = set(numbers[4:6]), set(numbers[6:8])
            for number in released:
                release(pool, number)
            for number in abandoned:
                abandon(pool, number)
            owned = set(numbers[8:])
            interrupted = _interrupted(act, pool, line)
            pool.collect()
            assert pool.live_buffers == len(owned)
            assert pool.live_bytes == sum(pool.kind_of(n).nbytes for n in owned)
            pool.drain()
            unneeded = set(pool.to_destroy())
            assert unneeded >= pooled | released | abandoned
            assert unneeded.isdisjoint(owned)
            assert (pool.pooled_buffers, pool.pooled_bytes) == (0, 0)
            for number in owned:
                release(pool, number)
            pool.collect()
            assert pool.live_bytes == pool.live_buffers == 0
            if not interrupted:
                assert line > 3
                break


def _interrupted(act: Act, pool: Pool, left: int) -> bool:
    """Return whether `act` was interrupted, at the given line of the pool's methods."""

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.endswith("pool.py"):
            return None
        if event == "line":
            left -= 1
            if not left:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        act(pool)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def test_an_interrupt_between_taking_and_owning() -> None:
    """The other pooled buffers stay; no id is used twice."""
    pool = Pool(limit=MIB)
    numbers = [allocate(pool, 100) for _ in range(5)]
    for number in numbers:
        release(pool, number)
    pool.collect()
    lost = pool.take([of_size(100)] * 2) + pool.take([of_size(5000)])
    pool.collect()
    assert set(pool.to_destroy()) == {number for number, _ in lost}
    assert [reuse(pool, 100) for _ in range(4)] == [*numbers[2:], None]
    assert allocate(pool, 5000) not in [*numbers, *(number for number, _ in lost)]


def test_buffers_not_requested_lately_are_destroyed_first() -> None:
    pool = Pool(limit=MIB)
    small = [allocate(pool, 1000) for _ in range(8)]
    large = [allocate(pool, MIB) for _ in range(8)]
    peak = pool.peak_bytes
    for number in (*large, *small):
        release(pool, number)
    pool.collect()
    middle = [allocate(pool, MIB // 2) for _ in range(8)]  # besides the pooled ones
    for number in [*middle[4:], allocate(pool, MIB)]:
        release(pool, number)
    pool.collect()
    destroyed = destroy(pool)
    assert set(destroyed) <= {*small, *middle}, "large ones were asked for last"
    assert set(small) <= set(destroyed)
    assert pool.pooled_bytes <= peak
