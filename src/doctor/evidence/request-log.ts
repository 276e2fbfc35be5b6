// Requests that a proxy could not deliver, by the address that was tried, and clients with many refused
// requests. They come from access logs of many formats and from error logs. Only sums and a few times
// are kept, so memory does not grow with the log.
import type { AccessLogEntry } from "../../access-log/access-log-entry.ts";
import { isIp } from "../../environment/ip-address.ts";
import type { Place } from "./sign-log.ts";

export interface AddressFailures {
  /** Without the port. */
  readonly address: string;
  /** Those that were tried; empty when the log does not say. */
  readonly ports: Set<number>;
  count: number;
  /** Undefined while no failure has a time with a year. */
  firstMs: number | undefined;
  lastMs: number | undefined;
  readonly place: Place;
}

export interface ClientErrors {
  /** Answers with 400 to 499. */
  total: number;
  readonly byClient: Map<string, number>;
  place: Place | undefined;
}

/** More different addresses are one more, not news. */
const addressesMax = 20_000;
const clientsMax = 2_000;
const portsMax = 20;

/** The proxy's own statuses for an endpoint that refuses, breaks off or does not answer. */
const undelivered = new Set([502, 503, 504]);

export interface Failure {
  readonly address: string;
  readonly port: number | undefined;
  readonly atMs: number | undefined;
  readonly place: Place;
}

export class RequestLog {
  readonly failures = new Map<string, AddressFailures>();
  readonly clientErrors: ClientErrors = { total: 0, byClient: new Map(), place: undefined };
  /** An access log was read, failed requests or not. */
  isRead = false;

  add(entry: AccessLogEntry, place: Place): void {
    for (const { address, port, status, answered } of entry.tries) {
      const isFailed = status === undefined ? entry.status >= 500 : undelivered.has(status);
      if (isFailed && answered !== true)
        this.addFailure({ address, port, atMs: entry.endedMs, place });
    }
  }

  addFailure({ address, port, atMs, place }: Failure): void {
    if (!isIp(address)) return;
    const known = this.failures.get(address);
    if (known === undefined && this.failures.size >= addressesMax) return;
    const own = known ?? unseen(address, place);
    this.failures.set(address, own);
    own.count += 1;
    if (port !== undefined && own.ports.size < portsMax) own.ports.add(port);
    if (atMs === undefined) return;
    own.firstMs = Math.min(atMs, own.firstMs ?? atMs);
    own.lastMs = Math.max(atMs, own.lastMs ?? atMs);
  }

  addClientError(client: string, place: Place): void {
    const { byClient } = this.clientErrors;
    this.clientErrors.total += 1;
    this.clientErrors.place ??= place;
    const before = byClient.get(client);
    if (before !== undefined || byClient.size < clientsMax) byClient.set(client, (before ?? 0) + 1);
  }
}

function unseen(address: string, place: Place): AddressFailures {
  return { address, ports: new Set(), count: 0, firstMs: undefined, lastMs: undefined, place };
}
