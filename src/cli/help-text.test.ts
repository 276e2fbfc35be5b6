import { expect, test } from "vitest";
import { helpText } from "./help-text.ts";

const text = `
One two three
four five.

Examples:
  lockstep a very long example that stays`;

test("breaks paragraphs anew and leaves indented lines alone", () => {
  expect(helpText({ columns: 10 }, text)).toBe(`
One two
three four
five.

Examples:
  lockstep a very long example that stays`);
  expect(helpText({ columns: 200 }, text)).toBe(text.replace("three\nfour", "three four"));
});
