/**
 * What Python's worker may reach if the user allows packages from the internet, and what each host has. build.py reads
 * the addresses for the policy of that worker.
 */
export const PACKAGE_HOSTS = [
  ["https://pypi.org", "PyPI"],
  ["https://files.pythonhosted.org", "PyPI’s files"],
  ["https://cdn.jsdelivr.net/pyodide/v0.29.5/full/", "Pyodide’s packages"],
];
