// Which folder may import which. Data flows one way: a later stage may know an earlier one, never
// the reverse; product code knows neither the lab nor the simulator. A folder that is not listed
// here is an error, so that a new one gets its place on purpose.

export interface Folder {
  readonly mayImport: readonly string[];
  readonly reason: string;
}

const flow = "data flows one way: sources → model → decide → outputs (see ARCHITECTURE.md)";
const product = "product code must run without the lab and the simulator";

export const folders: Readonly<Record<string, Folder>> = {
  environment: { mayImport: [], reason: "the environment is what everything else stands on" },
  kube: { mayImport: ["environment"], reason: product },
  sources: { mayImport: ["environment", "kube"], reason: flow },
  model: { mayImport: ["environment", "kube", "sources"], reason: flow },
  decide: { mayImport: ["environment", "kube", "sources", "model"], reason: flow },
  outputs: { mayImport: ["environment", "kube", "sources", "model", "decide"], reason: flow },
  journeys: { mayImport: ["environment", "kube", "sources", "model"], reason: flow },
  "access-log": { mayImport: ["environment", "kube"], reason: flow },
  observer: {
    mayImport: ["environment", "kube", "sources", "model", "decide", "access-log", "journeys"],
    reason: flow,
  },
  history: { mayImport: ["environment", "journeys"], reason: flow },
  telemetry: { mayImport: ["environment", "kube", "journeys"], reason: flow },
  blame: {
    mayImport: ["environment", "kube", "sources", "model", "access-log", "journeys"],
    reason: flow,
  },
  doctor: { mayImport: ["environment", "kube", "sources", "model", "journeys"], reason: flow },
  server: {
    mayImport: ["environment", "kube", "sources", "model", "decide", "journeys", "doctor"],
    reason: product,
  },
  ingress: {
    mayImport: ["environment", "kube", "sources", "model", "decide", "outputs", "telemetry"],
    reason: flow,
  },
  lab: {
    mayImport: [
      "environment",
      "kube",
      "sources",
      "model",
      "decide",
      "outputs",
      "ingress",
      "access-log",
      "journeys",
      "observer",
      "history",
      "telemetry",
      "blame",
      "doctor",
      "simulation",
    ],
    reason: "the lab runs the product beside its models, and is not known to it",
  },
  simulation: {
    mayImport: ["environment"],
    reason: "the simulator is an environment and knows nothing of what runs in it",
  },
  cli: {
    mayImport: [
      "environment",
      "kube",
      "sources",
      "model",
      "decide",
      "outputs",
      "ingress",
      "access-log",
      "journeys",
      "observer",
      "history",
      "telemetry",
      "blame",
      "doctor",
      "server",
      "lab",
      "simulation",
    ],
    reason: "commands put the parts together",
  },
};

/** Parts of the lab that are ordinary clients: they run against any API server, so they know none. */
export const ordinaryClients = [
  "src/lab/controllers/",
  "src/lab/kubelet/",
  "src/lab/leader/",
  "src/lab/scheduler/",
  "src/lab/service-path/",
  "src/lab/stock/",
];
export const ownServer = "src/lab/apiserver/";

/** Where ambient time, chance, files and sockets are allowed, because it is what they wrap. */
export const ambientAllowed = ["src/environment/node/", "src/simulation/", "src/main.ts"];
