// Bodies are read whole, within their bound, and the metrics see every end.
import { expect, it } from "vitest";
import { meteredBody, readBounded } from "./http-client-body.ts";

it("joins the chunks of a body within its bound", async () => {
  const body = await readBounded(chunks(["ab", "cd"]), 4, "GET /x");
  expect(body.toString()).toBe("abcd");
});

it("fails beyond the bound, says what to do, and leaves the rest unread", async () => {
  const left: string[] = [];
  await expect(readBounded(chunks(["ab", "cd", "ef"], left), 3, "GET /x")).rejects.toMatchObject({
    code: "FAILED",
    message: "GET /x: the answer is longer than 3 bytes; ask for it in pages (limit=500)",
  });
  expect(left).toEqual(["ef"]);
});

it("cuts at the bound when asked to", async () => {
  const left: string[] = [];
  const body = await readBounded(chunks(["ab", "cd", "ef"], left), 3, "GET /x", "cut");
  expect(body.toString()).toBe("abc");
  expect(left).toEqual(["ef"]);
});

it("meters every chunk and the end, whether read to it, left or broken", async () => {
  const ends = ["read", "left", "broken"] as const;
  const metered: string[] = [];
  for (const end of ends) {
    const meter = {
      received: (bytes: number) => metered.push(`${end} ${bytes}`),
      over: () => metered.push(`${end} over`),
    };
    const source = end === "broken" ? breaking() : chunks(["ab", "c"]);
    try {
      for await (const _ of meteredBody(source, meter)) if (end === "left") break;
      metered.push(`${end} without failure`);
    } catch (error) {
      metered.push(`${end} with ${String(error)}`);
    }
  }
  expect(metered).toEqual([
    "read 2",
    "read 1",
    "read over",
    "read without failure",
    "left 2",
    "left over",
    "left without failure",
    "broken 1",
    "broken over",
    "broken with Error: broken",
  ]);
});

/** The unread rest is in `left`. */
async function* chunks(texts: readonly string[], left: string[] = []): AsyncGenerator<Uint8Array> {
  const rest = [...texts];
  try {
    for (let text = rest.shift(); text !== undefined; text = rest.shift()) yield Buffer.from(text);
  } finally {
    left.push(...rest);
  }
}

async function* breaking(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("x");
  throw new Error("broken");
}
