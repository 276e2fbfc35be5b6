import { expect, test } from "vitest";
import { ingress, path } from "../../tests/routing/short-ingress.ts";
import { ingressOrigin } from "../decide/routing/ingress/ingress-routes.ts";
import { atOnce } from "../environment/steps.ts";
import type { LeftOutEntry } from "../outputs/nginx/entry-memory.ts";
import { LeftOutProblems, leftOutNotes } from "./left-out.ts";

const large = ingress("large", [{ host: "a.example", paths: [path("/", "web")] }], {
  tls: [{ hosts: ["a.example"], secretName: "tls" }],
  annotations: {
    "lockstep.dev/auth-type": "basic",
    "lockstep.dev/auth-secret": "users",
  },
});
const origin = ingressOrigin(large);
const askedBy = {
  ofHost: (host: string) => (host === "a.example" ? [origin] : []),
  ofService: (key: string) => (key === "shop/web:80" ? [origin] : []),
  ingresses: () => [large],
};

function entry(kind: LeftOutEntry["kind"], name: string, hosts: readonly string[] = []) {
  return { kind, name, namespace: "shop", hosts };
}

const all = [
  entry("host", "a.example", ["a.example"]),
  entry("policy", "shop/key", ["a.example"]),
  entry("service", "shop/web:80"),
  entry("certificate", "shop/tls"),
  entry("serverName", "a.example"),
  entry("users", "shop/users file"),
];

test("the Ingress of an entry gets a problem that says that it is left out, and the effect", () => {
  const problems = atOnce(new LeftOutProblems().problems(all, askedBy));
  const why = "namespace shop exceeds its share of the proxy's memory";
  expect(problems.map(({ message }) => message)).toEqual([
    `host a.example: ${why}, so its requests are answered with 503`,
    `annotations of host a.example: ${why}, so requests are answered with 503`,
    `backend shop/web:80: ${why}, so its requests are answered with 503`,
    `secret shop/tls: ${why}, so its certificate is not used`,
    `TLS host a.example: ${why}, so its certificate is not used`,
    `users of shop/users file: ${why}, so requests are answered with 503`,
  ]);
  expect(new Set(problems.map(({ reason }) => reason))).toEqual(new Set(["MemoryShareExceeded"]));
  expect(problems.every((one) => one.origin.name === "large")).toBe(true);
});

test("a problem that stands stays the same, and those of one namespace hide no other's", () => {
  const leftOut = new LeftOutProblems();
  const flood = Array.from({ length: 500 }, (_, n) => entry("host", `${n}.example`, ["a.example"]));
  const other: LeftOutEntry = { ...entry("service", "shop/web:80"), namespace: "other" };
  const first = atOnce(leftOut.problems([...flood, other], askedBy));
  expect(first).toHaveLength(101);
  const again = atOnce(leftOut.problems([...flood, other], askedBy));
  expect(again.every((one, index) => one === first[index])).toBe(true);
});

test("/readyz has a line for each namespace", () => {
  expect(leftOutNotes(all.slice(0, 4))).toEqual([
    "namespace shop exceeds its share of the proxy's memory; left out: host a.example, " +
      "the policy shop/key, service shop/web:80 and 1 more",
  ]);
  const many = Array.from({ length: 30 }, (_, n) => ({
    ...entry("host", "a"),
    namespace: `n${n}`,
  }));
  expect(leftOutNotes(many)).toHaveLength(21);
});
