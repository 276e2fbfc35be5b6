import { expect, test } from "vitest";
import { inApiWorld } from "../../../../tests/apiserver/api-world.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { fixedAccess } from "../../../kube/credentials/credentials.ts";
import { StatusWatch } from "./status-watch.ts";

const ingresses = "/apis/networking.k8s.io/v1/namespaces/default/ingresses";
const mergePatch = { contentType: "application/merge-patch+json" };

test("the watch knows for how long not every status was right", () =>
  inApiWorld(async ({ simulation, call }) => {
    const environment = simulation.host("watcher");
    const cluster = fixedAccess({ name: "c", server: "http://server:6443", token: "admin-token" });
    const status = new StatusWatch({
      ...environment,
      client: new HttpKubeClient({ ...environment, cluster, userAgent: "test" }),
      cluster: "c",
      className: "nginx",
      now: () => simulation.now(),
      isRight: (addresses) => addresses.length > 0,
    });
    const service = { name: "web", port: { number: 80 } };
    for (const [name, ingressClassName] of [
      ["a", "nginx"],
      ["b", "nginx"],
      ["c", "other"],
    ]) {
      const spec = { ingressClassName, defaultBackend: { service } };
      await call("POST", ingresses, { metadata: { name }, spec });
    }
    const fill = (name: string, ingress: readonly object[] | null) =>
      call(
        "PATCH",
        `${ingresses}/${name}/status`,
        { status: { loadBalancer: { ingress } } },
        mergePatch,
      );
    status.start();
    await simulation.sleep(1_000);
    expect([status.total, status.right, status.empty]).toEqual([2, 0, 2]);
    await fill("a", [{ ip: "192.0.2.1" }]);
    await simulation.sleep(1_000);
    await fill("b", [{ ip: "192.0.2.1" }]);
    await simulation.sleep(1_000);
    const rightAtMs = status.rightSince(simulation.now()) ?? 0;
    await fill("a", null);
    await simulation.sleep(5_000);
    const wrongAtMs = status.points.at(-1)?.[0] ?? 0;
    await fill("a", [{ ip: "192.0.2.2" }]);
    await simulation.sleep(1_000);
    expect(status.points.map(([, right]) => right)).toEqual([0, 1, 2, 1, 2]);
    const refilledAtMs = status.firstRightAfter(wrongAtMs) ?? 0;
    expect(refilledAtMs - wrongAtMs).toBeGreaterThan(4_900);
    expect(status.wrongMs(rightAtMs, simulation.now())).toBeCloseTo(refilledAtMs - wrongAtMs, 6);
    expect(status.wrongMs(wrongAtMs + 1_000, wrongAtMs + 3_000)).toBeCloseTo(2_000, 6);
    expect([status.rightSince(wrongAtMs), status.firstRightAfter(rightAtMs)]).toEqual([
      undefined,
      rightAtMs,
    ]);
    await status.stop();
  }));
