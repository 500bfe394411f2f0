"""Modules of the user's files in the page: which are imported again after an edit."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pickle
import runpy
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.page_python import load

modules = load("modules")
PREFIX = "own_"  # of all modules of the tests


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "path_hooks", [*sys.path_hooks])
    monkeypatch.setattr(importlib, "reload", importlib.reload)
    yield modules.OwnModules(str(tmp_path))
    for name in [*sys.modules]:
        if name.startswith(PREFIX):
            del sys.modules[name]


def run(own: Any, code: str, names: dict[str, Any] | None = None) -> Any:
    """Run an input; its `found`."""
    own.refresh()
    names = {} if names is None else names
    exec(code, names)
    own.note()
    return names.get("found")


def test_an_edit_is_seen_by_the_next_import(own: Any, tmp_path: Path) -> None:
    file = tmp_path / "own_one.py"
    file.write_text("VALUE = 1")
    assert run(own, "from own_one import VALUE as found") == 1
    before = sys.modules["own_one"]
    assert run(own, "import own_one as found") is before  # its state is kept
    for value in (2, 3):  # within a second, and of the same size
        file.write_text(f"VALUE = {value}")
        assert run(own, "from own_one import VALUE as found") == value
    assert not (tmp_path / "__pycache__").exists()


def test_modules_that_use_it_are_imported_again_too(own: Any, tmp_path: Path) -> None:
    (tmp_path / "own_one.py").write_text("VALUE = 1")
    (tmp_path / "own_two.py").write_text("from own_one import VALUE\nTWICE = 2 * VALUE")
    assert run(own, "from own_two import TWICE as found") == 2
    (tmp_path / "own_one.py").write_text("VALUE = 10")
    assert run(own, "from own_two import TWICE as found") == 20


def test_packages_new_and_deleted_files(own: Any, tmp_path: Path) -> None:
    folder = tmp_path / "own_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "part.py").write_text("VALUE = 1")
    assert run(own, "from own_package.part import VALUE as found") == 1
    (folder / "part.py").write_text("VALUE = 25")
    (tmp_path / "own_late.py").write_text("VALUE = 7")
    assert run(own, "from own_package.part import VALUE as found") == 25
    assert run(own, "from own_late import VALUE as found") == 7
    (tmp_path / "own_late.py").unlink()
    with pytest.raises(ModuleNotFoundError):
        run(own, "import own_late")


def test_other_modules_stay(own: Any, tmp_path: Path) -> None:
    (tmp_path / "own_one.py").write_text("VALUE = 1")
    run(own, "import own_one")
    (tmp_path / "own_one.py").write_text("VALUE = 22")
    others = {name: module for name, module in sys.modules.items() if not name.startswith(PREFIX)}
    own.refresh()
    assert "own_one" not in sys.modules
    assert all(sys.modules[name] is module for name, module in others.items())
    assert importlib.import_module("own_one").VALUE == 22


def test_an_edit_during_the_input_that_imported_it(own: Any, tmp_path: Path) -> None:
    file = tmp_path / "own_one.py"
    file.write_text("VALUE = 1")
    run(own, f"import own_one; open({str(file)!r}, 'w').write('VALUE = 22')")
    assert run(own, "from own_one import VALUE as found") == 22
    file.write_text("VALUE = 3\nopen(__file__, 'w').write('VALUE = 44')")
    assert run(own, "from own_one import VALUE as found") == 3
    assert run(own, "from own_one import VALUE as found") == 44


def test_an_import_outside_an_input(own: Any, tmp_path: Path) -> None:
    (tmp_path / "own_one.py").write_text("VALUE = 1")
    exec("import own_one")  # in a function of a control
    (tmp_path / "own_one.py").write_text("VALUE = 22")
    assert run(own, "from own_one import VALUE as found") == 22


def test_namespace_packages(own: Any, tmp_path: Path) -> None:
    part = tmp_path / "own_space" / "inner" / "part.py"
    part.parent.mkdir(parents=True)
    part.write_text("VALUE = 1")
    code = "from own_space.inner import part; found = part.VALUE"
    assert run(own, code) == 1
    part.write_text("VALUE = 22")
    assert run(own, code) == 22
    part.unlink()
    with pytest.raises(ImportError):
        run(own, code)


@pytest.mark.parametrize("imports_again", [False, True])
def test_reload(own: Any, tmp_path: Path, imports_again: bool) -> None:
    folder = tmp_path / "own_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for name, file in (
        ("own_one", tmp_path / "own_one.py"),
        ("own_package.part", folder / "part.py"),
    ):
        file.write_text("VALUE = 1")
        names: dict[str, Any] = {}
        run(own, f"import importlib, {name} as module", names)
        for value in (22, 333):
            file.write_text(f"VALUE = {value}")
            if imports_again:
                run(own, f"import {name}")
            run(own, "found = importlib.reload(module)", names)
            assert names["found"] is names["module"] is sys.modules[name]
            assert value == names["found"].VALUE
            assert run(own, f"import {name} as found") is names["module"]
    assert sys.modules["own_package"].part is names["module"]
    del sys.modules["own_one"]
    with pytest.raises(ImportError, match="not in sys"):  # the program removed it
        importlib.reload(run(own, "import sys, own_one as found; del sys.modules['own_one']"))


def test_main_stays(own: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    file = tmp_path / "own_one.py"
    file.write_text("VALUE = 1")
    code = f"import own_one; __file__ = {str(file)!r}; __spec__ = own_one.__spec__"
    run(own, code, main.__dict__)
    file.write_text("VALUE = 22")
    assert run(own, "from own_one import VALUE as found") == 22
    assert sys.modules["__main__"] is main


def test_objects_that_raise_or_load(
    own: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Raising:
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

    class RaisingModule(ModuleType):
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

    monkeypatch.setitem(sys.modules, "own_raising", Raising())  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "own_module", RaisingModule("own_module"))
    monkeypatch.setitem(sys.modules, "own_none", None)  # type: ignore[arg-type]
    (tmp_path / "own_one.py").write_text("VALUE = 1")
    assert run(own, "from own_one import VALUE as found") == 1
    (tmp_path / "own_one.py").write_text("VALUE = 22")
    assert run(own, "from own_one import VALUE as found") == 22


def test_only_modules_that_may_use_it_are_removed(own: Any, tmp_path: Path) -> None:
    (tmp_path / "own_one.py").write_text("VALUE = 1")
    (tmp_path / "own_two.py").write_text("import importlib\nimportlib.import_module('own_one')")
    (tmp_path / "own_three.py").write_text("def late():\n    from own_two import VALUE")
    (tmp_path / "own_class.py").write_text("class Pair: pass")
    names: dict[str, Any] = {}
    run(own, "import own_one, own_class, own_two, own_three; pair = own_class.Pair()", names)
    (tmp_path / "own_one.py").write_text("VALUE = 22")
    own.refresh()
    assert {name for name in sys.modules if name.startswith(PREFIX)} == {"own_class"}
    assert type(pickle.loads(pickle.dumps(names["pair"]))) is names["own_class"].Pair


def test_a_loader_of_another(own: Any, tmp_path: Path) -> None:
    file = tmp_path / "own_one.py"
    file.write_text("VALUE = 1")
    code = (
        "import sys, importlib.util as u\n"
        f"spec = u.spec_from_file_location('own_one', {str(file)!r})\n"
        "found = sys.modules['own_one'] = u.module_from_spec(spec)\n"
        "spec.loader.exec_module(found)"
    )
    loaded = run(own, code)
    assert run(own, "import own_one as found") is loaded
    file.write_text("VALUE = 22")
    assert run(own, "from own_one import VALUE as found") == 22


def test_source_tracebacks_and_running_as_a_program(own: Any, tmp_path: Path) -> None:
    file = tmp_path / "own_one.py"
    for start in ("", "# a line\n\n"):
        file.write_text(start + "def broken():\n    return 1 / 0\nNAME = __name__")
        module = run(own, "import own_one as found")
        assert inspect.getsource(module.broken) == "def broken():\n    return 1 / 0\n"
        with pytest.raises(ZeroDivisionError) as caught:
            module.broken()
        assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "return 1 / 0"
    file.write_text("NAME = __name__ * 2")
    assert runpy.run_module("own_one", run_name="own_main")["NAME"] == "own_main" * 2
    assert run(own, "from own_one import NAME as found") == "own_one" * 2
    for text, kind in (("1 / 0", ZeroDivisionError), ("1 /", SyntaxError)):
        file.write_text(text)
        with pytest.raises(kind) as failed:
            run(own, "import own_one")
        files = {frame.filename for frame in traceback.extract_tb(failed.value.__traceback__)}
        assert files <= {__file__, "<string>", str(file)}
