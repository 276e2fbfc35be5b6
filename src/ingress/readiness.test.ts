import { expect, test } from "vitest";
import { type AgedWatch, type ReadinessFacts, readiness } from "./readiness.ts";

const fresh: AgedWatch = {
  kind: "pods",
  cluster: "east",
  status: { state: "fresh", detail: "", currentAtMs: undefined },
  provedCurrentMsAgo: 10,
};

const silent: AgedWatch = {
  kind: "pods",
  cluster: "west",
  status: { state: "stale", detail: "connection refused", currentAtMs: undefined },
  provedCurrentMsAgo: 600_000,
};

const never: AgedWatch = { ...silent, provedCurrentMsAgo: undefined };

const refused: AgedWatch = {
  ...silent,
  status: { state: "refused", detail: "forbidden", currentAtMs: undefined },
};

const serving: ReadinessFacts = {
  isDraining: false,
  isDecided: true,
  proxyProblem: undefined,
  watches: [fresh],
  policy: { readyRequiresFresh: false, staleAfterMs: 300_000 },
};

const lost = "list of ingresses returned 0 of 1,234 known objects";
const doubt = `east: ${lost}`;
const doubted: AgedWatch = {
  ...fresh,
  kind: "ingresses",
  status: { state: "stale", detail: lost, currentAtMs: undefined, doubt: lost },
};

const strict = { readyRequiresFresh: true, staleAfterMs: 300_000 };
const silence = "pods of west were last known to be up to date 600 s ago (connection refused)";

test.each<[string, Partial<ReadinessFacts>, string | undefined, readonly string[]]>([
  ["serves by its own decision", {}, undefined, []],
  ["is stopping", { isDraining: true }, "stopping", []],
  [
    "has not listed a cluster yet",
    { isDecided: false, watches: [fresh, never] },
    "the clusters have not been listed yet",
    ["pods of west were never listed (connection refused)"],
  ],
  ["has no nginx", { proxyProblem: "nginx does not serve" }, "nginx does not serve", []],
  ["has lost a cluster, and serves on", { watches: [fresh, silent] }, undefined, [silence]],
  [
    "has lost a cluster, and must be fresh",
    { watches: [silent], policy: strict },
    `stale data: ${silence}`,
    [silence],
  ],
  [
    "has lost a cluster for a short time only",
    { watches: [{ ...silent, provedCurrentMsAgo: 299_999 }], policy: strict },
    undefined,
    [],
  ],
  ["has a list that is not believed", { watches: [doubted] }, undefined, [doubt]],
  [
    "has a list that is not believed, and must be fresh",
    { watches: [doubted], policy: strict },
    `stale data: ${doubt}`,
    [doubt],
  ],
  [
    "has lists of secrets that are not believed, and must be fresh",
    { doubtedSecrets: [doubt, doubt], policy: strict },
    undefined,
    [doubt],
  ],
  ["may not watch pods", { watches: [refused], policy: strict }, undefined, []],
  [
    "may not watch the Ingresses",
    { isDecided: false, watches: [fresh, { ...refused, provedCurrentMsAgo: undefined }] },
    "the clusters have not been listed yet",
    ["pods of west were never listed (forbidden)"],
  ],
  [
    "may watch the services of no cluster",
    { watches: [fresh, { ...refused, kind: "services", provedCurrentMsAgo: undefined }] },
    "no permission to watch services in any cluster",
    ["services of west were never listed (forbidden)"],
  ],
  [
    "may watch the services of one cluster",
    {
      watches: [
        { ...fresh, kind: "services" },
        { ...refused, kind: "services", provedCurrentMsAgo: undefined },
      ],
    },
    undefined,
    [],
  ],
  [
    "may no longer watch services that it has listed",
    { watches: [{ ...refused, kind: "services" }] },
    undefined,
    [],
  ],
])("a replica that %s", (_, facts, problem, notes) => {
  expect(readiness({ ...serving, ...facts })).toEqual({ problem, notes });
});
