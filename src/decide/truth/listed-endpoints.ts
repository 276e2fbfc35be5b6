// The published endpoints of one port of a service, found by the pod they name. Each is taken by its
// pod or left over; a service of a thousand pods is judged with every change of one of them, so
// this makes no text and no list for the ordinary endpoint.
import type { Service, ServicePort } from "../../kube/kinds/service.ts";
import { isOfFamily } from "../../model/pod-endpoint.ts";
import type { PublishedEndpoint } from "../../model/published-endpoint.ts";

export interface ListedEndpoint {
  readonly endpoint: PublishedEndpoint;
  readonly port: number;
}

interface Entry extends ListedEndpoint {
  isTaken: boolean;
  /** Another one that names the same pod: in a second slice, or at another address. */
  readonly next: Entry | undefined;
}

export class ListedEndpoints {
  readonly #byUid = new Map<string, Entry>();
  readonly #withoutPod: ListedEndpoint[] = [];
  readonly #family: string | undefined;
  readonly #servicePort: ServicePort;
  /** Of the last endpoint, with the number of our port in it: those of one slice share one list. */
  #ports: PublishedEndpoint["ports"] | undefined;
  #port: number | undefined;
  #left = 0;

  constructor({ ipFamilies }: Service, port: ServicePort) {
    this.#family = ipFamilies[0];
    this.#servicePort = port;
  }

  /** Unless it has not this port, or is of another family. */
  add(endpoint: PublishedEndpoint): void {
    if (endpoint.ports !== this.#ports) {
      const { name, protocol } = this.#servicePort;
      this.#ports = endpoint.ports;
      this.#port = this.#ports.find((one) => one.name === name && one.protocol === protocol)?.port;
      if (this.#ports.length === 0 && this.#servicePort.port === 0) this.#port = 0;
    }
    if (this.#port === undefined || !isOfFamily(endpoint.address, this.#family)) return;
    this.#add(endpoint, this.#port);
  }

  /** How the pod of this uid is published at this place: as the readiest of its entries there. */
  take(uid: string, address: string, port: number): PublishedEndpoint | undefined {
    let best: PublishedEndpoint | undefined;
    for (let entry = this.#byUid.get(uid); entry !== undefined; entry = entry.next) {
      const { endpoint } = entry;
      if (entry.isTaken || entry.port !== port || endpoint.address !== address) continue;
      entry.isTaken = true;
      this.#left -= 1;
      if (isReadier(endpoint, best)) best = endpoint;
    }
    return best;
  }

  /** Those that were not taken. */
  rest(): readonly ListedEndpoint[] {
    if (this.#left === 0) return this.#withoutPod;
    const rest = [...this.#withoutPod];
    for (const first of this.#byUid.values()) {
      for (let entry: Entry | undefined = first; entry !== undefined; entry = entry.next) {
        if (!entry.isTaken) rest.push(entry);
      }
    }
    return rest;
  }

  #add(endpoint: PublishedEndpoint, port: number): void {
    if (endpoint.pod === undefined) {
      this.#withoutPod.push({ endpoint, port });
      return;
    }
    const { uid } = endpoint.pod;
    this.#byUid.set(uid, { endpoint, port, isTaken: false, next: this.#byUid.get(uid) });
    this.#left += 1;
  }
}

/** An endpoint can be in two slices while it moves between them; then the readier entry counts. */
export function isReadier(
  a: PublishedEndpoint | undefined,
  b: PublishedEndpoint | undefined,
): boolean {
  return rank(a) > rank(b);
}

/** Entries with different conditions have different ranks. */
function rank(published: PublishedEndpoint | undefined): number {
  if (published === undefined) return -1;
  const { ready, serving, terminating } = published;
  return (ready ? 4 : 0) + (serving ? 2 : 0) + (terminating ? 1 : 0);
}
