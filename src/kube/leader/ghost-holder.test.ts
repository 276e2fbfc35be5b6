import { expect, test } from "vitest";
import { NetworkError } from "../../environment/network.ts";
import { type KubeClient, StatusError } from "../client/client.ts";
import { findHolder, type HolderQuestion } from "./ghost-holder.ts";

const uid = "8c5f3c1e-0d5b-4f39-9a8c-1f2e3d4c5b6a";
const otherUid = "00000000-0d5b-4f39-9a8c-1f2e3d4c5b6a";
const own: HolderQuestion = { identity: `web-0_${uid}`, form: "own", podNamespace: "edge" };
const foreign: HolderQuestion = {
  identity: "nginx-qxlt8",
  form: "foreign",
  podNamespace: undefined,
};
const ownPath = "/api/v1/namespaces/edge/pods?fieldSelector=metadata.name%3Dweb-0";
const foreignPath = "/api/v1/pods?fieldSelector=metadata.name%3Dnginx-qxlt8";
const nodePath = "/api/v1/nodes/nginx-qxlt8";

const notFound = new StatusError({ code: 404, reason: "NotFound", message: "not found" });
const forbidden = new StatusError({ code: 403, reason: "Forbidden", message: "forbidden" });
const strange404 = new StatusError({ code: 404, reason: "", message: "page not found" });
const broken = new NetworkError("RESET", "connection reset");

/** An API server with fixed answers by path. */
function serverWith(answers: Readonly<Record<string, unknown>>): KubeClient {
  return {
    request: async ({ path }) => {
      const answer = answers[path];
      if (answer instanceof Error) throw answer;
      if (answer === undefined) throw new Error(`unexpected request for ${path}`);
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)) };
    },
    stream: async () => expect.unreachable(),
  };
}

function pods(...metadata: readonly object[]): object {
  return { items: metadata.map((each) => ({ metadata: each })) };
}

test.each([
  {
    question: own,
    answers: { [ownPath]: pods({ name: "web-0", uid }) },
    presence: { kind: "present", evidence: "pod web-0 exists in namespace edge" },
  },
  {
    question: own,
    answers: { [ownPath]: pods() },
    presence: { kind: "absent", evidence: "no pod web-0 in namespace edge" },
  },
  {
    question: own,
    answers: { [ownPath]: pods({ name: "web-0", uid: otherUid }) },
    presence: {
      kind: "absent",
      evidence: `the pod web-0 in namespace edge is another one: it has uid ${otherUid}`,
    },
  },
  {
    question: own,
    answers: { [ownPath]: pods({ name: "web-1", uid }) },
    presence: { kind: "absent", evidence: "no pod web-0 in namespace edge" },
  },
  {
    question: own,
    answers: { [ownPath]: forbidden },
    presence: { kind: "unknown", evidence: "looking for pod web-0 failed: forbidden" },
  },
  {
    question: own,
    answers: { [ownPath]: broken },
    presence: { kind: "unknown", evidence: "looking for pod web-0 failed: connection reset" },
  },
  {
    question: own,
    answers: { [ownPath]: strange404 },
    presence: { kind: "unknown", evidence: "looking for pod web-0 failed: page not found" },
  },
  {
    question: own,
    answers: { [ownPath]: "a login page" },
    presence: {
      kind: "unknown",
      evidence: "looking for pod web-0 failed: a list of pods should be an object, not string",
    },
  },
  {
    question: { ...own, identity: "outside/laptop_x" },
    answers: {},
    presence: { kind: "unknown", evidence: "outside/laptop_x is not clearly the name of a pod" },
  },
  {
    question: foreign,
    answers: { [foreignPath]: pods({ name: "nginx-qxlt8", uid: otherUid }) },
    presence: { kind: "present", evidence: "pod nginx-qxlt8 exists in the cluster" },
  },
  {
    question: foreign,
    answers: { [foreignPath]: pods(), [nodePath]: notFound },
    presence: {
      kind: "absent",
      evidence: "no pod nginx-qxlt8 in the cluster and no node of that name",
    },
  },
  {
    question: foreign,
    answers: { [foreignPath]: pods(), [nodePath]: {} },
    presence: { kind: "present", evidence: "node nginx-qxlt8 exists" },
  },
  {
    question: foreign,
    answers: { [foreignPath]: pods(), [nodePath]: forbidden },
    presence: { kind: "unknown", evidence: "looking for pod nginx-qxlt8 failed: forbidden" },
  },
])("$question.identity is $presence.kind: $presence.evidence", async (row) => {
  const client = serverWith(row.answers);
  expect(await findHolder(client, row.question, { deadlineMs: 1_000 })).toEqual(row.presence);
});
