import { expect, test } from "vitest";
import { result } from "../../../../tests/incident/incident-result.ts";
import { paintFor } from "../../terminal/paint.ts";
import { sideBySideFoot, sideBySideLines } from "./summary.ts";

const options = { width: 80, paint: paintFor({ colours: false }) };

test("every success measure has stock beside Lockstep, and the goal where there is one", () => {
  expect(sideBySideLines({ ...result, isFixed: true }, options).join("\n")).toMatchInlineSnapshot(`
    "throttled-controller, with the fix
                                  stock (model)       Lockstep  goal for Lockstep
      slowest removal at a proxy     1 min 14 s       0.583 ms  ✓ as in quiet times
      requests sent                       1,338          1,338
      requests lost                         853              2  ✗ none
      until the ghost is named                –            2 s  ✓ at once"
  `);
  expect(sideBySideFoot([result, result])).toBe("Lockstep met 4 of 6 goals.");
});
