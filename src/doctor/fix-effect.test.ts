import { expect, test } from "vitest";
import { allCauses, diagnose } from "./diagnose.ts";
import { evidenceIn, noFacts } from "./evidence/evidence.ts";
import { TextReader } from "./evidence/text-reader.ts";
import { type FixQuestion, withEffects } from "./fix-effect.ts";

const throttled = [0, 1, 2]
  .map(
    (second) =>
      `I0412 22:59:0${second}.914517       1 request.go:638] Throttling request took 2.4s, request: ` +
      "GET:https://10.3.0.1:443/api/v1/namespaces/shop/endpoints/web",
  )
  .join("\n");

const late = [0, 1]
  .map(
    (minute) =>
      `I0412 22:5${minute}:02.914517       1 controller_utils.go:285] Recording status change NodeNotReady event message for node: node-1\n` +
      `I0412 22:5${minute}:02.914517       1 nodecontroller.go:738] node node-1 hasn't been updated for 4${minute}.009s. Last ready condition is: {}`,
  )
  .join("\n");

const services = Array.from(
  { length: 12 },
  (_, index) => `---
apiVersion: v1
kind: Service
metadata: { name: s-${index}, namespace: shop }
spec: { selector: { app: web }${index < 3 ? ', clusterIP: "None"' : ""} }`,
).join("\n");

const version = "Server Version: v1.17.13";

async function asked(text: string) {
  const facts = noFacts();
  const reader = new TextReader(facts, "pasted.txt");
  for (const line of text.split("\n")) reader.push(line);
  reader.end();
  const evidence = evidenceIn(facts);
  const questions: FixQuestion[] = [];
  const diagnosis = await withEffects(diagnose(evidence), evidence, {
    causes: allCauses,
    predict: async (question) => {
      questions.push(question);
      return { effect: "It helps." };
    },
    signal: new AbortController().signal,
    onProgress: () => undefined,
  });
  return { questions, fix: diagnosis.findings[0]?.fix };
}

test("a simulation is asked with the sizes and flags that were found", async () => {
  const flags = "kube-controller-manager --kube-api-qps=200 --concurrent-endpoint-syncs=9";
  const { questions, fix } = await asked([version, flags, throttled, services].join("\n"));
  expect(questions).toEqual([
    {
      concerns: "publishing",
      version: "1.17.13",
      flags: new Map([
        ["kube-api-qps", "200"],
        ["concurrent-endpoint-syncs", "9"],
      ]),
      // More than what did not suffice, as in the change that is printed.
      fixed: { qps: 400, burst: 425 },
      sizes: { services: 12, headless: 3, pods: undefined, nodes: undefined },
    },
  ]);
  expect(fix).toMatchObject({
    change: "--kube-api-qps=400 --kube-api-burst=425",
    effect: "It helps.",
  });
});

test("late heartbeats are asked with the gaps of the log and the new grace period", async () => {
  const { questions, fix } = await asked([version, late].join("\n"));
  expect(questions).toMatchObject([
    { concerns: "nodes", fixed: { grace: "70s" }, gap: { minMs: 10_000, maxMs: 41_009 } },
  ]);
  expect(fix?.change).toBe("--node-monitor-grace-period=70s");
});

test.each([
  ["the version", throttled, 'the version is unknown; the output of "kubectl version" has it.'],
  [
    "the number of services",
    `${version}\n${throttled}`,
    'the number of services is unknown; the output of "kubectl get services -A -o yaml" has it.',
  ],
])("without %s the reason is stated", async (_what, text, reason) => {
  const { questions, fix } = await asked(text);
  expect(questions).toEqual([]);
  expect(fix?.notPredicted).toBe(reason);
  expect(fix?.effect).toBeUndefined();
});
