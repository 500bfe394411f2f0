/**
 * The files of the user: everything below the folder in which Python starts. The page stores them and restores them
 * in the next Python.
 */

/** @typedef {import("../../page/sessions/store.js").File} File */
/** @typedef {{ changed: File[], removed: string[], refused: string[] }} Changes refused: too large to be stored */
/** @typedef {{ mtime: number, size: number }} Version */
/** Emscripten's file system. @typedef {any} FileSystem */

export const HOME = "/home/pyodide";
/** The most bytes that are stored of all files together. */
export const MAX_BYTES = 32 * 2 ** 20;
const MAX_FILES = 1000;
const DEEPEST = 16;
/** Folders that Python itself writes. */
const OF_PYTHON = new Set(["__pycache__"]);

export class Home {
  /** @param {FileSystem} fs */
  constructor(fs) {
    this.fs = fs;
    /** The versions that the page knows of. @type {Map<string, Version>} */
    this.known = this.look();
    /** The files among them that are too large to be stored. @type {Set<string>} */
    this.refused = new Set();
  }

  /** @param {File[]} files of an earlier Python */
  restore(files) {
    for (const file of files) this.put(file);
    this.known = this.look();
  }

  /** @param {Changes} changes of the page's own */
  write({ changed, removed, refused }) {
    for (const file of changed) this.put(file);
    for (const path of removed) {
      try {
        this.fs.unlink(`${HOME}/${path}`);
      } catch {
        // The program has removed it in the meantime.
      }
    }
    const found = this.look();
    for (const path of refused) this.refused.add(path);
    for (const path of [...changed.map((file) => file.path), ...removed]) {
      const version = found.get(path);
      if (version) this.known.set(path, version);
      else this.known.delete(path);
    }
  }

  /** @param {File} file */
  put({ path, bytes }) {
    if (path.split("/").some((name) => name === "" || name === "..")) return; // it would be outside the home folder
    const whole = `${HOME}/${path}`;
    try {
      this.fs.mkdirTree(whole.slice(0, whole.lastIndexOf("/")));
      this.fs.writeFile(whole, bytes);
    } catch {}
  }

  /** @returns {Changes | null} the changes since the last call; null if there are none */
  changes() {
    const found = this.look();
    const removed = [...this.known.keys()].filter((path) => !found.has(path) && !this.refused.has(path));
    const isNew = (/** @type {[string, Version]} */ [path, { mtime, size }]) => {
      const known = this.known.get(path);
      return known?.mtime !== mtime || known.size !== size;
    };
    const written = [...found].filter(isNew);
    for (const path of this.refused) if (!found.has(path)) this.refused.delete(path);
    /** @type {Changes} */
    const changes = { changed: [], removed, refused: [] };
    let bytes = [...found].reduce((sum, [path, { size }]) => sum + (this.refused.has(path) ? 0 : size), 0);
    for (const [path, { size }] of written) bytes -= this.refused.has(path) ? 0 : size;
    for (const [path, { size }] of written) {
      if (bytes + size <= MAX_BYTES) {
        bytes += size;
        this.refused.delete(path);
        changes.changed.push({ path, bytes: this.fs.readFile(`${HOME}/${path}`) });
      } else {
        if (!this.refused.has(path)) changes.refused.push(path);
        if (this.known.has(path) && !this.refused.has(path)) removed.push(path); // the stored version is outdated
        this.refused.add(path);
      }
    }
    this.known = found;
    return changes.changed.length || removed.length || changes.refused.length ? changes : null;
  }

  /** @returns {Map<string, Version>} every regular file, by its path */
  look() {
    /** @type {Map<string, Version>} */
    const found = new Map();
    try {
      this.walk("", 0, found);
    } catch {
      // The folder was removed, or changed during the search.
    }
    return found;
  }

  /**
   * @param {string} folder path below the home folder with a trailing slash; "" for the home folder itself
   * @param {number} depth
   * @param {Map<string, Version>} found
   */
  walk(folder, depth, found) {
    for (const name of this.fs.readdir(`${HOME}/${folder}`)) {
      if (name === "." || name === ".." || OF_PYTHON.has(name) || found.size >= MAX_FILES) continue;
      const path = folder + name;
      const { mode, mtime, size } = this.fs.lstat(`${HOME}/${path}`);
      if (this.fs.isFile(mode)) found.set(path, { mtime: mtime.getTime(), size });
      else if (this.fs.isDir(mode) && depth < DEEPEST) this.walk(`${path}/`, depth + 1, found);
    }
  }
}
