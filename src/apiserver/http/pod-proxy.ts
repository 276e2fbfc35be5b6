// Requests to a pod through the API server: `pods/https:NAME:10257/proxy/metrics`. They are passed to the
// address of the pod, without the credentials of the client, and its answer is passed back.
import {
  type BodyWriter,
  type Network,
  NetworkError,
  type ServerExchange,
} from "../../environment/network.ts";
import { isRecord } from "../../kube/kinds/fields.ts";
import { ApiError } from "../api-error.ts";
import type { KubeObject } from "../kube-object.ts";
import type { ResourceRoute } from "./route.ts";

export type PodListensAt = (pod: {
  readonly namespace: string;
  readonly name: string;
}) => string | undefined;

export interface PodProxyOptions {
  readonly network: Network;
  readonly podListensAt?: PodListensAt;
}

/** k8s.io/apimachinery/pkg/util/net SplitSchemeNamePort. */
export interface ProxyTarget {
  readonly scheme: "http" | "https";
  readonly name: string;
  /** The first port of the pod unless given. */
  readonly port: string | undefined;
}

export function proxyTarget(text: string): ProxyTarget {
  const parts = text.split(":");
  const [first = "", second, third] = parts;
  if (parts.length > 3) throw invalid(text);
  if (parts.length < 3) return { scheme: "http", name: first, port: second };
  if (first !== "http" && first !== "https" && first !== "") throw invalid(text);
  const port = third === "" ? undefined : third;
  return { scheme: first === "https" ? first : "http", name: second ?? "", port };
}

function invalid(text: string): ApiError {
  return new ApiError(400, "BadRequest", `invalid pod request ${JSON.stringify(text)}`);
}

export interface ProxiedRequest {
  readonly pod: KubeObject;
  readonly target: ProxyTarget;
  readonly route: ResourceRoute;
  readonly exchange: ServerExchange;
}

/** The connection is another one, and the pod must not get the credentials for the cluster. */
const ownHeaders = ["authorization", "connection", "content-length", "host", "transfer-encoding"];

export class PodProxy {
  readonly #options: PodProxyOptions;

  constructor(options: PodProxyOptions) {
    this.#options = options;
  }

  /** Streams the answer of the pod. Throws an `ApiError` when it cannot be reached. */
  async pass({ pod, target, route, exchange }: ProxiedRequest): Promise<void> {
    const { request } = exchange;
    let answer: BodyWriter | undefined;
    const query = route.query.size === 0 ? "" : `?${route.query.toString()}`;
    const path = `/${route.proxiedPath ?? ""}${query}`;
    try {
      const response = await this.#options.network.request({
        method: request.method,
        url: `${this.#baseOf(pod, target)}${path}`,
        headers: withoutOwn(request.headers),
        ...(request.method !== "GET" && { body: request.body }),
        tls: { insecureSkipVerify: true },
        signal: request.closed,
      });
      answer = exchange.respond(response.status, withoutOwn(response.headers));
      for await (const chunk of response.body) {
        answer.write(chunk);
        await answer.drained();
      }
      answer.end();
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      // The answer has begun, so only a broken connection says that it is not whole.
      if (answer !== undefined) return answer.abort();
      const message = `error trying to reach service: ${error.message}`;
      throw new ApiError(503, "ServiceUnavailable", message);
    }
  }

  #baseOf(pod: KubeObject, { scheme, port }: ProxyTarget): string {
    const { namespace = "", name } = pod.metadata;
    const status = isRecord(pod["status"]) ? pod["status"] : {};
    const ip = status["podIP"];
    if (typeof ip === "string" && ip !== "") {
      const host = ip.includes(":") ? `[${ip}]` : ip;
      return `${scheme}://${host}:${port ?? firstPort(pod) ?? (scheme === "https" ? 443 : 80)}`;
    }
    const other = this.#options.podListensAt?.({ namespace, name });
    if (other !== undefined) return `http://${other}`;
    throw new ApiError(503, "ServiceUnavailable", `pod ${name} has no address`);
  }
}

function firstPort(pod: KubeObject): number | undefined {
  const spec = isRecord(pod["spec"]) ? pod["spec"] : {};
  const containers = Array.isArray(spec["containers"]) ? spec["containers"] : [];
  for (const container of containers) {
    const ports = isRecord(container) ? container["ports"] : undefined;
    const [first] = Array.isArray(ports) ? ports : [];
    const port = isRecord(first) ? first["containerPort"] : undefined;
    if (typeof port === "number") return port;
  }
  return undefined;
}

function withoutOwn(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ownHeaders.includes(name)));
}
