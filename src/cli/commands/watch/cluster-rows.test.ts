import { expect, test } from "vitest";
import { at, clusterOf, picture, uncoloured } from "../../../../tests/cli/watched-changes.ts";
import { clusterRows } from "./live-lines.ts";

const detail = "GET https://10.0.0.1:6443/apis/discovery.k8s.io/v1: connection refused";

test.each([
  [120, `✗ alpha unreachable for 12 s: ${detail}`],
  [80, "✗ alpha unreachable for 12 s: connection refused"],
  [40, "✗ alpha unreachable for 12 s: connectio…"],
])("in %i columns it is said why a cluster is not heard", (width, row) => {
  const clusters = [clusterOf("alpha", { type: "unreachable", since: at(48_000), detail })];
  const options = { width, most: 6, paint: uncoloured };
  expect(clusterRows(picture({ clusters }), options)).toEqual([row]);
});
