// The addresses that a real nginx of Lockstep routes a service's requests to, read from the wire of its
// control socket as nginx answers that it has taken it. It knows the protocol of
// proxy/lua/lockstep/control.lua and nothing of who speaks it, of decisions or of their versions.
import type { IncomingResponse, Network, OutgoingRequest } from "../../environment/network.ts";
import { isRecord } from "../../kube/kinds/fields.ts";

export interface ControlTapOptions {
  readonly network: Network;
  readonly socketPath: string;
  /** `namespace/name:port`. */
  readonly service: string;
  /** The addresses that get a request as long as they can serve it, from now on. */
  readonly onAddresses: (addresses: readonly string[]) => void;
}

/** The network of the pusher; every request passes unchanged. */
export function tapControl(options: ControlTapOptions): Network {
  const { network, socketPath } = options;
  const tap = new ControlTap(options);
  return {
    request: async (request) => {
      const response = await network.request(request);
      if (request.socketPath === socketPath) tap.answered(request, response);
      return response;
    },
    listen: (listen, handler) => network.listen(listen, handler),
  };
}

/** Undefined if the request does not mention the service. */
type Addresses = readonly string[] | undefined;

class ControlTap {
  readonly #options: Pick<ControlTapOptions, "service" | "onAddresses">;
  /** In the parts of a load that is not yet complete. */
  #loading: Addresses;

  constructor(options: Pick<ControlTapOptions, "service" | "onAddresses">) {
    this.#options = options;
  }

  answered({ method, url, body }: OutgoingRequest, { status }: IncomingResponse): void {
    if (status !== 200) return;
    const what = `${method} ${new URL(url).pathname}`;
    if (what === "POST /loads") this.#loading = undefined;
    else if (/^PUT \/loads\/\d+$/.test(what)) this.#loading = this.#read(body) ?? this.#loading;
    // A service that is missing in a load was removed.
    else if (/^POST \/loads\/\d+\/commit$/.test(what)) this.#report(this.#loading ?? []);
    else if (what === "PUT /changes") this.#report(this.#read(body));
  }

  #report(addresses: Addresses): void {
    if (addresses !== undefined) this.#options.onAddresses(addresses);
  }

  #read(body: OutgoingRequest["body"]): Addresses {
    if (!(body instanceof Uint8Array)) return undefined;
    const part: unknown = JSON.parse(Buffer.from(body).toString("utf8"));
    const services = isRecord(part) ? part["services"] : undefined;
    const { service } = this.#options;
    if (!isRecord(services) || !Object.hasOwn(services, service)) return undefined;
    const entry = services[service];
    return isRecord(entry) ? firstChoice(entry["addresses"], entry["tiers"]) : [];
  }
}

function firstChoice(addresses: unknown, tiers: unknown): readonly string[] {
  const [count = 0]: readonly unknown[] = Array.isArray(tiers) ? tiers : [];
  const all: readonly unknown[] = Array.isArray(addresses) ? addresses : [];
  return all.slice(0, Number(count)).map(String);
}
