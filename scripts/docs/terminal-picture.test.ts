import { expect, test } from "vitest";
import { DocsTerminal, textOf } from "./docs-terminal.ts";
import { readPicture, terminalPicture } from "./terminal-picture.ts";

const esc = "\u001b[";

function shown(...written: readonly string[]) {
  const terminal = new DocsTerminal({ columns: 80, showsErrors: false });
  for (const text of written) terminal.write(text);
  return terminal.lines();
}

test("a terminal shows what is left of what was drawn over", () => {
  expect(textOf(shown("kept\n", "one\ntwo\n", `${esc}2A\r${esc}Jthree\n`, "four\n"))).toBe(
    "kept\nthree\nfour\n",
  );
  expect(textOf(shown("progress 1", `\r${esc}K`, "done\n"))).toBe("done\n");
});

test("a run has one style, and a blank joins the run before it", () => {
  expect(shown(`a ${esc}33mlate  ${esc}0m b\n\n${esc}1mc`)).toEqual([
    [
      { text: "a ", style: "plain" },
      { text: "late   ", style: "late" },
      { text: "b", style: "plain" },
    ],
    [],
    [{ text: "c", style: "strong" }],
  ]);
});

test("a control sequence that it does not know is an error, not a wrong picture", () => {
  expect(() => shown(`${esc}5;5H`)).toThrow("ESC[5;5H");
});

test("progress and errors are shown only where they are wanted", () => {
  const terminal = new DocsTerminal({ columns: 80, showsErrors: true });
  terminal.writeError("working\n");
  expect(textOf(terminal.lines())).toBe("working\n");
});

test("a picture has its lines as text, each run as wide as its columns", () => {
  const lines = shown(`<a> & "b" ${esc}31mlost\n\nend`);
  const svg = terminalPicture(lines, { label: 'the "screen"' });
  expect(svg).toContain('viewBox="0 0 150 80"');
  expect(svg).toContain('<tspan x="16" textLength="84">&lt;a&gt; &amp; &quot;b&quot; </tspan>');
  expect(svg).toContain('<tspan x="100" textLength="33.6" class="failed">lost</tspan>');
  expect(readPicture(svg)).toEqual({ label: 'the "screen"', lines });
});
