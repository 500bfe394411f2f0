/**
 * What Python asks the page to show: one kind of bundle each. py_tensor/display/screen.py,
 * web/worker/python/rich.py, views.py and saving.py there make them.
 *
 * @typedef {{ kind: "text", text: string }} TextBundle
 * @typedef {{ kind: "error", text: string }} ErrorBundle why there is nothing to show
 * @typedef {{ kind: "shown" }} ShownBundle a result that is on the screen already
 * @typedef {{ kind: "html" | "svg" | "png" | "jpeg", data: string, label: string }} ForeignBundle of an object of
 *   another library; PNG and JPEG in base64
 *
 * @typedef {object} ImageBundle
 * @property {"image"} kind
 * @property {number} width
 * @property {number} height
 * @property {number | null} scale CSS pixels for each of its own; null: as fits
 * @property {string} label empty where the picture stands in something that has one
 * @property {FigureFacts | null} [figure] what is drawn around it
 * @property {ImageBitmap} [bitmap] either this,
 * @property {Uint8ClampedArray<ArrayBuffer>} [bytes] or its pixels,
 * @property {Uint8Array<ArrayBuffer>} [png] or, of an earlier visit, a PNG
 *
 * @typedef {object} FigureFacts
 * @property {string} title
 * @property {string} xlabel
 * @property {string} ylabel
 * @property {boolean} hasAxes
 * @property {boolean} hasValues its colours stand for values
 * @property {boolean} isWhole those are integers
 * @property {Colours | null} colours of the bar; null: none
 * @property {[number, number, number, number] | null} extent the values at the left, right, bottom and top ends; null:
 *   rows and columns are counted
 * @property {{ width: number, height: number }} [of] how many columns and rows there are, where fewer are drawn
 *
 * @typedef {object} Thinned
 * @property {string} label
 * @property {string | null} [color] of CSS
 * @property {number} size how many points or elements there were before it was thinned out
 * @property {number} step of so many one was looked at
 *
 * @typedef {(number | null)[]} Values null is not finite
 * @typedef {Thinned & { mark: "line" | "area" | "scatter", x: Values, y: Values, c?: Values | null, s?: number,
 *   colours?: Colours | null }} CurveSeries `c`: by which each point has a colour; `s`: the area of a point
 * @typedef {Thinned & { mark: "bar", x: Values, y: Values, width: number }} BarSeries
 * @typedef {Thinned & { mark: "contour", x: number[], y: number[], z: Values[], levels: number[],
 *   colours: Colours | null }} ContourSeries
 *
 * @typedef {object} Bins
 * @property {"hist"} mark
 * @property {number[]} counts
 * @property {number[]} edges
 * @property {{ nan: number, "-inf": number, inf: number }} other
 * @property {boolean} isWhole
 * @typedef {Thinned & Bins} HistogramSeries
 * @typedef {CurveSeries | BarSeries | HistogramSeries | ContourSeries} Series
 * @typedef {import("../charts/colours.js").Colours} Colours
 *
 * @typedef {object} PlotBundle
 * @property {"plot"} kind
 * @property {Series[]} series
 * @property {string[] | null} categories the names of 0, 1, 2 and so on of x
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
 * @property {Form[]} forms in which it can be saved
 * @property {string} [text] its repr, where that does not stand above
 *
 * @typedef {"table" | "plot" | "heatmap" | "histogram" | "image"} ViewName
 * @typedef {"npy" | "csv" | "list"} Form
 * @typedef {{ kind: "file", text: string, bytes?: Uint8ClampedArray<ArrayBuffer> }} FileBundle of a tensor, to be saved
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
 * @property {{ width: number, height: number, steps: number[] }} of the plane: its size, and of how many rows and
 *   columns one was looked at
 * @typedef {Omit<ImageBundle, "kind"> & HeatmapFacts & Plane} HeatmapBundle
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
 *   | FileBundle | (TableBundle & Plane) | HeatmapBundle} Bundle
 */

/**
 * Give back at once the memory of a bundle that nobody will see: a bitmap's may be the GPU's.
 *
 * @param {Bundle} bundle
 */
export function discard(bundle) {
  if ("bitmap" in bundle) bundle.bitmap?.close();
}
