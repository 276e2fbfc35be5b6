// What findings say beyond the name of the cause: times, triggers and numbers to set, which follow from
// the evidence.
import { expect, test } from "vitest";
import { diagnose } from "../../src/doctor/diagnose.ts";
import type { Evidence } from "../../src/doctor/evidence/evidence.ts";
import { evidenceOf } from "../../src/doctor/evidence/evidence.ts";
import { parsePrometheusText } from "../../src/doctor/evidence/prometheus-text.ts";
import type { MonotonicMs } from "../../src/environment/clock.ts";
import type { HopState, Journey } from "../../src/timeline/journey.ts";
import { repeat } from "./case.ts";
import { strangerCases } from "./stranger-cases.ts";

function findingOf(rule: string, evidence: Evidence) {
  const all = diagnose(evidence).findings.flatMap((one) => [one, ...one.consequences]);
  return all.find((one) => one.rule === rule);
}

const textOf = (text: string): Evidence =>
  evidenceOf({ logs: [{ component: "", source: "a.txt", lines: text.split("\n") }] });

const caseNamed = (name: string): Evidence =>
  textOf(strangerCases.find((one) => one.name === name)?.text ?? "");

const headless = repeat(
  300,
  (index) => `apiVersion: v1
kind: Service
metadata: { name: svc-${index}, namespace: shop }
spec: { clusterIP: None, selector: { app: a } }
---
apiVersion: v1
kind: Endpoints
metadata: { name: svc-${index}, namespace: shop, labels: { service.kubernetes.io/headless: "" } }
---`,
);

test("a storm that is still to come, with its time and its length", () => {
  const start =
    'I0612 08:00:00.100000       1 endpoints_controller.go:190] "Starting endpoint controller"';
  const found = findingOf(
    "headless-rewrites",
    textOf(`Server Version: v1.18.5\n${start}\n${headless}`),
  );
  expect(found).toMatchObject({ severity: "warning", confidence: "certain: two sources" });
  expect(found?.cause).toContain("between 06-12 20:00 and 06-13 08:00");
  expect(found?.cause).toContain(
    "With 300 headless services and 20 requests/s one resync takes 13.5 s",
  );
});

test("the next storm comes as the flag of the resync says", () => {
  const start =
    'I0612 08:00:00.100000       1 endpoints_controller.go:190] "Starting endpoint controller"';
  const causeOf = (flag: string): string =>
    findingOf(
      "headless-rewrites",
      textOf(`Server Version: v1.18.5\n--min-resync-period=${flag}\n${start}\n${headless}`),
    )?.cause ?? "";
  expect(causeOf("6h0m0s")).toContain("between 06-12 14:00 and 06-12 20:00");
  expect(causeOf("0")).toContain("when a controller manager starts");
});

test("a corrected version has no such storm", () => {
  const found = findingOf("headless-rewrites", textOf(`Server Version: v1.18.10\n${headless}`));
  expect(found).toBeUndefined();
});

test("the period of a resync and the next one", () => {
  const name = "a wave of endpoint writes each 16 hours, at the API server";
  const found = findingOf("endpoint-backlog", caseNamed(name));
  expect(found?.cause).toContain(
    "periodic resync, each 16 h 20 min; the next one is at about 03-03 03:10",
  );
});

test("a start of 1.33, which labels all Endpoints", () => {
  const name = "a controller manager that writes all endpoints at its start";
  const found = findingOf("endpoint-backlog", caseNamed(name));
  expect(found?.cause).toContain("since 1.33 Endpoints need a label");
});

test("the sleep that covers the measured lag", () => {
  const name = "502s in the seconds in which a pod ends, with its times";
  const found = findingOf("termination-race", caseNamed(name));
  expect(found?.fix.change).toContain('["sleep", "7"]');
  expect(found?.evidence[0]?.text).toContain(
    "up to 4 s after pod prod/api-7d9f-abcde began to end",
  );
});

function journey(states: Readonly<Record<string, HopState>>, failed?: number): Journey {
  return {
    id: 1,
    endpoint: { cluster: "east", service: "a/b", address: "10.0.0.1", port: 80, podUid: "a" },
    podName: "b-0",
    direction: "leave",
    cause: undefined,
    origin: { at: 0 as MonotonicMs, notBefore: undefined },
    hops: Object.entries(states).map(([place, state]) => {
      const [hop = "", witness = ""] = place.split(" ");
      return { hop: hop as "routed", witness, state };
    }),
    outcome: "complete",
    ...(failed !== undefined && {
      traffic: { requests: 9, failed, lastFailedAt: undefined },
    }),
  };
}

const observed = (journeys: readonly Journey[]): Evidence =>
  evidenceOf({ journeys: { source: "a recording", nowMs: 100_000, journeys } });

const shown = (lagMs: number): HopState => ({ type: "shown", lagMs });

test("one replica that is late while the others follow", () => {
  const one = journey({
    "published east": shown(20),
    "routed edge-1": shown(30),
    "routed edge-2": shown(45_000),
  });
  const found = findingOf("stale-proxy", observed([one, one, one]));
  expect(found?.cause).toContain("Proxy replica edge-2");
  expect(findingOf("stale-proxy", observed([one, one]))).toBeUndefined();
});

test("a change that is published late is not the fault of the proxy", () => {
  const one = journey({ "published east": shown(45_000), "routed edge-1": shown(45_020) });
  expect(findingOf("stale-proxy", observed([one, one, one]))).toBeUndefined();
});

test("copies that are late", () => {
  const one = journey({ "published east": shown(20), "synced edge": shown(30_000) });
  expect(findingOf("stale-copies", observed([one, one, one]))?.cause).toContain("in edge are late");
});

test("a pod that served on is no race", () => {
  const name = "502s in the seconds in which a pod ends, with its times";
  const served = journey({ "published east": shown(20), "routed edge-1": shown(30) }, 0);
  const both = { ...caseNamed(name), journeys: observed([served]).journeys };
  expect(findingOf("termination-race", both)).toBeUndefined();
  const failed = { ...both, journeys: observed([{ ...served, ...journey({}, 3) }]).journeys };
  expect(findingOf("termination-race", failed)?.confidence).toBe("certain: two sources");
});

test("the mirroring controller has a queue of its own", () => {
  const page = (syncs: number) => `
workqueue_depth{name="endpoint_slice_mirroring"} 400
workqueue_work_duration_seconds_sum{name="endpoint_slice_mirroring"} ${syncs * 0.5}
workqueue_work_duration_seconds_count{name="endpoint_slice_mirroring"} ${syncs}
workqueue_queue_duration_seconds_sum{name="endpoint_slice_mirroring"} ${syncs * 12}
workqueue_queue_duration_seconds_count{name="endpoint_slice_mirroring"} ${syncs}`;
  const pages = [100, 700].map((syncs, index) => {
    return { atMs: index * 60_000, samples: parsePrometheusText(page(syncs)) };
  });
  const metrics = [{ component: "kube-controller-manager", source: "m", pages }];
  const found = findingOf("endpoint-backlog", evidenceOf({ metrics }));
  expect(found?.evidence[0]?.text).toContain("copies of Endpoints without a selector wait");
});

const refusedService = repeat(
  3,
  (index) =>
    `E1008 05:53:4${index}.770104       1 reflector.go:205] controller.go:355: Failed to list *v1.Service: Get https://10.100.200.1:443/api/v1/services?limit=500&resourceVersion=0: dial tcp 10.100.200.1:443: i/o timeout`,
);

test("the check that repeats a request names the pod whose log it is", () => {
  const source = "saved/logs/kube-system/coredns/coredns-7b5-x2.log";
  const logs = [{ component: "", source, lines: refusedService.split("\n") }];
  const change = findingOf("api-unreachable", evidenceOf({ logs }))?.fix.change ?? "";
  expect(change.split("\n")).toEqual([
    "# as the client, inside its pod:",
    `kubectl -n kube-system exec coredns-7b5-x2 -- sh -c 'curl -sk -m 70 -H "Authorization: Bearer $(cat /var/run/secrets/kubernetes.io/serviceaccount/token)" "https://10.100.200.1:443/livez"'`,
    "# if its image has no shell, from its network:",
    'kubectl -n kube-system debug coredns-7b5-x2 -it --image=curlimages/curl -- curl -sk -m 70 "https://10.100.200.1:443/livez"',
    "kubectl get endpoints kubernetes   # the addresses behind the service address",
  ]);
});

test("a kubelet is no pod, so its check runs on the machine", () => {
  const logs = [{ component: "kubelet", source: "k.log", lines: refusedService.split("\n") }];
  expect(findingOf("api-unreachable", evidenceOf({ logs }))?.fix.change).toBe(
    "curl -sk -m 5 https://10.100.200.1:443/livez   # on the machine of the client",
  );
});

test("nodes that are late together point to what they have in common, not to a grace period", () => {
  const state = (minute: number, name: string) =>
    `I0911 03:${minute}:20.100118       1 nodecontroller.go:793] NodeController detected that zone a::1 is now in state ${name}.`;
  const flaps = [10, 20].flatMap((minute) => [
    state(minute, "FullDisruption"),
    state(minute + 1, "Normal"),
  ]);
  const found = findingOf("late-heartbeats", textOf(flaps.join("\n")));
  expect(found?.fix.component).toBe("the way from the nodes to the API servers");
  expect(found?.evidence[0]?.text).toBe(
    "most nodes of the zone a::1 became not ready and came back, 2 times",
  );
  const late =
    "I0911 03:10:20.000000       1 nodecontroller.go:665] node w1 hasn't been updated for 45.1s. Last ready condition is: {}";
  const known = findingOf("late-heartbeats", textOf([...flaps, late].join("\n")));
  expect(known?.fix.change).toMatch(/^--node-monitor-grace-period=/);
});

test("the change of a selector has the labels of the pods, and that of a port the names of their ports", () => {
  const service = (spec: string): string =>
    `apiVersion: v1\nkind: Service\nmetadata: { name: notes, namespace: lab }\nspec: ${spec}\n---`;
  const pods = (labels: string): string =>
    `apiVersion: v1\nkind: Pod\nmetadata: { name: notes-1, namespace: lab, labels: ${labels} }\n` +
    "spec: { containers: [{ name: a, ports: [{ name: web, containerPort: 80 }] }] }\n---\n" +
    "NAMESPACE   NAME    ENDPOINTS   AGE\nlab         notes   <none>      3d";
  const changeOf = (spec: string, labels: string): string =>
    findingOf("selector-mismatch", textOf(`${service(spec)}\n${pods(labels)}`))?.fix.change ?? "";
  const changed = (spec: string, labels: string): string | undefined =>
    changeOf(spec, labels).split("\n")[1];
  expect(changed("{ selector: { app.kubernetes.io/name: notes } }", "{ app: notes }")).toBe(
    "kubectl -n lab patch service notes --type=merge -p " +
      `'{"spec":{"selector":{"app.kubernetes.io/name":null,"app":"notes"}}}'`,
  );
  expect(changed("{ selector: { app: notez, tier: a } }", "{ app: notes, tier: a }")).toBe(
    `kubectl -n lab patch service notes --type=merge -p '{"spec":{"selector":{"app":"notes"}}}'`,
  );
  // A quote in a pasted object is never part of a command.
  expect(changed(`{ selector: { app: notes, tier: "it's" } }`, "{ app: notes, tier: a }")).toBe(
    `kubectl -n lab patch service notes --type=merge -p '{"spec":{"selector":{"tier":"a"}}}'`,
  );
  expect(changed(`{ selector: { "a'b": notes } }`, "{ app: notes }")).toBe(
    "kubectl -n lab edit service notes   # selector",
  );
  expect(
    changed("{ selector: { app: notes }, ports: [{ targetPort: http }] }", "{ app: notes }"),
  ).toBe("kubectl -n lab edit service notes   # targetPort: one of web");
});
