// How an API server in a process of its own gets the logs of pods, which the lab's process keeps: it
// asks for them over loopback, as a real server asks kubelets. A request needs the lab's token.

import type { PodLogRequest, PodLogs } from "../../components/pod-logs.ts";
import { type BodyWriter, type Network, NetworkError } from "../../environment/network.ts";
import type { Random } from "../../environment/random.ts";
import {
  optionalBoolean,
  optionalNumber,
  optionalString,
  requiredRecord,
} from "../../kube/kinds/fields.ts";

/** The address of the logs; plain data for another process. */
export interface PodLogAddress {
  readonly url: string;
  readonly token: string;
}

export interface PodLogService {
  readonly address: PodLogAddress;
  /** Idempotent. */
  stop(): Promise<void>;
}

const host = "127.0.0.1";
const path = "/logs";

/** The request is a dozen short fields. */
const longestRequestBytes = 64 * 1024;

export async function servePodLogs(options: {
  readonly network: Network;
  readonly random: Random;
  readonly logs: PodLogs;
}): Promise<PodLogService> {
  const { network, random, logs } = options;
  const token = random.uuid();
  const listener = await network.listen({ host, port: 0 }, async (exchange) => {
    const { request } = exchange;
    if (request.headers["authorization"] !== `Bearer ${token}`) {
      exchange.respond(401).end();
      return;
    }
    const asked = await readRequest(request.body);
    const writer = exchange.respond(200, { "content-type": "text/plain" });
    // So that the head goes out before the first line does.
    writer.write(new Uint8Array());
    await logs.write(asked, writer, request.closed);
    writer.end();
  });
  return {
    address: { url: `http://${host}:${listener.port}${path}`, token },
    stop: () => listener.close(),
  };
}

export function remotePodLogs(network: Network, { url, token }: PodLogAddress): PodLogs {
  return {
    async write(asked: PodLogRequest, writer: BodyWriter, closed: AbortSignal): Promise<void> {
      try {
        const response = await network.request({
          method: "POST",
          url,
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: Buffer.from(JSON.stringify(asked)),
          signal: closed,
        });
        for await (const chunk of response.body) {
          writer.write(chunk);
          await writer.drained();
        }
      } catch (error) {
        // The reader has had enough, or the lab is ending: the log ends with it.
        if (!(error instanceof NetworkError)) throw error;
      }
    },
  };
}

async function readRequest(body: AsyncIterable<Uint8Array>): Promise<PodLogRequest> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > longestRequestBytes) throw new RangeError("a request for logs is too long");
  }
  const fields = requiredRecord(JSON.parse(Buffer.concat(chunks).toString("utf8")), "request");
  const text = (name: string): string => optionalString(fields, name) ?? "";
  const flag = (name: string): boolean => optionalBoolean(fields, name) ?? false;
  return {
    namespace: text("namespace"),
    name: text("name"),
    uid: text("uid"),
    container: text("container"),
    follow: flag("follow"),
    previous: flag("previous"),
    timestamps: flag("timestamps"),
    tailLines: optionalNumber(fields, "tailLines"),
    sinceSeconds: optionalNumber(fields, "sinceSeconds"),
  };
}
