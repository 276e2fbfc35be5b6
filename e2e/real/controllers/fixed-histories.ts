// The histories that are not random: a service with more pods than one Endpoints object or one slice
// may hold, which takes its time, and services with labels that are the controllers' own.
import type { History, Operation, Step } from "./scene.ts";

/** Endpoints hold 1,000 addresses, a slice 100. */
const many = 1005;
const few = 130;

const namespace = "crowd";
const pods = `/api/v1/namespaces/${namespace}/pods`;
const services = `/api/v1/namespaces/${namespace}/services`;
const transition = "2020-01-01T00:00:00Z";

export const crowdHistory: History = {
  namespace,
  steps: [
    {
      title: `${many + few} pods come`,
      operations: [...names("many", many), ...names("few", few)].map(created),
      isUnordered: true,
    },
    {
      title: "and start",
      operations: [...names("many", many), ...names("few", few)].map(started),
      isUnordered: true,
    },
    {
      title: "a service selects most of them",
      operations: [
        {
          method: "POST",
          target: services,
          body: {
            apiVersion: "v1",
            kind: "Service",
            metadata: { name: "web" },
            spec: { selector: { crowd: "many" }, ports: [{ port: 80, targetPort: 8080 }] },
          },
        },
      ],
    },
    patched("an annotation", { metadata: { annotations: { n: "1" } } }),
    {
      title: "one of them becomes unready",
      operations: [statusOf("many-0", { phase: "Running", ...readiness(false) })],
    },
    patched("a label", { metadata: { labels: { team: "blue" } } }),
    patched("all ready or not", { spec: { publishNotReadyAddresses: true } }),
    patched("the others", { spec: { selector: { crowd: "few" } } }),
    patched("most of them again", { spec: { selector: { crowd: "many" } } }),
  ],
};

const labelled = "/api/v1/namespaces/labels/services";

/**
 * Of a service without a selector these labels would keep the mirroring controller writing as often
 * as it looks, which is up to chance; of others they are passed over.
 */
export const labelsHistory: History = {
  namespace: "labels",
  steps: ["endpointslice.kubernetes.io/managed-by", "kubernetes.io/service-name"].flatMap(
    (label, index): readonly Step[] => [
      {
        title: `a service with the label ${label}`,
        operations: [
          {
            method: "POST",
            target: labelled,
            body: {
              metadata: { name: `web-${index}`, labels: { [label]: "another", team: "blue" } },
              spec: { selector: { app: "nobody" }, ports: [{ port: 80 }] },
            },
          },
        ],
      },
      {
        title: "and without",
        operations: [
          {
            method: "PATCH",
            target: `${labelled}/web-${index}`,
            body: { metadata: { labels: { [label]: null } } },
          },
        ],
      },
    ],
  ),
};

function patched(what: string, body: object): Step {
  return {
    title: `the service: ${what}`,
    operations: [{ method: "PATCH", target: `${services}/web`, body }],
  };
}

function names(crowd: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${crowd}-${index}`);
}

function created(name: string): Operation {
  const metadata = { name, labels: { crowd: name.replace(/-.*/, "") } };
  const spec = { nodeName: "node-a", containers: [{ name: "main", image: "main:1" }] };
  const body = { apiVersion: "v1", kind: "Pod", metadata, spec };
  return { method: "POST", target: pods, body };
}

function started(name: string, number: number): Operation {
  const podIP = `10.201.${16 + Math.floor(number / 250)}.${1 + (number % 250)}`;
  return statusOf(name, { phase: "Running", podIP, podIPs: [{ ip: podIP }], ...readiness(true) });
}

function readiness(isReady: boolean): object {
  const lastTransitionTime = isReady ? transition : "2020-01-01T00:01:00Z";
  const status = isReady ? "True" : "False";
  return { conditions: [{ type: "Ready", status, lastTransitionTime }] };
}

function statusOf(pod: string, status: object): Operation {
  return { method: "PATCH", target: `${pods}/${pod}/status`, body: { status } };
}
