"""Saving and loading tensors without NumPy, which the GPU device does not need."""

from __future__ import annotations

import subprocess
import sys

from tests.environment import ROOT

PROGRAM = """
import io, sys
sys.modules["numpy"] = None  # so that an import of it fails
import py_tensor as pt
pt.set_default_device("webgpu")
x = pt.arange(6.0).reshape(2, 3)
for save, given in ((pt.save, x.T), (pt.savez, x), (pt.savez_compressed, x)):
    file = io.BytesIO()
    save(file, given)
    file.seek(0)
    found = pt.load(file)
    print((found if given is not x else found["arr_0"]).tolist())
data = io.BytesIO()
x.tofile(data)
data.seek(0)
print(pt.fromfile(data).tolist())
try:
    pt.savetxt(io.StringIO(), x)
except pt.DeviceError as error:
    print(error)
"""


def test_without_numpy() -> None:
    command = [sys.executable, "-c", PROGRAM]
    rows = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    columns = [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
    flat = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    *printed, error = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    assert printed == [str(columns), str(rows), str(rows), str(flat)]
    assert "pip install" in error
