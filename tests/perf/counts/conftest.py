"""The fixtures of the unit tests: a webgpu device on a fake bridge, and repeatable random data."""

from tests.unit.conftest import gpu as gpu
from tests.unit.conftest import source as source
