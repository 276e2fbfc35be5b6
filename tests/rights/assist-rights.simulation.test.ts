// `lockstep assist` with exactly the rights of deploy/rbac/assist.yaml, and with one less.
import { describe, expect, test } from "vitest";
import type { RequestObserver } from "../../src/apiserver/http/request-record.ts";
import { runProgram } from "../../src/cli/program.ts";
import { kubeconfig } from "../../src/lab/kubeconfig.ts";
import { isThorough } from "../../src/simulation/seeds.ts";
import { inAssistWorld, servicesPath } from "../assist/assist-world.ts";
import { RecordedTerminal } from "../terminal/recorded-terminal.ts";
import { lessened, objectsIn, type Right, rightsIn } from "./deployed-rights.ts";

const files = ["assist"];

const account = kubeconfig([{ name: "prod", server: "https://prod:6443", token: "assist" }]);

/** Refusals of the server, while a twin is made, kept, handed back, taken over and removed. */
async function refusalsOf(without?: Right) {
  const refusals = new Set<string>();
  const missing: Record<string, string> = {};
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
      const stop = new AbortController();
      const environment = world.simulation.host("assist");
      await environment.files.write("/kubeconfig", account);
      const line = ["assist", "--kubeconfig", "/kubeconfig", "--lease", "lockstep/lockstep-assist"];
      const context = { environment, terminal: new RecordedTerminal(), stop: stop.signal };
      const running = runProgram(context, "0.0.0", line);
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
      stop.abort(new Error("the run is over"));
      await running;
      for (const { message, fields } of world.simulation.logLines()) {
        if (message.startsWith("missing permission: ")) missing[message] = String(fields["effect"]);
      }
    },
    1,
    { rights, observers: [observer] },
  );
  return { refusals: [...refusals], missing, isTwinLeft };
}

test("with the rights of deploy/rbac lockstep assist does all its work and nothing is refused", async () => {
  expect(await refusalsOf()).toEqual({ refusals: [], missing: {}, isTwinLeft: false });
});

describe.runIf(isThorough(process.env))("every right is needed:", () => {
  test.each(rightsIn(files).filter(isUsed))("$verb $resource", async (right) => {
    const { refusals, missing } = await refusalsOf(right);
    const refused = refusals.filter((message) =>
      message.includes(`cannot ${right.verb} resource "${right.resource}"`),
    );
    expect(refused.length).toBeGreaterThan(0);
    const effect = missing[`missing permission: ${right.verb} ${right.resource}`];
    expect(["not known", undefined]).not.toContain(effect);
  });
});

/** After a conflict a slice is read again; here no other writer is faster. */
function isUsed({ resource, verb }: Right): boolean {
  return !(resource === "endpointslices" && verb === "get");
}
