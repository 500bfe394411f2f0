/**
 * Bundles the page's scripts and style sheets: a file for each entry point, and chunks of shared code.
 *
 * usage: node web/build/bundle.mjs OUTPUT_FOLDER
 *
 * Writes page/ and worker/, with source maps that no script refers to (a build leaves them out), and contents.json:
 * `views`, the entries of the registry of views (web/page/views.js); `inputs`, the files of all bundles; `preload`, the
 * chunks that page/app.js imports.
 *
 * A module that finds files by `import.meta.url` (web/worker/files.js, web/page/start.js) is one level below the root,
 * and so are all bundles. Each worker is bundled separately: it shares no chunks with the page or other workers.
 */

import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { EDITOR, VIEWS } from "../page/views.js";

const [output] = process.argv.slice(2);
const web = fileURLToPath(new URL("..", import.meta.url));

/** The entry points that are bundled together. */
const BUNDLES = [
  ["page/vendor/codemirror.js"],
  ["page/guard.js"],
  ["page/start.js"],
  ["page/app.js"],
  ["worker/vendor/jax.js", "worker/vendor/tfjs.js"],
  ["worker/worker.js"],
  ["worker/snapshot_worker.js"],
  ["worker/peer_worker.js"],
  [...new Set([...VIEWS, EDITOR].flatMap(({ styles }) => styles))],
];

/**
 * Separate bundles: the packages, which change less often than the page, and the first script, whose state the others
 * need.
 */
const apart = {
  name: "apart",
  /** @param {import("esbuild").PluginBuild} bundler */
  setup(bundler) {
    bundler.onResolve({ filter: /\/vendor\/\w+\.js$/ }, ({ path, kind }) =>
      kind === "entry-point" ? null : { path: `./vendor/${basename(path)}`, external: true },
    );
    bundler.onResolve({ filter: /\/start\.js$/ }, ({ kind }) =>
      kind === "entry-point" ? null : { path: "./start.js", external: true },
    );
  },
};

/** @param {string[]} entries */
function bundle(entries) {
  return build({
    entryPoints: entries.map((entry) => join(web, entry)),
    outdir: output,
    outbase: web,
    bundle: true,
    format: "esm",
    splitting: entries[0] === "page/app.js" || entries[0] === "worker/peer_worker.js",
    chunkNames: `${entries[0].split("/")[0]}/[name]-[hash]`,
    minify: true,
    sourcemap: "external",
    legalComments: "eof",
    logLevel: "error",
    metafile: true,
    plugins: [apart],
  });
}

const made = await Promise.all(BUNDLES.map(bundle));
const inputs = made.flatMap(({ metafile }) => Object.keys(metafile.inputs));
const views = VIEWS.map(({ name, heading }) => ({ name, heading }));
const app = made
  .flatMap(({ metafile }) => Object.values(metafile.outputs))
  .find(({ entryPoint }) => entryPoint?.endsWith("page/app.js"));
const chunks = app?.imports.filter(({ kind, external }) => kind === "import-statement" && !external) ?? [];
const preload = chunks.map(({ path }) => `page/${basename(path)}`);
await writeFile(join(output, "contents.json"), JSON.stringify({ inputs, views, preload }));
