"""The contract of all bridges, run on the fake one, so that tests on it hold for the others."""

from __future__ import annotations

import pytest

from tests.bridge_contract import Contract, Driver, LocalDriver
from tests.unit.fake_bridge import FakeBridge


class TestFakeBridge(Contract):
    @pytest.fixture
    def driver(self) -> Driver:
        return LocalDriver(FakeBridge())
