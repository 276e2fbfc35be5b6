import { expect, test } from "vitest";
import { LineSplitter, wholeLines } from "./line-splitter.ts";

test("blank lines are counted and never given out", () => {
  const splitter = new LineSplitter({ bytesMax: 100 });
  const blank = Buffer.alloc(1_000_000, "\n");
  const lines = [...splitter.push(blank), ...splitter.push(Buffer.from("\r\n\r\na\n"))];
  expect(lines.map(({ number, text }) => [number, text])).toEqual([[1_000_003, "a"]]);
});

test("only so much is kept of a line, in chunks of any size", () => {
  const splitter = new LineSplitter({ bytesMax: 10 });
  const bytes = Buffer.from(`${"é".repeat(50)}\nshort\n`);
  const lines = [...bytes].flatMap((byte) => [...splitter.push(Buffer.from([byte]))]);
  expect(lines.map(({ number, text, isCut }) => [number, text, isCut])).toEqual([
    [1, "é".repeat(5), true],
    [2, "short", false],
  ]);
});

test("of a line without its end, nothing is given", async () => {
  expect(await textsOf(["a\nb", "c\nd"], 10)).toEqual(["a", "bc"]);
});

test.each([[["12345678901\n"]], [["123456", "78901"]]])(
  "a line that is too long ends the stream at once: %j",
  async (chunks) => {
    await expect(textsOf([...chunks, "\nnever read\n"], 10)).rejects.toThrow(
      "a line is longer than 10 bytes",
    );
  },
);

async function textsOf(chunks: readonly string[], bytesMax: number): Promise<string[]> {
  const texts: string[] = [];
  const bytes = chunks.map((chunk) => Buffer.from(chunk));
  for await (const { text } of wholeLines(streamOf(bytes), bytesMax)) texts.push(text);
  return texts;
}

async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}
