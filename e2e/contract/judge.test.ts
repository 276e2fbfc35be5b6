import { describe, expect, test } from "vitest";
import { differences } from "./compare.ts";
import type { Step, Transcript } from "./contract-case.ts";
import { judge, type KnownDifference } from "./judge.ts";
import { normalise } from "./normalise.ts";

const uid = "0a8f1f0e-7f3c-4d0b-9c39-0f6f8f1c2a11";
const startedMs = Date.parse("2026-01-02T03:04:00Z");

function step(body: unknown, request = "GET /api/v1/pods"): Step {
  return { request, status: 200, headers: { date: "now", "audit-id": uid }, body };
}

function object(metadata: object, rest: object = {}): object {
  return { metadata: { uid, name: "a", ...metadata }, ...rest };
}

function normalised(...steps: readonly Step[]): Transcript {
  const requests = steps.map(({ request }) => request);
  return normalise(steps, { name: "case-0001", startedMs, requests });
}

describe("normalising", () => {
  test("keeps what identities, versions and times stand for", () => {
    const [first, second] = normalised(
      step(object({ resourceVersion: "17", creationTimestamp: "2026-01-02T03:04:01Z" })),
      step(object({ resourceVersion: "12", deletionTimestamp: "2026-01-02T03:04:31Z" })),
    );
    expect(first).toEqual({
      request: "GET /api/v1/pods",
      status: 200,
      headers: { "audit-id": "<id>" },
      body: {
        metadata: {
          creationTimestamp: "<now>",
          name: "a",
          resourceVersion: "<v1>",
          uid: "<uid 1>",
        },
      },
    });
    expect(second?.body).toEqual({
      metadata: {
        deletionTimestamp: "<now+30s>",
        name: "a",
        resourceVersion: "<v0>",
        uid: "<uid 1>",
      },
    });
  });

  test("leaves alone what the client was first to name", () => {
    const request = "POST clusterIP=10.96.7.7 2026-01-02T03:04:05Z";
    const body = {
      spec: { clusterIP: "10.96.7.7", other: "10.96.7.8" },
      at: "2026-01-02T03:04:05Z",
    };
    const [only] = normalised(step(body, request));
    expect(only?.body).toEqual({
      at: "2026-01-02T03:04:05Z",
      spec: { clusterIP: "10.96.7.7", other: "<ip 1>" },
    });
  });

  test("does not look at ages, which depend on when one asks", () => {
    const [only] = normalised(step({ rows: [{ cells: ["9s", "317d", "2y11d", "8y", "web-9s"] }] }));
    expect(only?.body).toEqual({
      rows: [{ cells: ["<age>", "<age>", "<age>", "<age>", "web-9s"] }],
    });
  });

  test("tells a generated name by its base, and a port by being the server's", () => {
    const [only] = normalised(
      step(object({ generateName: "web-", name: "web-x7k2z" }, { ports: [{ nodePort: 30_123 }] })),
    );
    expect(only?.body).toEqual({
      metadata: { generateName: "web-", name: "web-<suffix 1>", uid: "<uid 1>" },
      ports: [{ nodePort: "<port 1>" }],
    });
  });
});

describe("comparing", () => {
  test("names every place that differs, also what one side lacks", () => {
    const real = [step({ a: 1, list: [1, 2] }), step({})];
    const embedded = [step({ a: 2, list: [1], more: true })];
    expect(differences("case", real, embedded).map(({ place }) => place)).toEqual([
      "body.a",
      "body.list[1]",
      "body.more",
      "step",
    ]);
  });
});

describe("judging", () => {
  const real = new Map([["lists: one", [step({ a: 1, b: 1 })]]]);
  const embedded = new Map([["lists: one", [step({ a: 2, b: 2 })]]]);
  const known = (place: RegExp): KnownDifference => ({ what: "w", why: "y", where: { place } });

  test("explains what is known and reports what is not", () => {
    const verdict = judge(real, embedded, [known(/^body\.a$/)]);
    expect([...verdict.explained.values()]).toEqual([1]);
    expect(verdict.unlisted.map(({ place }) => place)).toEqual(["body.b"]);
    expect(verdict.gone).toEqual([]);
  });

  test("reports what is listed and no longer occurs", () => {
    const stale = known(/^body\.c$/);
    expect(judge(real, embedded, [stale]).gone).toEqual([stale]);
  });

  test("counts a case the embedded server never answered as different", () => {
    expect(judge(real, new Map(), []).unlisted.map(({ place }) => place)).toEqual(["step"]);
  });
});
