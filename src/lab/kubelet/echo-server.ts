// The echo servers of other people's conformance suites, which read from an answer what reached a
// pod, and which pod. A pod with the image of one answers in its form: the request, headers as
// lists under Go's spelling of their names, and the container's environment. A pod whose environment has
// GRPC_ECHO_SERVER answers so over gRPC.
import type { IncomingRequest } from "../../environment/network.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { KubeletPod } from "./kubelet-pod.ts";

export interface EchoServer {
  /** Where it listens, whatever the pod declares. */
  readonly port: number;
  /** It serves gRPC there, and nothing else. */
  readonly isGrpc: boolean;
  /** The environment of its container. */
  readonly env: StringMap;
}

/** The one of ingress-controller-conformance, the one of gateway-api; of any registry and tag. */
const echoImage = /(?:^|\/)(?:ingressconformance\/echoserver|echo-basic)(?:[:@]|$)/;

/** Both listen there unless `HTTP_PORT` says otherwise. */
const usualPort = 3_000;

/** Undefined for a pod that is none, which answers as every pod of the lab. */
export function echoServerOf({ containers }: KubeletPod): EchoServer | undefined {
  const container = containers.find(({ image }) => echoImage.test(image));
  if (container === undefined) return undefined;
  const { env } = container;
  const asked = Number(env["HTTP_PORT"]);
  const isPort = Number.isInteger(asked) && asked >= 1 && asked <= 65_535;
  const isGrpc = (env["GRPC_ECHO_SERVER"] ?? "") !== "";
  return { port: isPort ? asked : usualPort, isGrpc, env };
}

type EchoedRequest = Pick<IncomingRequest, "method" | "target" | "headers">;

/** The body of the answer, in the protocol of the lab's pods. */
export function echoOf({ method, target, headers }: EchoedRequest, env: StringMap): object {
  const { host = "", ...others } = headers;
  const named = Object.entries(others).map(([name, value]) => [goSpelling(name), [value]]);
  return {
    path: target,
    host,
    method,
    proto: "HTTP/1.1",
    headers: Object.fromEntries(named),
    namespace: env["NAMESPACE"] ?? "",
    ingress: env["INGRESS_NAME"] ?? "",
    service: env["SERVICE_NAME"] ?? "",
    pod: env["POD_NAME"] ?? "",
  };
}

export interface GrpcAnswer {
  readonly body?: Uint8Array;
  readonly trailers: StringMap;
}

/** The service of gateway-api's server; its third method is there and not implemented. */
const grpcService = "/gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/";
const grpcMethods: readonly string[] = ["Echo", "EchoTwo"];
const unimplemented = "12";

export function grpcEchoOf({ target, headers }: EchoedRequest, env: StringMap): GrpcAnswer {
  const method = target.startsWith(grpcService) ? target.slice(grpcService.length) : "";
  if (!grpcMethods.includes(method)) return { trailers: { "grpc-status": unimplemented } };
  const context = Buffer.concat([
    protoText(1, env["NAMESPACE"] ?? ""),
    protoText(2, env["INGRESS_NAME"] ?? ""),
    protoText(3, env["SERVICE_NAME"] ?? ""),
    protoText(4, env["POD_NAME"] ?? ""),
  ]);
  const assertions = Buffer.concat([
    protoText(1, target),
    ...Object.entries(headers).map(([name, value]) =>
      protoBytes(2, Buffer.concat([protoText(1, name), protoText(2, value)])),
    ),
    protoText(3, headers["host"] ?? ""),
    protoBytes(4, context),
  ]);
  return { body: grpcMessage(protoBytes(1, assertions)), trailers: { "grpc-status": "0" } };
}

/** Not compressed, with its length in front. */
function grpcMessage(message: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function protoText(field: number, text: string): Uint8Array {
  return protoBytes(field, Buffer.from(text));
}

/** A field of a protobuf message that has a length. */
function protoBytes(field: number, bytes: Uint8Array): Uint8Array {
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 128; left = Math.floor(left / 128)) length.push((left % 128) + 128);
  return Buffer.concat([Buffer.from([field * 8 + 2, ...length, left]), bytes]);
}

const delay = /^([0-9]+(?:\.[0-9]+)?)(ms|s)$/;

/** So long the request asks the server to wait: `?delay=1.5s`. */
export function echoDelayMs({ target }: Pick<EchoedRequest, "target">): number {
  const asked = new URL(target, "http://pod").searchParams.get("delay") ?? "";
  const [, amount = "0", unit] = delay.exec(asked) ?? [];
  return Number(amount) * (unit === "s" ? 1_000 : 1);
}

/** Headers that the request asks the answer to have: `X-Echo-Set-Header: name:value,other:value`. */
export function askedHeaders({ headers }: Pick<EchoedRequest, "headers">): StringMap {
  const found = new Map<string, string>();
  for (const pair of (headers["x-echo-set-header"] ?? "").split(",")) {
    const [name = "", ...rest] = pair.trim().split(":");
    const value = rest.join(":");
    const before = found.get(name);
    if (name !== "") found.set(name, before === undefined ? value : `${before},${value.trim()}`);
  }
  return Object.fromEntries(found);
}

/** Requests whose retries are counted; a suite asks about each for some seconds. */
const maxCounted = 10_000;

/** An answer of the server's pages under `/retry/`: a status, or the end of the connection. */
export type SimulatedFailure = number | "reset";

/**
 * `/retry/…?uuid=X&succeedAfter=2&responseCode=503` fails twice for this uuid, with this status or else
 * with a reset, and then answers as every page does.
 */
export class RetrySimulation {
  readonly #failures = new Map<string, number>();

  failureOf({ target }: Pick<EchoedRequest, "target">): SimulatedFailure | undefined {
    const { pathname, searchParams } = new URL(target, "http://pod");
    if (!pathname.startsWith("/retry/")) return undefined;
    const uuid = searchParams.get("uuid") ?? "";
    const succeedAfter = searchParams.get("succeedAfter") ?? "";
    if (uuid === "" || !/^[0-9]{1,9}$/.test(succeedAfter)) return 400;
    const before = this.#failures.get(uuid) ?? 0;
    if (before >= Number(succeedAfter)) return undefined;
    this.#failures.set(uuid, before + 1);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size > maxCounted && oldest !== undefined) this.#failures.delete(oldest);
    const code = Number(searchParams.get("responseCode") ?? "");
    return code >= 200 && code <= 599 ? code : "reset";
  }
}

/** The line that the server prints for each page; suites look for it in the pod's log. */
export function echoLine({ target, peer }: Pick<IncomingRequest, "target" | "peer">): string {
  return `Echoing back request made to ${target} to client (${peer})`;
}

/** `user-agent` is `User-Agent`. */
function goSpelling(name: string): string {
  return name.replace(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}
