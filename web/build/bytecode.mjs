/**
 * Compiles the modules that a first visit imports, with Pyodide's own Python. Without this, compiling takes a third of
 * the time of a first visit.
 *
 * usage: node web/build/bytecode.mjs WHEEL OUTPUT_FOLDER
 *
 * Writes python_stdlib.bin, the part of Pyodide's own archive that is at hand, with bytecode beside the sources of the
 * modules that are imported; stdlib_rare.zip, the other part, which is loaded when one of its modules is imported; and
 * modules.bin (worker/boot/modules.js): the page's Python, and the bytecode of it and of the library in WHEEL. The first
 * and the last are compressed by gzip: hosts do not change files with these names.
 */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPyodide } from "pyodide";

const [wheel, output] = process.argv.slice(2);
const SOURCES = fileURLToPath(new URL("../worker/python", import.meta.url));
const PAGE = "/lib/py_tensor_page";

const py = await loadPyodide();
await py.loadPackage(resolve(wheel), { messageCallback: () => {} });
py.FS.mkdirTree(PAGE);
for (const name of await readdir(SOURCES)) {
  if (name.endsWith(".py")) py.FS.writeFile(`${PAGE}/${name}`, await readFile(join(SOURCES, name)));
}
py.runPython(await readFile(new URL("bytecode.py", import.meta.url), "utf-8"));
for (const name of ["python_stdlib.bin", "stdlib_rare.zip", "modules.bin"]) {
  await writeFile(join(output, name), py.FS.readFile(`/tmp/${name}`));
}
