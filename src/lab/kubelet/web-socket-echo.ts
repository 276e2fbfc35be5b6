// The WebSocket page of an echo server: every frame comes back. Only as much of RFC 6455 as that needs:
// a message in several frames comes back in as many.
import { createHash } from "node:crypto";
import type { IncomingRequest } from "../../environment/network.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";

const path = "/ws";

/** The same for every server (RFC 6455, 1.3). */
const acceptSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const opcodes = { close: 8, ping: 9, pong: 10 } as const;

/** Messages of suites have some bytes. */
const longestFrameBytes = 1024 * 1024;

/** The headers that change the protocol; undefined for a request without them. */
export function webSocketHeaders({
  target,
  headers,
}: Pick<IncomingRequest, "target" | "headers">): StringMap | undefined {
  const key = headers["sec-websocket-key"];
  const isAsked = headers["upgrade"]?.toLowerCase() === "websocket" && key !== undefined;
  if (!isAsked || new URL(target, "http://pod").pathname !== path) return undefined;
  const accept = createHash("sha1").update(`${key}${acceptSuffix}`).digest("base64");
  return { connection: "Upgrade", upgrade: "websocket", "sec-websocket-accept": accept };
}

export class WebSocketEcho {
  #rest: Buffer = Buffer.alloc(0);
  #isOver = false;

  /** The client has closed it, or sent what is no frame of a client. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The frames to send back for the next bytes of the client. */
  take(bytes: Uint8Array): Uint8Array {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const answers: Uint8Array[] = [];
    while (!this.#isOver) {
      const answer = this.#next();
      if (answer === undefined) break;
      answers.push(answer);
    }
    return Buffer.concat(answers);
  }

  /** Undefined until a whole frame is there. */
  #next(): Uint8Array | undefined {
    const all = this.#rest;
    const [first = 0, second = 0] = all;
    const short = second % 128;
    const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0;
    const bodyAt = 2 + lengthBytes + 4;
    if (all.length < bodyAt) return undefined;
    const length = lengthBytes === 0 ? short : Number(`0x${all.toString("hex", 2, bodyAt - 4)}`);
    if (second < 128 || length > longestFrameBytes) {
      this.#isOver = true;
      return undefined;
    }
    if (all.length < bodyAt + length) return undefined;
    this.#rest = all.subarray(bodyAt + length);
    const mask = all.subarray(bodyAt - 4, bodyAt);
    const body = all.subarray(bodyAt, bodyAt + length);
    const opcode = first % 16;
    this.#isOver = opcode === opcodes.close;
    if (opcode === opcodes.pong) return new Uint8Array();
    const answered = opcode === opcodes.ping ? first - opcodes.ping + opcodes.pong : first;
    const head = [answered, short, ...all.subarray(2, 2 + lengthBytes)];
    // A server's frames have no mask.
    return Buffer.from([...head, ...body.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
  }
}
