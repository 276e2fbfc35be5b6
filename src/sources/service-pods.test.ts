import fc from "fast-check";
import { expect, test } from "vitest";
import { objectKey } from "../kube/kinds/kind.ts";
import { type Pod, podKind } from "../kube/kinds/pod.ts";
import { type Service, serviceKind } from "../kube/kinds/service.ts";
import { Store } from "../kube/store/store.ts";
import { type Change, describeChange } from "../kube/store/store-change.ts";
import { ServicePods, selectorIndex, selects } from "./service-pods.ts";

let version = 0;

function metadata(name: string, fields: object) {
  version += 1;
  return { namespace: "shop", name, uid: `u-${name}`, resourceVersion: `${version}`, ...fields };
}

const labels = fc.dictionary(fc.constantFrom("app", "tier"), fc.constantFrom("a", "b"));
const name = fc.constantFrom("one", "two", "three");

const step = fc.oneof(
  fc.record({ what: fc.constant("pod" as const), name, labels }),
  fc.record({ what: fc.constant("service" as const), name, selector: fc.option(labels) }),
  fc.record({ what: fc.constantFrom("no pod" as const, "no service" as const), name }),
);

class World {
  readonly services = new Store<Service, "selector">({ indexes: { selector: selectorIndex } });
  readonly pods = new Store<Pod>({ indexes: {} });
  readonly servicePods = new ServicePods(this);
  /** For each pod's change, the services that were reported and those it concerns. */
  readonly concerned: (readonly string[])[] = [];
  readonly expected: (readonly string[])[] = [];

  setPod(pod: Pod): void {
    const before = this.pods.set(pod);
    const was = before === undefined ? [] : this.selecting(before);
    this.expected.push([...new Set([...was, ...this.selecting(pod)])].sort());
    const note = (change: Change<Pod>): void => {
      this.concerned.push([...this.servicePods.podChanged(change)].sort());
    };
    describeChange(before, pod, "watch", note);
  }

  setService(service: Service): void {
    const note = (change: Change<Service>): void => this.servicePods.serviceChanged(change);
    describeChange(this.services.set(service), service, "watch", note);
  }

  deletePod(pod: string): void {
    const object = this.pods.delete("shop", pod);
    if (object === undefined) return;
    const how = { finalStateUnknown: false, learntBy: "watch" } as const;
    this.servicePods.podChanged({ type: "deleted", object, ...how });
  }

  deleteService(service: string): void {
    const object = this.services.delete("shop", service);
    if (object === undefined) return;
    const how = { finalStateUnknown: false, learntBy: "watch" } as const;
    this.servicePods.serviceChanged({ type: "deleted", object, ...how });
  }

  selecting(pod: Pod): readonly string[] {
    return [...this.services]
      .filter(({ selector }) => selects(selector, pod.metadata.labels))
      .map(({ metadata: own }) => objectKey(own))
      .sort();
  }
}

test("each service always has exactly the pods that its selector matches, and is notified of them", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const world = new World();
      for (const one of steps) {
        if (one.what === "pod") {
          world.setPod(podKind.project({ metadata: metadata(one.name, { labels: one.labels }) }));
        } else if (one.what === "service") {
          const spec = { selector: one.selector };
          world.setService(serviceKind.project({ metadata: metadata(one.name, {}), spec }));
        } else if (one.what === "no pod") world.deletePod(one.name);
        else world.deleteService(one.name);
        for (const service of world.services) {
          const found = [...world.servicePods.podsOf(service)].map((pod) => pod.metadata.name);
          const expected = [...world.pods]
            .filter((pod) => selects(service.selector, pod.metadata.labels))
            .map((pod) => pod.metadata.name);
          expect(found.sort()).toEqual(expected.sort());
        }
      }
      expect(world.concerned).toEqual(world.expected);
    }),
  );
});
