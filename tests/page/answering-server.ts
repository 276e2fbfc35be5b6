// A server of the page's API with fixed answers, over real sockets: it serves the built page, sends events
// when a test wants them, refuses, fails and goes away. It knows nothing of clusters.
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import type { State } from "../../src/server/api.ts";
import {
  doctorAt,
  incidentsAt,
  journeysAt,
  recordingAt,
  seriesAt,
  servicesAt,
  stateAt,
  truthAt,
  whatIfAnswer,
  whatIfInputs,
} from "./page-answers.ts";

/** Where set-up builds the page. */
const pageFolder = join(import.meta.dirname, "../../dist/ui");

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

/** The strictest policy that the page has to live with. */
const policy = "default-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

type Answers = Readonly<Record<string, (request: IncomingMessage, body: string) => unknown>>;

export class AnsweringServer {
  #server: Server | undefined;
  #port = 0;
  readonly #streams = new Set<ServerResponse>();
  /** `Last-Event-ID` of each page that opened the stream. */
  readonly resumedFrom: (string | undefined)[] = [];
  #events = 0;
  #phase: "fault" | "fixed" | undefined;
  /** Every request gets this status instead of an answer. */
  refusal: { readonly status: number; readonly error: string } | undefined;
  /** Paths of the API that fail. */
  readonly failing = new Set<string>();
  /** Changes the state that pages get. */
  adjust: (state: State) => State = (state) => state;
  journeys = journeysAt;
  doctor = doctorAt;
  truth = truthAt;
  /** The instant at which the answers are made; fixed for pictures. */
  now: () => number = Date.now;

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => void this.#answer(request, response));
    await new Promise<void>((resolve) => this.#server?.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Open pages lose their connection; `start` brings it back on the same port. */
  async stop(): Promise<void> {
    for (const stream of this.#streams) stream.destroy();
    this.#streams.clear();
    this.#server?.closeAllConnections();
    await new Promise((resolve) => this.#server?.close(resolve));
  }

  state(): State {
    return this.adjust(stateAt(this.now()));
  }

  send(type: string, data: unknown): void {
    this.#events += 1;
    const event = `id: ${this.#events}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const stream of this.#streams) stream.write(event);
  }

  readonly #answers: Answers = {
    "GET /api/v1/state": () => this.state(),
    "GET /api/v1/journeys": (request) => {
      const query = new URL(request.url ?? "", this.url).searchParams;
      const id = query.get("id");
      const service = query.get("service");
      const journeys = this.journeys(this.now())
        .filter((one) => id === null || one.id === id)
        .filter((one) => service === null || one.service === service);
      return { journeys, next: null };
    },
    "GET /api/v1/services": () => servicesAt(),
    "GET /api/v1/services/shop/web": () => this.truth(this.now()),
    "GET /api/v1/series": () => seriesAt(this.now()),
    "GET /api/v1/doctor": () => this.doctor(this.now()),
    "POST /api/v1/doctor": () => this.doctor(this.now()),
    "GET /api/v1/incidents": () => incidentsAt(this.now(), this.#phase),
    "POST /api/v1/incidents": (_, body) => {
      const { action } = JSON.parse(body) as { action: string };
      this.#phase = action === "start" ? "fault" : action === "fix" ? "fixed" : undefined;
      this.send("incident", {});
      return incidentsAt(this.now(), this.#phase);
    },
    "GET /api/v1/whatif": () => whatIfInputs,
    "POST /api/v1/whatif": (_, body) => {
      const { values } = JSON.parse(body) as { values: Record<string, number> };
      return whatIfAnswer(values);
    },
    "POST /api/v1/recordings": () => recordingAt(this.now()),
  };

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", this.url);
    if (!pathname.startsWith("/api/")) return await sendFile(pathname, response);
    if (this.refusal !== undefined) return json(response, this.refusal.status, this.refusal);
    if (pathname === "/api/v1/events") return this.#stream(request, response);
    const key = `${request.method} ${pathname}`;
    if (this.failing.has(pathname))
      return json(response, 500, { error: "It failed for this test." });
    const answer = this.#answers[key];
    if (answer === undefined) return json(response, 404, { error: `Nothing is at ${pathname}.` });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    json(response, 200, answer(request, Buffer.concat(chunks).toString("utf8")));
  }

  #stream(request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    response.write("retry: 200\n\n");
    this.resumedFrom.push(request.headers["last-event-id"] as string | undefined);
    this.#streams.add(response);
    response.on("close", () => this.#streams.delete(response));
    this.#events += 1;
    const reset = { state: this.state(), journeys: this.journeys(this.now()) };
    response.write(`id: ${this.#events}\nevent: reset\ndata: ${JSON.stringify(reset)}\n\n`);
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
  response.end(JSON.stringify(body));
}

async function sendFile(path: string, response: ServerResponse): Promise<void> {
  const name = path === "/" ? "/index.html" : path;
  try {
    const bytes = await readFile(join(pageFolder, name));
    response.writeHead(200, {
      "content-type": types[extname(name)] ?? "application/octet-stream",
      "content-security-policy": policy,
      "x-content-type-options": "nosniff",
    });
    response.end(bytes);
  } catch {
    response.writeHead(404).end(`no file ${name}; run npm run setup`);
  }
}
