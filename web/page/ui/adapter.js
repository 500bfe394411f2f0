/** The display name of an adapter. */

/** @typedef {import("../../worker/protocol.js").Info} Info */

/** @type {Record<string, string>} */
const VENDORS = {
  amd: "AMD",
  apple: "Apple",
  arm: "Arm",
  google: "Google",
  imgtec: "Imagination",
  intel: "Intel",
  microsoft: "Microsoft",
  nvidia: "NVIDIA",
  qualcomm: "Qualcomm",
  samsung: "Samsung",
};

/** @type {Record<string, string>} */
const ARCHITECTURES = { swiftshader: "SwiftShader" };

/**
 * @param {Pick<Info, "adapter">} info
 * @returns {string} such as "NVIDIA lovelace" or "NVIDIA GeForce RTX 4090"
 */
export function adapterName({ adapter }) {
  if (!adapter) return "CPU";
  const { vendor = "", architecture = "", description = "" } = adapter;
  const name = VENDORS[vendor.toLowerCase()] ?? vendor;
  if (description) {
    return description.toLowerCase().includes(vendor.toLowerCase()) ? description : `${name} ${description}`;
  }
  const generation = ARCHITECTURES[architecture.toLowerCase()] ?? architecture.replaceAll("-", " ");
  return [name, generation].filter(Boolean).join(" ") || "GPU";
}

/**
 * @param {Info} info
 * @returns {boolean} whether the "GPU" is a software adapter
 */
export function isSoftware({ adapter, isFallbackAdapter }) {
  return isFallbackAdapter || /swiftshader|llvmpipe|software|basic render/i.test(JSON.stringify(adapter ?? ""));
}
