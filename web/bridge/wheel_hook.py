"""A Hatchling build hook that adds the bridge, packed into one script, to the wheel."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BridgeHook(BuildHookInterface[Any]):
    """Writes `py_tensor/bridge.js`, for hosts that do not serve the bridge."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        here = Path(self.root) / "web" / "bridge"
        spec = importlib.util.spec_from_file_location("pack", here / "pack.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        target = Path(self.root) / ".cache" / "bridge.js"
        target.parent.mkdir(exist_ok=True)
        target.write_text(module.pack(here), encoding="utf-8")
        build_data["force_include"][str(target)] = "py_tensor/bridge.js"
