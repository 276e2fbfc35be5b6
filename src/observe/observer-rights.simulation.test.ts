import { describe, expect, test } from "vitest";
import { inObserverWorld, summary } from "../../tests/observer/observer-world.ts";
import {
  lessened,
  objectsIn,
  observerFiles,
  type Right,
  rightsIn,
} from "../../tests/rights/deployed-rights.ts";
import { isThorough } from "../simulation/seeds.ts";

const role = "lockstep-observer";

interface Observed {
  /** The resources that the server refused. */
  readonly refused: readonly string[];
  /** The effects that the observer reports. */
  readonly lost: readonly string[];
  readonly journeys: readonly string[];
}

/** A pod joins while it is watched with the rights of deploy/rbac, or with one less. */
async function observe(form: "endpointslices" | "endpoints", without?: Right): Promise<Observed> {
  let result: Observed | undefined;
  await inObserverWorld(async (world) => {
    const objects = objectsIn(observerFiles).map((object) => lessened(object, without));
    await world.startCluster("east", { hasRules: true, objects });
    await world.addService("east", "web");
    const user = "observer";
    const { observer, over } = world.watch({ clusters: ["east"], accessClusters: [], user, form });
    observer.start();
    await world.simulation.sleep(5_000);
    await world.addPod("east", "web-1", "10.0.0.1");
    await world.publish("east", "web", ["10.0.0.1"]);
    await world.call("east", "POST", "/api/v1/namespaces/shop/endpoints", {
      metadata: { name: "web" },
      subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ name: "http", port: 8080 }] }],
    });
    await world.simulation.sleep(5_000);
    result = {
      refused: world
        .seen("east")
        .filter(({ code }) => code >= 400)
        .map(({ what }) => what),
      lost: observer.clusters().flatMap(({ lost }) => lost.map(({ resource }) => resource)),
      journeys: summary(over),
    };
  });
  if (result === undefined) throw new Error("the run has no result");
  return result;
}

const whole = ["east: shop/web 10.0.0.1 join, complete: pod east shown, published east shown"];

test.each(["endpointslices", "endpoints"] as const)(
  "with the rights of deploy/rbac every hop is seen by %s and nothing is refused",
  async (form) => {
    expect(await observe(form)).toEqual({ refused: [], lost: [], journeys: whole });
  },
);

/** The command reads kube-system where there are several contexts: src/cli/same-clusters.simulation.test.ts. */
function isOfTheCommand({ resource, verb }: Right): boolean {
  return resource === "namespaces" && verb === "get";
}

describe.runIf(isThorough(process.env))("every right is needed:", () => {
  const rights = rightsIn(observerFiles).filter(
    (right) => right.role === role && !isOfTheCommand(right),
  );
  test.each(rights)("$verb of $resource", async (right) => {
    const form = right.resource === "endpoints" ? "endpoints" : "endpointslices";
    const { refused, lost } = await observe(form, right);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every((what) => what.endsWith(`/${right.resource}`))).toBe(true);
    expect(lost).toEqual([right.resource]);
  });
});
