// Which folder may import which. Data flows one way: a later stage may know an earlier one, never
// the reverse; product code knows neither the lab nor the simulator. The tests compare this table
// with the folders of src and with the table in ARCHITECTURE.md, so a new folder gets its place on
// purpose and a folder that is gone leaves none.

export interface Folder {
  readonly mayImport: readonly string[];
  readonly reason: string;
}

const flow = "data flows one way: sources → model → decide → outputs (see ARCHITECTURE.md)";

const product: Readonly<Record<string, Folder>> = {
  environment: { mayImport: [], reason: "the environment is what everything else stands on" },
  kube: {
    mayImport: ["environment"],
    reason: "product code must run without the lab and the simulator",
  },
  sources: { mayImport: ["environment", "kube"], reason: flow },
  model: { mayImport: ["environment", "kube", "sources"], reason: flow },
  decide: { mayImport: ["environment", "kube", "sources", "model"], reason: flow },
  outputs: { mayImport: ["environment", "kube", "sources", "model", "decide"], reason: flow },
  ingress: {
    mayImport: ["environment", "kube", "sources", "model", "decide", "outputs", "telemetry"],
    reason: flow,
  },
  migrate: {
    mayImport: ["environment", "kube", "sources", "model", "decide", "access-log"],
    reason: "verdicts come from the decisions of the product",
  },
  timeline: { mayImport: ["environment"], reason: "the timeline is pure" },
  "access-log": { mayImport: ["environment", "kube"], reason: flow },
  observe: {
    mayImport: ["environment", "kube", "sources", "model", "decide", "access-log", "timeline"],
    reason: flow,
  },
  history: { mayImport: ["environment", "timeline"], reason: flow },
  telemetry: { mayImport: ["environment", "kube", "timeline"], reason: flow },
  recording: {
    mayImport: ["environment", "kube", "sources", "access-log", "timeline", "observe"],
    reason: flow,
  },
  blame: {
    mayImport: ["environment", "kube", "sources", "model", "access-log", "timeline", "recording"],
    reason: flow,
  },
  doctor: {
    mayImport: [
      "environment",
      "kube",
      "sources",
      "model",
      "access-log",
      "timeline",
      "observe",
      "recording",
    ],
    reason: flow,
  },
  server: {
    mayImport: [
      "environment",
      "kube",
      "sources",
      "model",
      "decide",
      "access-log",
      "timeline",
      "observe",
      "history",
      "telemetry",
      "recording",
      "doctor",
    ],
    reason: "the page shows what the product knows; the parts of a lab are handed in",
  },
};

const productNames = Object.keys(product);

/** By their names in src. */
export const folders: Readonly<Record<string, Folder>> = {
  ...product,
  simulation: {
    mayImport: ["environment"],
    reason: "the simulator is an environment and knows nothing of what runs in it",
  },
  components: {
    mayImport: ["environment", "kube"],
    reason: "API servers and controllers share these formats; neither needs the other",
  },
  apiserver: {
    mayImport: ["environment", "kube", "components"],
    reason: "the API server is a library: the lab uses it, and it knows no lab",
  },
  lab: {
    mayImport: [...productNames, "simulation", "components", "apiserver"],
    reason: "the lab runs the product beside its models, and is not known to it",
  },
  cli: {
    mayImport: [...productNames, "simulation", "components", "apiserver", "lab"],
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
export const ownServer = "src/apiserver/";

/** Of src, the page may import these: the contract, and text that a terminal shows alike. */
export const ofThePage = [
  "src/server/api.ts",
  "src/environment/counted.ts",
  "src/environment/duration-text.ts",
];

/** Where ambient time, chance, files and sockets are allowed, because it is what they wrap. */
export const ambientAllowed = ["src/environment/node/", "src/simulation/", "src/main.ts"];

/** Decisions are functions of what is known: nothing here waits. */
export const pureFolders = ["src/decide/", "src/doctor/rules/"];
