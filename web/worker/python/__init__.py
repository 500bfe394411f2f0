"""The page's Python: runs inside Pyodide, in the worker."""
