// The result of one request of a traffic source, with the pod that the answer names.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Headers, NetworkErrorCode } from "../../environment/network.ts";
import { isRecord, optionalString } from "../../kube/kinds/fields.ts";
import { replicaHeader } from "./entry.ts";
import { upstreamsOf } from "./upstreams.ts";

export type TrafficOutcome =
  | { readonly kind: "answered"; readonly status: number }
  | { readonly kind: "failed"; readonly code: NetworkErrorCode | "DEADLINE" };

/** The pod that answered, by its own word. */
export interface AnsweringPod {
  readonly podUid: string;
  readonly address: string;
}

export interface TrafficResult {
  /** Counts from 1; the same request goes through every entry under the same number. */
  readonly number: number;
  /** The name of the entry it went through. */
  readonly entry: string;
  readonly host: string;
  /** Path and query as sent: unique in a run, so that a line of an access log can be found by it. */
  readonly target: string;
  readonly sentAt: MonotonicMs;
  readonly doneAt: MonotonicMs;
  readonly outcome: TrafficOutcome;
  readonly pod: AnsweringPod | undefined;
  /** The ingress replica that took it; undefined when there was no answer. */
  readonly replica: string | undefined;
  /** Addresses that the proxy tried, in order; empty when it did not say. */
  readonly upstreams: readonly string[];
}

/** Reads the origin of an answer. The pods of the lab answer with their name, in JSON. */
export function readAnswer(
  headers: Headers,
  body: string,
): Pick<TrafficResult, "pod" | "replica" | "upstreams"> {
  return { pod: podOf(body), replica: headers[replicaHeader], upstreams: upstreamsOf(headers) };
}

function podOf(body: string): AnsweringPod | undefined {
  const answer = parse(body);
  if (!isRecord(answer) || typeof answer["uid"] !== "string") return undefined;
  const address = optionalString(answer, "address");
  return address === undefined ? undefined : { podUid: answer["uid"], address };
}

/** Undefined for what is not JSON: an error page of a proxy for example. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
