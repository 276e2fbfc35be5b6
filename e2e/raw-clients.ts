// For the proxy's tests: clients that say what an ordinary library would not, or not so.
import {
  connect as connectHttp2,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { connect, createServer, type Server, type TcpNetConnectOpts } from "node:net";

/** Writes the parts one after the other; everything that comes back until the other side ends. */
export function exchange(
  place: TcpNetConnectOpts,
  parts: readonly (string | Buffer)[],
): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(place, () => {
      for (const part of parts) socket.write(part);
    });
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    socket.on("close", () => resolve(answer));
    socket.on("error", (error) => (answer === "" ? reject(error) : resolve(answer)));
  });
}

/** Writes each part when the one before was answered, and ends after the last answer. */
export function talk(
  place: TcpNetConnectOpts,
  parts: readonly (string | Uint8Array)[],
): Promise<string> {
  return new Promise((resolve, reject) => {
    const [first = "", ...left] = parts;
    let answer = "";
    const socket = connect(place, () => socket.write(first));
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
      const next = left.shift();
      if (next === undefined) socket.end();
      else socket.write(next);
    });
    socket.on("close", () => resolve(answer));
    socket.on("error", reject);
  });
}

/** The header of the PROXY protocol's version 2 for a TCP connection over IPv4. */
export function proxyVersion2(source: string, destination: string): Buffer {
  const signature = Buffer.from("0d0a0d0a000d0a515549540a", "hex");
  const bytes = (address: string) => address.split(".").map(Number);
  const addresses = [...bytes(source), ...bytes(destination), 0x13, 0x88, 0, 80];
  return Buffer.concat([signature, Buffer.from([0x21, 0x11, 0, 12, ...addresses])]);
}

export interface Call {
  readonly path: string;
  readonly host: string;
  readonly message: Buffer;
}

export interface CallResult {
  readonly status: number;
  /** Hexadecimal. */
  readonly body: string;
  readonly trailers: IncomingHttpHeaders;
}

/** A gRPC call as it looks on the wire. */
export function call(url: string, { path, host, message }: Call): Promise<CallResult> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(url, { rejectUnauthorized: false, servername: host });
    session.on("error", reject);
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      ":authority": host,
      "content-type": "application/grpc",
      te: "trailers",
    });
    const chunks: Buffer[] = [];
    let status = 0;
    let trailers: IncomingHttpHeaders = {};
    stream.on("response", (headers) => {
      status = Number(headers[":status"]);
    });
    stream.on("trailers", (headers) => {
      trailers = Object.fromEntries(Object.entries(headers));
    });
    stream.on("data", (chunk: Buffer) => chunks.push(chunk));
    stream.on("error", reject);
    stream.on("close", () => {
      session.close();
      resolve({ status, body: Buffer.concat(chunks).toString("hex"), trailers });
    });
    stream.end(message);
  });
}

/** The other side of a call: echoes the request, and this message in a trailer. */
export function echoCall(stream: ServerHttp2Stream, message: string): void {
  const headers = { ":status": 200, "content-type": "application/grpc" };
  stream.respond(headers, { waitForTrailers: true });
  stream.on("wantTrailers", () => {
    stream.sendTrailers({ "grpc-status": "0", "grpc-message": message });
  });
  stream.on("error", () => undefined);
  stream.pipe(stream);
}

/** Accepts every upgrade, and then echoes its input. */
export function upgradingServer(): Server {
  return createServer((socket) => {
    let isUpgraded = false;
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      if (isUpgraded) socket.write(`echo: ${chunk.toString("latin1")}`);
      else
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        );
      isUpgraded = true;
    });
  });
}
