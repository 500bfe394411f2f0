/**
 * @typedef {object} Drawing what Python drew for the page (py_tensor/display/drawing.py)
 * @property {string} svg
 * @property {number} width of the SVG
 * @property {[width: number, height: number]} size for which it was drawn
 * @property {[left: number, right: number, top: number, bottom: number]} area inside the axes
 * @property {Record<"x" | "y", [low: number, high: number, isLog: boolean]>} axes of a chart
 * @property {Bar[][]} hits of a chart, for each series
 *
 * @typedef {[left: number, right: number, at: number, up: number, name: string, value: number]} Bar where the pointer
 *   finds it, where its end is, and what is said of it
 */

/**
 * The kinds of bundle that Python sends to the page to show. py_tensor/display/screen.py and rich.py, views.py and
 * saving.py of web/worker/python make them.
 *
 * @typedef {{ kind: "text", text: string }} TextBundle
 * @typedef {{ kind: "error", text: string }} ErrorBundle why there is nothing to show
 * @typedef {{ kind: "shown" }} ShownBundle a result that is already on the screen
 * @typedef {{ kind: "html" | "svg" | "png" | "jpeg", data: string, label: string }} ForeignBundle of an object of
 *   another library; PNG and JPEG in base64
 *
 * @typedef {object} ImageBundle
 * @property {"image"} kind
 * @property {number} width
 * @property {number} height
 * @property {number | null} scale CSS pixels per image pixel; null: as large as fits
 * @property {string} label empty if the element around the picture has a label
 * @property {FigureFacts | null} [figure] what is drawn around it
 * @property {Drawing} [drawing] of that
 * @property {ImageBitmap} [bitmap] either this,
 * @property {Uint8ClampedArray<ArrayBuffer>} [bytes] or its pixels,
 * @property {Uint8Array<ArrayBuffer>} [png] or, of an earlier visit, a PNG
 *
 * @typedef {object} FigureFacts
 * @property {string} title
 * @property {string} xlabel
 * @property {string} ylabel
 * @property {boolean} hasAxes
 * @property {boolean} hasValues its colours represent values
 * @property {boolean} isWhole those are integers
 * @property {Colours | null} colours of the bar; null: none
 * @property {[number, number, number, number] | null} extent the values at the left, right, bottom and top ends; null:
 *   row and column numbers
 * @property {{ width: number, height: number }} [of] the full number of columns and rows, if fewer are drawn
 *
 * @typedef {object} Thinned
 * @property {string} label
 * @property {string | null} [color] of CSS
 * @property {number} size number of points or elements before thinning
 * @property {number} step one of every `step` was used
 *
 * @typedef {(number | null)[]} Values null stands for a value that is not finite
 * @typedef {Thinned & { mark: "line" | "area" | "scatter", x: Values, y: Values, c?: Values | null, s?: number,
 *   colours?: Colours | null, marker?: string, dashes?: string, lineWidth?: number }} CurveSeries
 *   `c`: values that determine the colours of the points; `s`: the area of a point; `marker`: a path around (0, 0), ""
 *   for none; `dashes`: as in SVG, "" for none; `lineWidth`: 0 for no line. Missing ones have default values
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
 * @property {string[] | null} categories the names of the x values 0, 1, 2 and so on
 * @property {string} title
 * @property {string} xlabel
 * @property {string} ylabel
 * @property {"linear" | "log"} xscale
 * @property {"linear" | "log"} yscale
 * @property {Drawing} [drawing] missing in bundles of earlier builds
 * @property {number} [display] the number that it has in Python
 *
 * @typedef {object} TensorBundle
 * @property {"tensor"} kind
 * @property {number} number that identifies it in Python
 * @property {number[]} shape
 * @property {string} dtype
 * @property {string} device
 * @property {number} bytes
 * @property {ViewName[]} views the applicable ones
 * @property {Form[]} forms file formats in which it can be saved
 * @property {string} [text] its repr, if that is not shown above
 *
 * @typedef {"table" | "plot" | "heatmap" | "histogram" | "image"} ViewName
 * @typedef {"npy" | "csv" | "list"} Form
 * @typedef {{ kind: "file", text: string, bytes?: Uint8ClampedArray<ArrayBuffer> }} FileBundle of a tensor, to be saved
 * @typedef {{ plane: number, planes: number, index: number[] }} Plane one of the planes of a tensor with more than two
 *   axes
 *
 * @typedef {object} TableBundle
 * @property {"table"} kind
 * @property {string[][]} cells
 * @property {number} height number of rows of the whole plane
 * @property {number} width
 * @property {number} row the first row shown
 * @property {number} column
 * @property {number} rows on a page
 * @property {number} columns
 * @property {boolean} isVector the tensor has one axis, shown as a column
 *
 * @typedef {object} HeatmapFacts
 * @property {"heatmap"} kind
 * @property {{ width: number, height: number, steps: number[], blocks: number[] }} of the plane: its size, the steps
 *   between the rows and columns that were used, and how many of them each pixel is the mean of
 * @typedef {Omit<ImageBundle, "kind"> & HeatmapFacts & Plane} HeatmapBundle
 *
 * @typedef {number | boolean} ControlValue for a choice, the index of the option
 *
 * @typedef {object} ControlFacts a control (py_tensor/ui/__init__.py)
 * @property {"slider" | "number" | "checkbox" | "choice" | "button"} type
 * @property {number} number that identifies it in Python
 * @property {string} label
 * @property {ControlValue} value
 * @property {number | null} [start]
 * @property {number | null} [stop]
 * @property {number} [step]
 * @property {[number, number]} [limits] the ends of a slider, if `start` and `stop` are steps beyond them
 * @property {boolean} [whole] only ints
 * @property {string[]} [options]
 *
 * @typedef {object} ControlsBundle
 * @property {"controls"} kind
 * @property {number | null} target the function to run when they are first shown
 * @property {ControlFacts[]} controls
 * @property {Past} [past] of an earlier visit
 *
 * @typedef {{ parts: import("../sessions/record.js").Part[], failure: Outcome | null }} Past the output below them
 * @typedef {import("../../worker/protocol.js").Outcome} Outcome
 *
 * @typedef {ControlsBundle | TextBundle | ErrorBundle | ShownBundle | ForeignBundle | ImageBundle | PlotBundle | TensorBundle
 *   | FileBundle | (TableBundle & Plane) | HeatmapBundle} Bundle
 */

/**
 * Release at once the memory of a bundle that will not be shown: a bitmap may hold GPU memory.
 *
 * @param {Bundle} bundle
 */
export function discard(bundle) {
  if ("bitmap" in bundle) bundle.bitmap?.close();
}
