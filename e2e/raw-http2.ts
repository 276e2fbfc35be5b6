// For the proxy's tests: one HTTP/2 request with whatever header fields are given, which no ordinary
// library would send.
import { connect } from "node:net";

export type Fields = readonly (readonly [name: string, value: string])[];

/** HEADERS and DATA, SETTINGS, RST_STREAM. */
const types = { data: 0, headers: 1, reset: 3, settings: 4 };
const endStream = 1;
const endHeaders = 4;
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** Over a connection of its own without TLS: the answer's body, or how the stream was ended. */
export function askHttp2(
  place: { readonly host: string; readonly port: number },
  fields: Fields,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(place, () => {
      const head = frame(types.headers, endHeaders + endStream, 1, block(fields));
      const settings = frame(types.settings, 0, 0, Buffer.alloc(0));
      socket.write(Buffer.concat([Buffer.from(preface), settings, head]));
    });
    let unread: Buffer = Buffer.alloc(0);
    let body = "";
    const end = (said: string): void => {
      resolve(said);
      socket.destroy();
    };
    socket.on("error", reject);
    socket.on("close", () => end(`closed after ${body}`));
    socket.on("data", (chunk) => {
      unread = Buffer.concat([unread, chunk]);
      for (;;) {
        const length = unread.length < 9 ? 0 : unread.readUIntBE(0, 3);
        if (unread.length < 9 + length) return;
        const [type, flags = 0] = [unread[3], unread[4]];
        if (type === types.reset) end("reset");
        if (type === types.data) body += unread.toString("latin1", 9, 9 + length);
        if (type === types.data && (flags & endStream) !== 0) end(body);
        unread = unread.subarray(9 + length);
      }
    });
  });
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Each field as a literal without an index; names and values of fewer than 127 bytes. */
function block(fields: Fields): Buffer {
  const text = (value: string): Buffer => {
    const bytes = Buffer.from(value, "latin1");
    return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  };
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]),
  );
}
