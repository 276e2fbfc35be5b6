import { isIP } from "node:net";
import { expect, test } from "vitest";
import { Anonymizer } from "./anonymizer.ts";
import { parseRecordingLine } from "./recording-line.ts";

const anonymizer = new Anonymizer("key");

function anonymous(line: object) {
  return JSON.parse(anonymizer.line(JSON.stringify(line)) ?? "");
}

test("the same name becomes the same, wherever it is", () => {
  const pod = anonymous({
    cluster: "prod",
    object: { metadata: { namespace: "shop", name: "web-1" } },
  });
  const { namespace, name } = pod.object.metadata;
  expect(pod.cluster).toMatch(/^n[\da-f]{10}$/);
  const labels = { "kubernetes.io/service-name": "web-1", team: "shop" };
  const slice = anonymous({ object: { metadata: { labels } } });
  expect(Object.values(slice.object.metadata.labels)).toEqual([name, namespace]);
  expect(Object.keys(slice.object.metadata.labels)[0]).toBe("kubernetes.io/service-name");
  const named = anonymous({ input: { type: "traffic", traffic: { service: "shop/web-1" } } });
  expect(named.input.traffic.service).toBe(`${namespace}/${name}`);
});

test("addresses stay addresses of their family, and no two become one", () => {
  const of = (ip: string) => String(anonymous({ ip }).ip);
  const fours = Array.from({ length: 2_000 }, (_, index) => `10.0.${index >> 8}.${index & 255}`);
  expect(new Set(fours.map(of)).size).toBe(2_000);
  expect(fours.map(of).every((ip) => isIP(ip) === 4)).toBe(true);
  expect(isIP(of("fd00::1"))).toBe(6);
  expect(of("FD00::1")).toBe(of("fd00::1"));
  expect(of("fd00::1")).not.toBe(of("fd00::2"));
});

test("a uid stays a uid, and times and words of Kubernetes stay what they are", () => {
  const line = {
    at: "2026-01-01T00:00:00.000Z",
    cluster: "prod",
    kind: "Pod",
    change: "updated",
    by: "watch",
    object: {
      metadata: { namespace: "shop", name: "web", uid: "0d5a8e1c-6f6e-4a5e-9b43-0f7d9f3f6a11" },
      status: { phase: "Running", conditions: [{ type: "Ready", reason: "Unlucky shop-web" }] },
    },
  };
  const read = anonymous(line);
  expect(read.object.metadata.uid).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  expect(read.object.status).toEqual({
    phase: "Running",
    conditions: [{ type: "Ready", reason: "(left out)" }],
  });
  expect(parseRecordingLine(JSON.stringify(read))).toMatchObject({ type: "change", kind: "Pod" });
});

test("fields that it does not know and texts for people are left out", () => {
  expect(anonymous({ secret: "shop", input: { type: "notes", notes: ["shop is slow"] } })).toEqual({
    input: { type: "notes", notes: [] },
  });
  expect(anonymous({ detail: "https://shop is gone", failure: "shop" })).toEqual({
    detail: "(left out)",
    failure: "(left out)",
  });
  expect(anonymizer.line('{"cluster":"prod"')).toBeUndefined();
});

test("another key gives other names", () => {
  const line = JSON.stringify({ cluster: "prod" });
  expect(new Anonymizer("other").line(line)).not.toBe(anonymizer.line(line));
  expect(new Anonymizer("key").line(line)).toBe(anonymizer.line(line));
});
