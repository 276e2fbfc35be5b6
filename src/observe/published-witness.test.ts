import fc from "fast-check";
import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { type EndpointSlice, endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { Store } from "../kube/store/store.ts";
import { type Change, describeChange } from "../kube/store/store-change.ts";
import type { Observation } from "../timeline/observation.ts";
import type { Learnt } from "./pod-witness.ts";
import { PublishedWitness, publishedServiceOf } from "./published-witness.ts";

const learnt: Learnt = { at: 7 as MonotonicMs, baseline: false, notBefore: undefined };

const endpoint = fc.record({
  address: fc.constantFrom("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"),
  ready: fc.boolean(),
  uid: fc.constantFrom("u", "v"),
});

const step = fc.record({
  slice: fc.constantFrom("web-1", "web-2"),
  service: fc.constantFrom("web", "web", "web", "api"),
  ports: fc.constantFrom([80], [80], [80], [80, 81]),
  endpoints: fc.option(fc.array(endpoint, { maxLength: 5 })),
});

interface Step {
  readonly slice: string;
  readonly service: string;
  readonly ports: readonly number[];
  /** Null when the slice is deleted. */
  readonly endpoints: readonly { address: string; ready: boolean; uid: string }[] | null;
}

/** The slices as a reflector keeps them, each version sharing with the one before. */
class Slices {
  readonly store = new Store<EndpointSlice>({ indexes: {} });
  readonly listed = new Set<string>();
  readonly witness = new PublishedWitness({
    witness: { hop: "published", name: "east" },
    serviceOf: publishedServiceOf("east"),
    sink: {
      report: (report) => this.report(report),
      follow: () => undefined,
      unfollow: () => undefined,
    },
  });
  #version = 0;

  report({ direction, endpoint: { service, address, port, podUid } }: Observation): void {
    const name = `${service} ${address}:${port} ${podUid}`;
    expect([direction, name, this.listed.has(name)]).toEqual([
      direction,
      name,
      direction === "leave",
    ]);
    if (direction === "join") this.listed.add(name);
    else this.listed.delete(name);
  }

  take({ slice, service, ports, endpoints }: Step): void {
    const known = this.store.get("shop", slice);
    if (endpoints === null) {
      this.store.delete("shop", slice);
      if (known !== undefined) this.#deliver({ ...gone, object: known });
      return;
    }
    this.#version += 1;
    const labels = { "kubernetes.io/service-name": service };
    const resourceVersion = `${this.#version}`;
    const object = endpointSliceKind.project(
      {
        metadata: { namespace: "shop", name: slice, uid: slice, resourceVersion, labels },
        ports: ports.map((port) => ({ port })),
        endpoints: endpoints.map(({ address, ready, uid }) => ({
          addresses: [address],
          conditions: { ready },
          targetRef: { kind: "Pod", uid },
        })),
      },
      known,
    );
    this.store.set(object);
    describeChange(known, object, "watch", (change) => this.#deliver(change));
  }

  expected(): readonly string[] {
    const names = [...this.store].flatMap((slice) =>
      slice.endpoints.flatMap(({ addresses, ready, targetRef }) =>
        slice.ports.flatMap(({ port }) => {
          const service = slice.metadata.labels["kubernetes.io/service-name"];
          return ready ? [`shop/${service} ${addresses[0]}:${port} ${targetRef?.uid}`] : [];
        }),
      ),
    );
    return [...new Set(names)].sort();
  }

  #deliver(change: Change<EndpointSlice>): void {
    this.witness.sliceChanged(change, learnt);
  }
}

const gone = { type: "deleted", finalStateUnknown: false, learntBy: "watch" } as const;

test("what has been reported is what the slices list, each once, after every change", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
      const slices = new Slices();
      for (const one of steps) {
        slices.take(one);
        expect([...slices.listed].sort()).toEqual(slices.expected());
      }
    }),
    { numRuns: 200 },
  );
});
