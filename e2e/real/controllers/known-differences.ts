// Intended differences between the lab's endpoint controllers and the real ones, with the reason.
// The random histories avoid them.
import type { RealResult } from "../results.ts";

export const knownDifferences: RealResult = {
  section: "controllers-differences",
  title: "Endpoint controllers: known differences",
  text: "The random histories leave these cases out, because the two differ there.",
  facts: {},
  columns: ["real", "lab", "why"],
  rows: [
    [
      "The mirroring controller mixes up the families of slices when the ports of Endpoints with " +
        "IPv4 and IPv6 addresses change: it tries to create a slice that exists, fails, and tries " +
        "again after 1, 2, 4 … 100 s until Go's map order helps it.",
      "The copies are right at once.",
      "An oversight (reconciler_helpers.go removeSlice compares names that are empty), whose " +
        "outcome is up to chance.",
    ],
    [
      "Endpoints that are new in a slice stand in the order of Go's maps, and which of several " +
        "slices gets them is drawn too.",
      "They stand in the order of the pods.",
      "A run of the lab must repeat from its seed.",
    ],
    [
      "The endpointslice controller logs why it gives or takes topology hints, and the manager " +
        "logs the start of each controller from verbosity 1 on.",
      "Neither line is written; the Events are.",
      "Nothing in the lab reads them.",
    ],
  ],
};
