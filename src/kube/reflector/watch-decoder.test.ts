import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { WatchDecodeError, WatchDecoder, type WatchEvent } from "./watch-decoder.ts";

/** Bytes as servers send them: with and without fields, blank lines, characters of many bytes. */
const recorded = Buffer.from(
  [
    '{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"web-0","resourceVersion":"12"}}}',
    "",
    '{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"15","creationTimestamp":null}}}',
    '{"type":"MODIFIED","object":{"metadata":{"name":"käse-🧀","annotations":{"a":"line\\nbreak"}}}}',
    '{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}',
    "",
  ].join("\n"),
);

const decoded: readonly WatchEvent[] = [
  { type: "ADDED", object: { kind: "Pod", metadata: { name: "web-0", resourceVersion: "12" } } },
  {
    type: "BOOKMARK",
    object: { kind: "Pod", metadata: { resourceVersion: "15", creationTimestamp: null } },
  },
  {
    type: "MODIFIED",
    object: { metadata: { name: "käse-🧀", annotations: { a: "line\nbreak" } } },
  },
  { type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } },
];

function decode(chunks: readonly Uint8Array[], decoder = new WatchDecoder()): WatchEvent[] {
  const events: WatchEvent[] = [];
  for (const chunk of chunks) {
    decoder.push(chunk);
    for (let event = decoder.next(); event !== undefined; event = decoder.next()) {
      events.push(event);
    }
  }
  return events;
}

describe("decoding", () => {
  test("gives every event once, however the bytes are cut", () => {
    const cuts = fc.uniqueArray(fc.nat(recorded.length), { maxLength: 12 });
    fc.assert(
      fc.property(cuts, (places) => {
        const edges = [0, ...places.sort((a, b) => a - b), recorded.length];
        const chunks = edges.slice(1).map((to, index) => recorded.subarray(edges[index], to));
        expect(decode(chunks)).toEqual(decoded);
      }),
    );
  });

  test("takes any bytes, not only Buffers", () => {
    expect(decode([new Uint8Array(recorded)])).toEqual(decoded);
  });

  test("leaves out a last line that was cut off", () => {
    expect(decode([recorded.subarray(0, recorded.length - 1)])).toEqual(decoded.slice(0, 3));
  });

  test.each([
    ["not JSON", "nonsense\n", "a line of the watch is not JSON"],
    ["not an event", '{"kind":"Status"}\n', "a line of the watch is JSON but not a watch event"],
    ["a list", "[]\n", "a line of the watch is JSON but not a watch event"],
  ])("refuses a line that is %s", (_, line, message) => {
    expect(() => decode([Buffer.from(line)])).toThrow(new WatchDecodeError(message));
  });

  test("keeps no more of a line than the bound, whole or in pieces", () => {
    const tooLong = new WatchDecodeError("a watch event is longer than 10 bytes");
    const bounded = () => new WatchDecoder({ maxLineBytes: 10 });
    expect(() => decode([Buffer.from("12345678901\n")], bounded())).toThrow(tooLong);
    expect(() => decode([Buffer.from("123456"), Buffer.from("78901")], bounded())).toThrow(tooLong);
  });
});
