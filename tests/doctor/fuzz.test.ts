// Whatever a file contains, reading it neither fails nor takes work beyond its length: each reader of the
// doctor is given broken, cut and mixed lines.
import fc from "fast-check";
import { expect, test } from "vitest";
import { diagnose } from "../../src/doctor/diagnose.ts";
import { evidenceIn, noFacts } from "../../src/doctor/evidence/evidence.ts";
import { LineSieve } from "../../src/doctor/evidence/line-sieve.ts";
import { signsIn, signWords } from "../../src/doctor/evidence/log-signs.ts";
import { parsePrometheusLine } from "../../src/doctor/evidence/prometheus-text.ts";
import { TextReader } from "../../src/doctor/evidence/text-reader.ts";
import { doctorCases } from "./cases.ts";
import { issueCases } from "./issue-cases.ts";
import { pastedCases } from "./pasted-cases.ts";
import { strangerCases } from "./stranger-cases.ts";

const realLines = [...doctorCases, ...pastedCases, ...strangerCases, ...issueCases].flatMap(
  ({ text }) => text.split("\n").slice(0, 12),
);

/** A real line that is cut, repeated, or has other characters in it. */
const brokenLine = fc
  .tuple(
    fc.constantFrom(...realLines),
    fc.nat(400),
    fc.nat(400),
    fc.string({ unit: "binary", maxLength: 20 }),
  )
  .map(([line, from, length, rubbish]) =>
    `${line.slice(0, from)}${rubbish}${line.slice(from + (length % 30))}`.replaceAll("\n", " "),
  );

const anyLine = fc.oneof(brokenLine, fc.constantFrom(...realLines), fc.string({ maxLength: 200 }));

test("no text makes a reader or a cause fail", () => {
  fc.assert(
    fc.property(fc.array(anyLine, { maxLength: 40 }), (lines) => {
      const facts = noFacts();
      const reader = new TextReader(facts, "a.log");
      for (const line of lines) reader.push(line);
      reader.end();
      const { findings } = diagnose(evidenceIn(facts));
      for (const { cause, fix } of findings) {
        expect(`${cause} ${fix.change} ${fix.reason}`).not.toMatch(/\bNaN\b|undefined|Infinity/);
      }
    }),
  );
});

test("no bytes make the sieve fail", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 10 }), (chunks) => {
      const reader = new TextReader(noFacts(), "a.log");
      const sieve = new LineSieve(reader);
      for (const chunk of chunks) sieve.push(chunk);
      sieve.end();
      reader.end();
      const all = Buffer.concat(chunks).toString("latin1");
      const ends = all.split("\n").length - 1;
      expect(sieve.lines).toBe(ends + (all === "" || all.endsWith("\n") ? 0 : 1));
    }),
  );
});

test("no line of metrics fails", () => {
  const part = fc.constantFrom(
    "workqueue_depth",
    "{",
    '"',
    "\\",
    "}",
    "=",
    " ",
    "1",
    "NaN",
    "name",
    ",",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      const sample = parsePrometheusLine(parts.join(""));
      expect(sample?.name ?? "workqueue").toMatch(/^[a-zA-Z_:]/);
    }),
  );
});

/**
 * A pattern that starts again at each character, or tries combinations, would need hours for such lines.
 * Lines are cut long before this length when they are read.
 */
const fillerBytes = 100_000;

test("the work on a line grows with its length only", () => {
  for (const filler of [" ", "a", '"', '\\"', "1.", "a="]) {
    const long = filler.repeat(Math.floor(fillerBytes / filler.length));
    for (const word of new Set(signWords)) {
      for (const line of [`${long}${word}${long}`, `I0101 00:00:00.0 1 a.go:1] ${word} ${long}!`]) {
        const { signs = [] } = signsIn(line, [word]) ?? {};
        expect(signs.length).toBeLessThanOrEqual(2);
      }
    }
  }
});
