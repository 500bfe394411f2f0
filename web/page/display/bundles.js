/**
 * What Python asks the page to show: one kind of bundle each. py_tensor/display/screen.py,
 * web/worker/python/rich.py and web/worker/python/views.py make them.
 *
 * @typedef {{ kind: "text", text: string }} TextBundle
 * @typedef {{ kind: "error", text: string }} ErrorBundle why there is nothing to show
 * @typedef {{ kind: "shown" }} ShownBundle a result that is on the screen already
 * @typedef {{ kind: "html" | "svg" | "png", data: string, label: string }} ForeignBundle of an object of another
 *   library; a PNG in base64
 *
 * @typedef {object} ImageBundle
 * @property {"image"} kind
 * @property {number} width
 * @property {number} height
 * @property {number | null} scale CSS pixels for each of its own; null: as fits
 * @property {string} label empty where the picture stands in something that has one
 * @property {ImageBitmap} [bitmap] either this,
 * @property {Uint8ClampedArray<ArrayBuffer>} [bytes] or its pixels,
 * @property {Uint8Array<ArrayBuffer>} [png] or, of an earlier visit, a PNG
 *
 * @typedef {object} Series
 * @property {string} label
 * @property {(number | null)[]} x
 * @property {(number | null)[]} y null is not finite
 * @property {number} size how many points there were before it was thinned out
 * @property {number} step of so many one was looked at
 *
 * @typedef {object} PlotBundle
 * @property {"plot"} kind
 * @property {"line" | "scatter"} mark
 * @property {Series[]} series
 * @property {string} title
 * @property {string} xlabel
 * @property {string} ylabel
 * @property {"linear" | "log"} xscale
 * @property {"linear" | "log"} yscale
 *
 * @typedef {object} TensorBundle
 * @property {"tensor"} kind
 * @property {number} number by which Python knows it
 * @property {number[]} shape
 * @property {string} dtype
 * @property {string} device
 * @property {number} bytes
 * @property {ViewName[]} views that make sense for it
 * @property {string} [text] its repr, where that does not stand above
 *
 * @typedef {"table" | "plot" | "heatmap" | "histogram" | "image"} ViewName
 * @typedef {{ plane: number, planes: number, index: number[] }} Plane of a tensor of more than two axes
 *
 * @typedef {object} TableBundle
 * @property {"table"} kind
 * @property {string[][]} cells
 * @property {number} height of the whole plane
 * @property {number} width
 * @property {number} row the first that is shown
 * @property {number} column
 * @property {number} rows of a page
 * @property {number} columns
 * @property {boolean} isVector one axis, as a column
 *
 * @typedef {object} HeatmapFacts
 * @property {"heatmap"} kind
 * @property {{ width: number, height: number, ends: string[], steps: number[] }} of the plane: its size, its
 *   least and largest value, and of how many rows and columns one was looked at
 * @typedef {Omit<ImageBundle, "kind"> & HeatmapFacts & Plane} HeatmapBundle
 *
 * @typedef {object} HistogramBundle
 * @property {"histogram"} kind
 * @property {number[]} counts
 * @property {number[]} edges
 * @property {{ nan: number, "-inf": number, inf: number }} other
 * @property {boolean} isWhole
 * @property {boolean} isBool
 * @property {number} step of so many elements one was counted
 * @property {number} size how many there are
 *
 * @typedef {number | boolean} ControlValue of a choice, its place among the options
 *
 * @typedef {object} ControlFacts a control (py_tensor/ui.py)
 * @property {"slider" | "number" | "checkbox" | "choice" | "button"} type
 * @property {number} number by which Python knows it
 * @property {string} label
 * @property {ControlValue} value
 * @property {number | null} [start]
 * @property {number | null} [stop]
 * @property {number} [step]
 * @property {boolean} [whole] only ints
 * @property {string[]} [options]
 *
 * @typedef {object} ControlsBundle
 * @property {"controls"} kind
 * @property {number | null} target what is run when they are first shown
 * @property {ControlFacts[]} controls
 * @property {Past} [past] of an earlier visit
 *
 * @typedef {{ parts: import("../sessions/record.js").Part[], failure: Outcome | null }} Past what stood below them
 * @typedef {import("../../worker/protocol.js").Outcome} Outcome
 *
 * @typedef {ControlsBundle | TextBundle | ErrorBundle | ShownBundle | ForeignBundle | ImageBundle | PlotBundle | TensorBundle
 *   | (TableBundle & Plane) | HeatmapBundle | HistogramBundle} Bundle
 */

/**
 * Give back at once the memory of a bundle that nobody will see: a bitmap's may be the GPU's.
 *
 * @param {Bundle} bundle
 */
export function discard(bundle) {
  if ("bitmap" in bundle) bundle.bitmap?.close();
}
