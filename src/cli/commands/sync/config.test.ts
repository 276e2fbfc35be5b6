import { expect, test } from "vitest";
import { UsageError } from "../../command.ts";
import { readSyncConfig } from "./config.ts";

const clusters = "sources: [shop-1]\ntarget: edge\n";

function problemsOf(text: string): string {
  try {
    readSyncConfig("sync.yaml", text);
    return "";
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  }
}

test("a full file has every field, and a short one the defaults", () => {
  expect(readSyncConfig("sync.yaml", clusters)).toMatchObject({
    sources: [{ name: "shop-1", context: "shop-1" }],
    target: { name: "edge", context: "edge" },
    namespaces: [],
    writesPerSecond: 200,
    probe: true,
  });
  const full = `
kubeconfig: kube.yaml
sources:
  - { name: pay, context: "arn:aws:eks:eu-west-1:1:cluster/pay", unreachable: drop }
target: edge
namespaces: all
labels: { team: pay }
exports: true
imports: none
exportStatus: false
createNamespaces: true
forget: [old]
followSlices: false
copyAs: both
probe: false
unreachable: distrust
unreachableAfter: 90s
writesPerSecond: 20
lease: lockstep/sync
statusPort: 9411
ingresses:
  classes: { nginx: edge, "": edge }
  hosts:
    - { from: "*.a.example", to: "*.example" }
  annotations: [haproxy.org/]
  tlsSecrets: [shop/web-tls, pay/*]
`;
  expect(readSyncConfig("sync.yaml", full)).toEqual({
    kubeconfig: "kube.yaml",
    sources: [{ name: "pay", context: "arn:aws:eks:eu-west-1:1:cluster/pay", unreachable: "drop" }],
    target: { name: "edge", context: "edge" },
    namespaces: "all",
    labels: { team: "pay" },
    exports: true,
    imports: "none",
    exportStatus: false,
    createNamespaces: true,
    forget: ["old"],
    followSlices: false,
    copyAs: "both",
    probe: false,
    damping: true,
    unreachable: "distrust",
    unreachableAfterMs: 90_000,
    writesPerSecond: 20,
    lease: { namespace: "lockstep", name: "sync" },
    statusHost: "127.0.0.1",
    statusPort: 9411,
    ingresses: {
      classes: { nginx: "edge", "": "edge" },
      hosts: [{ from: "*.a.example", to: "*.example" }],
      annotations: ["haproxy.org/"],
      tlsSecrets: [
        { namespace: "shop", name: "web-tls" },
        { namespace: "pay", name: "*" },
      ],
    },
  });
});

test("a cluster that imports from others can be a source too, under derived names alone", () => {
  const mutual = "sources: [a, { name: b, context: b-reader }]\ntarget: b\nexports: true\n";
  expect(readSyncConfig("sync.yaml", `${mutual}imports: derived\n`)).toMatchObject({
    sources: [{ name: "a" }, { name: "b", context: "b-reader" }],
    target: { name: "b", context: "b" },
  });
  expect(problemsOf(mutual)).toContain("the name b is given to two clusters.");
});

test("every problem is reported, each with its place and correction", () => {
  const text = `sources:
  - shop-1
  - { context: arn:x }
target: edge
namespace: [shop]
unreachable: sometimes
probe: maybe
labels: shop
lease: sync
`;
  const problems = problemsOf(text);
  expect(problems.split("\n")).toHaveLength(7);
  for (const part of [
    'sync.yaml:3:5: sources: "arn:x" cannot be part of an object name',
    'sync.yaml:5:1: there is no field "namespace"; did you mean "namespaces"?',
    'sync.yaml:6:14: unreachable cannot be "sometimes". It must be one of keep, drop, distrust.',
    "sync.yaml:7:8: probe: it must be true or false.",
    "sync.yaml:8:9: labels: it must have labels and their values, such as team: pay.",
    'sync.yaml:9:8: lease cannot be "sync".',
  ]) {
    expect(problems).toContain(part);
  }
});

test.each([
  ["no source", "target: edge\n", "sources is missing: the business clusters."],
  ["no target", "sources: [a]\n", "target is missing: the access cluster."],
  ["a name twice", "sources: [a, edge]\ntarget: edge\n", "the name edge is given to two clusters."],
  ["a source to forget", `${clusters}forget: [shop-1]\n`, "shop-1 is in sources and in forget"],
  [
    "Ingresses of no class",
    `${clusters}ingresses: { hosts: [] }\n`,
    "sync.yaml:3:12: ingresses: classes is missing, such as { nginx: nginx }.",
  ],
  [
    "half a wildcard",
    `${clusters}ingresses: { classes: {}, hosts: [{ from: "*.a", to: b }] }\n`,
    "hosts: it must have from and to, two host names, or two of *. and a domain.",
  ],
  [
    "secrets of all namespaces",
    `${clusters}ingresses: { classes: {}, tlsSecrets: ["*/*"] }\n`,
    'tlsSecrets cannot be "*/*". It must be namespace/name, or namespace/* for all of it.',
  ],
  [
    "an unknown form",
    `${clusters}copyAs: pods\n`,
    'copyAs cannot be "pods". It must be one of auto, slices, endpoints, both.',
  ],
  [
    "derived imports alone",
    `${clusters}imports: derived\n`,
    "imports: derived needs exports: true",
  ],
  [
    "derived imports by namespace",
    `${clusters}exports: true\nimports: derived\nnamespaces: [shop]\n`,
    "imports: derived goes without namespaces and labels",
  ],
  [
    "derived imports as Endpoints",
    `${clusters}exports: true\nimports: derived\ncopyAs: both\n`,
    "imports: derived needs slices: remove copyAs.",
  ],
  ["no fields", "- a\n", "the file must contain fields: kubeconfig, sources, target"],
  ["no YAML", "sources: [\n", "the config file is invalid:"],
])("a file with %s is refused", (_, text, problem) => {
  expect(problemsOf(text)).toContain(problem);
});
