/** Validates a value against a JSON Schema; supports only the keywords that `schema.js` uses. */

/**
 * @typedef {object} Schema
 * @property {string | string[]} [type]
 * @property {readonly unknown[]} [enum]
 * @property {number} [minimum]
 * @property {number} [exclusiveMinimum]
 * @property {number} [maxLength]
 * @property {number} [maxItems]
 * @property {number} [maxProperties]
 * @property {readonly string[]} [required]
 * @property {Record<string, Schema>} [properties]
 * @property {Schema} [additionalProperties]
 * @property {Schema} [items]
 */

const MAX_PROBLEMS = 5;

/**
 * @param {Schema} schema
 * @param {unknown} value
 * @returns {string[]} the problems, each with its path; empty if valid
 */
export function problemsWith(schema, value) {
  /** @type {string[]} */
  const problems = [];
  examine(schema, value, "", problems);
  return problems;
}

/**
 * @param {Schema} schema
 * @param {any} value
 * @param {string} path
 * @param {string[]} problems
 */
function examine(schema, value, path, problems) {
  if (problems.length >= MAX_PROBLEMS) return;
  const wrong = wrongWith(schema, value);
  if (wrong) {
    problems.push(`${path || "the whole"} ${wrong}`);
    return;
  }
  if (schema.items && Array.isArray(value)) {
    for (const [i, item] of value.entries()) examine(schema.items, item, `${path}[${i}]`, problems);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return;
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) problems.push(`${inside(path, name)} is missing`);
  }
  for (const [name, part] of Object.entries(value)) {
    const known = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : null;
    const partSchema = known ?? schema.additionalProperties;
    if (partSchema) examine(partSchema, part, inside(path, name), problems);
  }
}

/**
 * @param {Schema} schema
 * @param {any} value
 * @returns {string | null}
 */
function wrongWith(schema, value) {
  if (schema.enum && !schema.enum.includes(value))
    return `is ${shown(value)}, not ${schema.enum.map(shown).join(" or ")}`;
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length && !types.includes(typeOf(value))) return `is ${shown(value)}, not ${types.join(" or ")}`;
  if (typeof value === "number") {
    if (schema.minimum !== undefined && !(value >= schema.minimum)) return `is ${value}, less than ${schema.minimum}`;
    const least = schema.exclusiveMinimum;
    if (least !== undefined && !(value > least)) return `is ${value}, not more than ${least}`;
  }
  return (
    tooLong(schema.maxLength, typeof value === "string" ? value.length : 0, "characters") ??
    tooLong(schema.maxItems, Array.isArray(value) ? value.length : 0, "items") ??
    tooLong(schema.maxProperties, typeOf(value) === "object" ? Object.keys(value).length : 0, "members")
  );
}

/**
 * @param {number | undefined} most
 * @param {number} length
 * @param {string} what
 * @returns {string | null}
 */
function tooLong(most, length, what) {
  return most !== undefined && length > most ? `has ${length} ${what}, more than ${most}` : null;
}

/** @param {unknown} value */
function typeOf(value) {
  if (value === null) return "null";
  if (typeof value === "number" && !Number.isFinite(value)) return "no finite number"; // such as JSON's 1e999
  return Array.isArray(value) ? "array" : typeof value;
}

/** @param {unknown} value */
function shown(value) {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** @param {string} path @param {string} name */
function inside(path, name) {
  return path ? `${path}.${name}` : name;
}
