import { expect, it } from "vitest";
import { WebSocketEcho, webSocketHeaders } from "./web-socket-echo.ts";

/** A frame as a client sends it. */
function frame(first: number, body: Uint8Array): Buffer {
  const mask = [1, 2, 3, 4];
  const { length } = body;
  const size = length < 126 ? [128 + length] : [254, Math.floor(length / 256), length % 256];
  const masked = body.map((byte, at) => byte ^ (mask[at % 4] ?? 0));
  return Buffer.from([first, ...size, ...mask, ...masked]);
}

const text = 0x81;
const binary = 0x82;
const close = 0x88;
const ping = 0x89;
const pong = 0x8a;
const hello = Buffer.from("Hello");

it("answers with the key of RFC 6455, section 1.3", () => {
  const headers = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };
  expect(webSocketHeaders({ target: "/ws?a=b", headers })).toEqual({
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
  });
  expect(webSocketHeaders({ target: "/", headers })).toBeUndefined();
  expect(webSocketHeaders({ target: "/ws", headers: { upgrade: "h2c" } })).toBeUndefined();
});

it("sends frames back without a mask, however their bytes arrive", () => {
  const long = Buffer.alloc(300, 7);
  const sent = Buffer.concat([frame(text, hello), frame(binary, long), frame(ping, hello)]);
  const expected = Buffer.concat([
    Buffer.from([text, 5, ...hello]),
    Buffer.from([binary, 126, 1, 44, ...long]),
    Buffer.from([pong, 5, ...hello]),
  ]);
  for (const size of [1, 7, sent.length]) {
    const echo = new WebSocketEcho();
    const got: Uint8Array[] = [];
    for (let at = 0; at < sent.length; at += size)
      got.push(echo.take(sent.subarray(at, at + size)));
    expect(Buffer.concat(got)).toEqual(expected);
    expect(echo.isOver).toBe(false);
  }
});

it("is over after a close, which comes back, and after bytes that no client may send", () => {
  const closed = new WebSocketEcho();
  expect(closed.take(Buffer.concat([frame(close, hello), frame(text, hello)]))).toEqual(
    Buffer.from([close, 5, ...hello]),
  );
  expect(closed.isOver).toBe(true);
  for (const wrong of [
    [text, 5, 0, 0, 0, 0, 0],
    [text, 255, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
  ]) {
    const echo = new WebSocketEcho();
    expect([echo.take(Buffer.from(wrong)).length, echo.isOver]).toEqual([0, true]);
  }
});
