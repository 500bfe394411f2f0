"""N bodies.

A disc of a thousand stars, each attracted by all the others.

Each step computes the forces of a million pairs. The differences of all positions from all
positions are broadcast and summed in one kernel, so no table of pairs is stored. The GPU
also draws the picture. Each star is a Gaussian spot, the product of a factor for the row
and one for the column, so a matrix product adds up the light of all stars.
"""

import py_tensor as pt

COUNT = 1000
FRAMES = 300
SIZE = 320
TIME_STEP = 0.01
SOFTENING = 0.08  # the forces of nearer stars are reduced


def accelerations(x, y, mass):
    """The acceleration of each star in x and y, both of shape (n,); gravity's constant is 1."""
    dx, dy = x - x[:, None], y - y[:, None]
    pull = mass * (dx * dx + dy * dy + SOFTENING**2) ** -1.5
    return (dx * pull).sum(1), (dy * pull).sum(1)


def step(state, mass, dt):
    """The state after `dt`, by the leapfrog method: half a kick, a drift, half a kick."""
    x, y, vx, vy = state
    ax, ay = accelerations(x, y, mass)
    vx, vy = vx + ax * (dt / 2), vy + ay * (dt / 2)
    x, y = x + vx * dt, y + vy * dt
    ax, ay = accelerations(x, y, mass)
    return x, y, vx + ax * (dt / 2), vy + ay * (dt / 2)


def energy(state, mass):
    """The total of kinetic and potential energy, which is conserved."""
    x, y, vx, vy = state
    dx, dy = x - x[:, None], y - y[:, None]
    distance = pt.sqrt(dx * dx + dy * dy + SOFTENING**2)
    pairs = mass * mass[:, None] / distance
    within = (mass * mass).sum() / SOFTENING  # each star with itself, to be excluded
    return (mass * (vx * vx + vy * vy)).sum() / 2 - (pairs.sum() - within) / 2


def disc(count):
    """Stars on circular orbits around the centre, and their masses, which add up to 1."""
    radius = 0.1 + 0.9 * pt.sqrt(pt.rand(count))
    angle = 2 * pt.pi * pt.rand(count)
    speed = pt.sqrt(radius) * 0.9
    x, y = radius * pt.cos(angle), radius * pt.sin(angle)
    return (x, y, -speed * pt.sin(angle), speed * pt.cos(angle)), pt.full(count, 1 / count)


def light(x, y, size):
    """The picture of the square from -1.5 to 1.5, shape (size, size)."""
    pixels = pt.linspace(-1.5, 1.5, size).reshape(size, 1)
    rows = pt.exp(-(((pixels + y) * size / 3) ** 2))
    columns = pt.exp(-(((pixels - x) * size / 3) ** 2))
    return pt.log1p(rows @ columns.T)


state, mass = disc(COUNT)
before = energy(state, mass).item()
view = pt.display(light(*state[:2], SIZE))
for _ in range(FRAMES):
    state = step(state, mass, TIME_STEP)
    view.update(light(*state[:2], SIZE))
print(f"energy {before:.5f} before, {energy(state, mass).item():.5f} after {FRAMES} steps")
