// A service that is another name, from its lookup to the proxy.
import { expect, test } from "vitest";
import { lookAgainMs } from "../../src/sources/external-names.ts";
import { inIngressWorld } from "./ingress-world.ts";

const web = "default/web:80";

/** Some messages of the network. */
const aMomentMs = 50;

test("an external name is routed to what it resolves to, and follows it", () =>
  inIngressWorld(
    async ({ simulation, active, loop }) => {
      expect(active(web)).toEqual([]);
      expect(loop.decisions.truths.get(web)?.truth.problems).toEqual([
        "the service default/web in east is the external name db.example: the name does not exist",
      ]);
      simulation.names.set("db.example", ["192.0.2.1", "192.0.2.2"]);
      await simulation.sleep(lookAgainMs);
      expect(active(web)).toEqual(["east 192.0.2.1:8080", "east 192.0.2.2:8080"]);
      // A name may come to lead back to the machine or the ingress itself.
      simulation.names.setOwn(["10.7.7.7"]);
      loop.setPolicy({ followSlices: false });
      simulation.names.set("db.example", ["192.0.2.2", "127.0.0.1", "10.7.7.7"]);
      await simulation.sleep(lookAgainMs + aMomentMs);
      expect(active(web)).toEqual(["east 192.0.2.2:8080"]);
      simulation.names.set("db.example", []);
      await simulation.sleep(lookAgainMs + aMomentMs);
      expect(active(web)).toEqual(["east 192.0.2.2:8080"]);
    },
    {
      before: async ({ east }) => {
        const externalName = "db.example";
        await east.service("web", { type: "ExternalName", externalName, selector: null });
        await east.ingress("web", "web.example", "web");
      },
    },
  ));
