// Runs contract cases against one server and writes down what it answered. The same client talks to
// a real server over TLS, to the embedded one over a socket, and to the embedded one in virtual
// time, because it is made of an environment's network and timers.
import type { Environment } from "../../src/environment/environment.ts";
import type { ClientTls, IncomingResponse } from "../../src/environment/network.ts";
import type {
  CallOptions,
  CaseWorld,
  ContractCase,
  Reply,
  Step,
  Transcript,
  WatchOptions,
} from "./contract-case.ts";
import { normalise } from "./normalise.ts";

export interface ContractServer {
  readonly environment: Pick<Environment, "clock" | "network" | "timers">;
  readonly url: string;
  readonly token: string;
  readonly tls?: ClientTls;
}

/** The user agent of the client: managed fields are named after it. */
const userAgent = "contract/v1.0";

/** A watch without an event for so long is complete. */
const watchQuietMs = 15_000;

const untilPollMs = 20;

/** An authorizer follows roles within milliseconds. */
const untilLongestMs = 30_000;

/** Runs one case; `name` is its own name on this server. */
export async function runCase(
  server: ContractServer,
  contractCase: ContractCase,
  name: string,
): Promise<Transcript> {
  const startedMs = server.environment.clock.wallMs();
  const requests: string[] = [];
  const steps: Step[] = [];
  const record = (step: Step, body: string): void => {
    steps.push(step);
    requests.push(`${step.request}\n${body}`);
  };
  await contractCase.run(caseWorld(server, name, record));
  return normalise(steps, { name, startedMs, requests });
}

function caseWorld(
  server: ContractServer,
  name: string,
  record: (step: Step, body: string) => void,
): CaseWorld {
  return {
    name,
    async open() {
      const body = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
      const reply = await call(server, "POST", "/api/v1/namespaces", body);
      if (reply.status !== 201) throw new Error(`cannot make namespace ${name}: ${reply.text}`);
    },
    async call(method, path, body, options) {
      const reply = await call(server, method, path, body, options);
      const { text: _, ...step } = reply;
      const compared = options?.project?.(step.body) ?? step.body;
      record({ ...step, body: compared }, bytesOf(body)?.toString("utf8") ?? "");
      return reply;
    },
    async watch(path, options) {
      const step = await watch(server, path, options);
      record(step, "");
      return Array.isArray(step.body) ? step.body : [];
    },
    async untilStatus(path, status, options) {
      const until = server.environment.clock.wallMs() + untilLongestMs;
      while ((await call(server, "GET", path, undefined, options)).status !== status) {
        if (server.environment.clock.wallMs() > until) throw new Error(`${path} is not ${status}`);
        await server.environment.timers.sleep(untilPollMs);
      }
    },
    sleep: (ms) => server.environment.timers.sleep(ms),
  };
}

/** Plain bookmarks come when the server thinks it is time; only the end of a list has a place. */
function isReported(event: unknown): boolean {
  const text = JSON.stringify(event);
  return !text.startsWith('{"type":"BOOKMARK"') || text.includes("k8s.io/initial-events-end");
}

async function call(
  server: ContractServer,
  method: string,
  path: string,
  body?: unknown,
  options?: CallOptions,
): Promise<Reply> {
  const response = await send(server, method, path, body, options);
  const chunks: Uint8Array[] = [];
  for await (const chunk of response.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const { status, headers } = response;
  return { request: `${method} ${path}`, status, headers, body: parsed(text), text };
}

/** Reads a watch to the number of events wanted, or to its end. */
async function watch(
  server: ContractServer,
  path: string,
  options: WatchOptions = {},
): Promise<Step> {
  const quiet = new AbortController();
  const response = await send(server, "GET", path, undefined, options, quiet.signal);
  const events: unknown[] = [];
  let during: Promise<void> | undefined;
  const startAfter = (): void => {
    if (events.length >= (options.after ?? 0)) during ??= options.during?.();
  };
  startAfter();
  const cancel = server.environment.timers.after(watchQuietMs, () => quiet.abort());
  let rest = "";
  try {
    for await (const chunk of response.body) {
      const lines = (rest + Buffer.from(chunk).toString("utf8")).split("\n");
      rest = lines.pop() ?? "";
      events.push(
        ...lines
          .filter((line) => line !== "")
          .map(parsed)
          .filter(isReported),
      );
      startAfter();
      if (options.events !== undefined && events.length >= options.events) break;
    }
    if (rest !== "") events.push(parsed(rest));
  } catch (error) {
    if (!quiet.signal.aborted) throw error;
    events.push("nothing more came");
  } finally {
    cancel();
  }
  await during;
  const kept = options.events === undefined ? events : events.slice(0, options.events);
  const { status, headers } = response;
  return { request: `GET ${path}`, status, headers, body: kept };
}

function send(
  server: ContractServer,
  method: string,
  path: string,
  body: unknown,
  { contentType = "application/json", headers = {}, token = server.token }: CallOptions = {},
  signal?: AbortSignal,
): Promise<IncomingResponse> {
  const bytes = bytesOf(body);
  return server.environment.network.request({
    method,
    url: server.url + path,
    headers: {
      "user-agent": userAgent,
      ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
      ...(bytes === undefined || contentType === "" ? {} : { "content-type": contentType }),
      ...headers,
    },
    ...(bytes === undefined ? {} : { body: bytes }),
    ...(server.tls === undefined ? {} : { tls: server.tls }),
    ...(signal === undefined ? {} : { signal }),
  });
}

function bytesOf(body: unknown): Buffer | undefined {
  if (body === undefined || Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body), "utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
