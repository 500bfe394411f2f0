/**
 * The files of the user: everything below the folder in which Python starts. The page stores them and restores them
 * in the next Python.
 *
 * A file that the page knows of is removed only when it is seen to be gone. One that a walk does not reach, or that
 * cannot be read, stays as it is stored.
 */

/** @typedef {import("../../page/sessions/store.js").File} File */
/**
 * @typedef {{ path: string, size: number, error?: string }} Unsaved a file whose present content is not stored; without
 *   an error, because there is no room
 * @typedef {{ changed: File[], removed: string[], refused: Unsaved[] }} Changes
 */
/**
 * A write changes the time of a file, and renaming another file to its name the number of the node.
 *
 * @typedef {{ node: number, time: number, size: number }} Version
 */
/** Emscripten's file system. @typedef {any} FileSystem */

export const HOME = "/home/pyodide";
/** The files of one message: it holds a copy of each. */
const MAX_GROUP_BYTES = 64 * 2 ** 20;
/** Folders that Python itself writes. */
const OF_PYTHON = new Set(["__pycache__"]);
/** Emscripten's error numbers if a path does not exist, and if a part of it that must be a folder is none. */
const GONE = new Set([44, 54]);

export class Home {
  /** @param {FileSystem} fs */
  constructor(fs) {
    this.fs = fs;
    /** The bytes that the browser can still store. */
    this.room = Number.POSITIVE_INFINITY;
    /** The files whose present content was not sent to the page. @type {Set<string>} */
    this.refused = new Set();
    /** The versions that the page knows of. @type {Map<string, Version>} */
    this.known = this.unrestricted(() => this.look());
  }

  /** @param {{ changed: File[], removed: string[] }} changes of the page: removed files, then changed ones */
  write({ changed, removed }) {
    this.unrestricted(() => {
      for (const path of removed) {
        this.known.delete(path); // if it cannot be removed, the page gets it again
        this.refused.delete(path);
        try {
          this.fs.unlink(`${HOME}/${path}`);
        } catch {
          // The program has removed it in the meantime.
        }
      }
      /** The folders that exist: to make one again takes longer than to write a small file. @type {Set<string>} */
      const made = new Set();
      for (const file of changed) this.put(file, made);
    });
  }

  /**
   * @param {File} file
   * @param {Set<string>} made
   */
  put({ path, bytes }, made) {
    if (path.split("/").some((name) => name === "" || name === "..")) return; // it would be outside the home folder
    const whole = `${HOME}/${path}`;
    const folder = whole.slice(0, whole.lastIndexOf("/"));
    try {
      if (!made.has(folder)) this.fs.mkdirTree(folder);
      made.add(folder);
      this.fs.writeFile(whole, bytes);
      this.known.set(path, versionOf(this.fs.lookupPath(whole, { follow: true }).node));
      this.refused.delete(path);
    } catch {
      // Python has a folder of this name, or a file where a folder is needed. The stored file stays.
    }
  }

  /**
   * The changes since the last call, in groups: all files that a program has written may not fit into memory twice.
   *
   * @returns {Generator<Changes>} to be used up before the program goes on
   */
  *changes() {
    const now = Date.now();
    const { removed, written } = this.unrestricted(() => this.compare());
    for (const path of removed) {
      this.known.delete(path);
      this.refused.delete(path);
    }
    /** @type {Changes} */
    let group = { changed: [], removed, refused: [] };
    let bytes = 0;
    for (const [path, version] of written) {
      if (bytes + version.size > MAX_GROUP_BYTES && group.changed.length) {
        yield group;
        group = { changed: [], removed: [], refused: [] };
        bytes = 0;
      }
      const read = this.unrestricted(() => this.read(path, version));
      if ("bytes" in read) {
        bytes += version.size;
        this.room -= version.size;
        this.refused.delete(path);
        group.changed.push(read);
      } else {
        if (!this.refused.has(path)) group.refused.push(read);
        this.refused.add(path);
      }
      // It may be written again in this millisecond, which the time would not show.
      this.known.set(path, version.time < now ? version : { ...version, time: Number.NaN });
    }
    if (group.changed.length || group.removed.length || group.refused.length) yield group;
  }

  /** @returns {{ removed: string[], written: [string, Version][] }} written: the smallest first */
  compare() {
    const seen = this.look();
    const removed = this.removed(seen);
    const written = [...seen].filter(([path, version]) => this.isNew(path, version));
    return { removed, written: written.sort(([, a], [, b]) => a.size - b.size) };
  }

  /**
   * @param {string} path
   * @param {Version} version
   */
  isNew(path, { node, time, size }) {
    const known = this.known.get(path);
    const isSame = known?.node === node && known.time === time && known.size === size;
    return !isSame || (this.refused.has(path) && size <= this.room);
  }

  /**
   * @param {string} path
   * @param {Version} version
   * @returns {File | Unsaved}
   */
  read(path, { size }) {
    if (size > this.room) return { path, size };
    try {
      return { path, bytes: this.fs.readFile(`${HOME}/${path}`) };
    } catch (error) {
      return { path, size, error: /** @type {Error} */ (error).message ?? "it cannot be read" }; // no memory for a copy
    }
  }

  /**
   * The known files that no longer exist. Those that exist and were not reached are added to the seen ones.
   *
   * @param {Map<string, Version>} seen by the walk
   * @returns {string[]}
   */
  removed(seen) {
    return [...this.known.keys()].filter((path) => {
      if (seen.has(path)) return false;
      try {
        const { node } = this.fs.lookupPath(`${HOME}/${path}`);
        if (this.fs.isFile(node.mode)) seen.set(path, versionOf(node)); // below a link to a folder
        return this.fs.isDir(node.mode);
      } catch (error) {
        return GONE.has(/** @type {{ errno?: number }} */ (error)?.errno ?? 0);
      }
    });
  }

  /** @returns {Map<string, Version>} every regular file that can be reached without a link to a folder, by its path */
  look() {
    /** @type {Map<string, Version>} */
    const seen = new Map();
    /** By node: a lookup of each path from the root would take five times as long. */
    const folders = [];
    try {
      folders.push({ node: this.fs.lookupPath(HOME, { follow_mount: false }).node, path: "" });
    } catch {
      // The program has removed the home folder.
    }
    for (const folder of folders) {
      for (const name of namesIn(folder.node)) {
        if (name === "." || name === ".." || OF_PYTHON.has(name)) continue;
        const path = folder.path + name;
        try {
          let node = this.fs.lookupNode(folder.node, name);
          const isLink = this.fs.isLink(node.mode);
          if (isLink) ({ node } = this.fs.lookupPath(`${HOME}/${path}`, { follow: true }));
          if (this.fs.isFile(node.mode)) seen.set(path, versionOf(node));
          else if (this.fs.isDir(node.mode) && !isLink) folders.push({ node, path: `${path}/` });
        } catch {
          // A link that leads nowhere or to itself.
        }
      }
    }
    return seen;
  }

  /**
   * @template Result
   * @param {() => Result} work done even with files that the program itself may not read
   * @returns {Result}
   */
  unrestricted(work) {
    const { ignorePermissions } = this.fs;
    this.fs.ignorePermissions = true;
    try {
      return work();
    } finally {
      this.fs.ignorePermissions = ignorePermissions;
    }
  }
}

/**
 * @param {any} node of a regular file
 * @returns {Version}
 */
function versionOf(node) {
  const { ino, ctime, size } = node.node_ops.getattr(node);
  return { node: ino, time: ctime.getTime(), size };
}

/**
 * @param {any} node of a folder
 * @returns {string[]}
 */
function namesIn(node) {
  try {
    return node.node_ops.readdir(node);
  } catch {
    return [];
  }
}
