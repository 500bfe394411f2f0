"""The contract of all bridges, run on the native bridge."""

from __future__ import annotations

import pytest

from py_tensor.backends.native import NativeBridge
from tests.bridge_contract import Contract, Driver, LocalDriver


class TestNativeBridge(Contract):
    @pytest.fixture
    def driver(self) -> Driver:
        return LocalDriver(NativeBridge())
