// `lockstep assist` with exactly the rights of deploy/rbac/assist.yaml, and with one less.
import { describe, expect, test } from "vitest";
import type { RequestObserver } from "../../src/apiserver/http/request-record.ts";
import { isThorough } from "../../src/simulation/seeds.ts";
import { inAssistWorld, servicesPath } from "../assist/assist-world.ts";
import { lessened, objectsIn, type Right, rightsIn } from "./deployed-rights.ts";

const files = ["assist"];

/** Refusals of the server, while a twin is made, kept, handed back, taken over and removed. */
async function refusalsOf(without?: Right) {
  const refusals = new Set<string>();
  let isTwinLeft = true;
  const observer: RequestObserver = {
    finished: (_, { code, failure }) => {
      if (code === 401 || code === 403) refusals.add(failure?.message ?? "");
    },
  };
  const rights = objectsIn(files).map((object) => lessened(object, without));
  await inAssistWorld(
    async (world) => {
      const label = (value: string) =>
        world.call("PATCH", `${servicesPath}/web`, {
          metadata: { labels: { "lockstep.dev/assist": value } },
        });
      await world.createService("web");
      await world.createPod("web", 1);
      await world.publish("web", [1]);
      world.startReplica({});
      await label("true");
      await world.simulation.sleep(5_000);
      await world.deletePod("web", 1);
      await world.simulation.sleep(2_000);
      await world.publish("web", []);
      await label("false");
      await world.simulation.sleep(2_000);
      await world.publish("web-lockstep", [], "web-lockstep-x1");
      await world.simulation.sleep(2_000);
      await label("true");
      // The leader saves its counts every 30 s.
      await world.simulation.sleep(35_000);
      await world.call("DELETE", `${servicesPath}/web`);
      await world.simulation.sleep(5_000);
      isTwinLeft = (await world.service("web-lockstep")) !== undefined;
    },
    1,
    { rights, observers: [observer] },
  );
  return { refusals: [...refusals], isTwinLeft };
}

test("with the rights of deploy/rbac lockstep assist does all its work and nothing is refused", async () => {
  expect(await refusalsOf()).toEqual({ refusals: [], isTwinLeft: false });
});

describe.runIf(isThorough(process.env))("every right is needed:", () => {
  test.each(rightsIn(files).filter(isUsed))("$verb $resource", async (right) => {
    const { refusals } = await refusalsOf(right);
    const refused = refusals.filter((message) =>
      message.includes(`cannot ${right.verb} resource "${right.resource}"`),
    );
    expect(refused.length).toBeGreaterThan(0);
  });
});

/** After a conflict a slice is read again; here no other writer is faster. */
function isUsed({ resource, verb }: Right): boolean {
  return !(resource === "endpointslices" && verb === "get");
}
