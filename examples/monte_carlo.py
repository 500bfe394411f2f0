"""A Monte Carlo estimate.

An estimate of π from random points in a square.

The fraction of random points in a square that lie in the quarter circle is π/4. The running
estimate is a running sum divided by the number of points, so one expression computes all of
them. The error falls with the square root of that number: one more digit takes a hundred
times as many points.
"""

import py_tensor as pt

DARTS = 1_000_000
STEP = 2_000  # darts from one point of the plot to the next


def hits(x, y):
    """Whether each point of the unit square lies in the quarter circle."""
    return x * x + y * y < 1


def running_estimates(hit):
    """The estimates of π from the first throw, the first two, the first three, and so on."""
    return 4 * pt.cumsum(hit) / pt.arange(1, hit.size + 1)


hit = hits(pt.rand(DARTS), pt.rand(DARTS))
estimates = running_estimates(hit)
share = hit.mean().item()
error = 4 * (share * (1 - share) / DARTS) ** 0.5
print(f"π is about {4 * share:.5f}, give or take {error:.5f}")
thousands = pt.arange(STEP, DARTS + 1, STEP) / 1000
pt.plot(thousands, estimates[STEP - 1 :: STEP], title="Estimates of π", xlabel="thousand darts")
