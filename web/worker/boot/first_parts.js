/** The parts for the Python of this worker: whoever imports this module first has them fetched. */

import { Parts } from "./parts.js";

export const parts = new Parts();
