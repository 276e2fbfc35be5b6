import { expect, test } from "vitest";
import { annotated, ingress } from "../../../tests/routing/short-ingress.ts";
import { claimsOf, maxUnlistedClaims } from "./certificate-claims.ts";

const many = 2_000;
const list = <One>(make: (index: number) => One): readonly One[] =>
  Array.from({ length: many }, (_, index) => make(index));
const rules = list((index) => ({ host: `h${index}.example`, paths: [] }));
const exceeded =
  "spec.tls: more than 20000 hosts have no entry that lists them, so the last entries are " +
  "used only for the hosts they list";

test.each([
  ["without hosts", list((index) => ({ hosts: [], secretName: `s${index}` })), {}],
  ["of a wildcard", list((index) => ({ hosts: ["*.example"], secretName: `s${index}` })), {}],
  [
    "beside other names",
    list((index) => ({ hosts: [`t${index}.example`], secretName: `s${index}` })),
    annotated({ "server-alias": Array.from({ length: 100 }, (_, at) => `a${at}.other`).join() }),
  ],
])("entries %s do not multiply the names of an Ingress without end", (_, tls, fields) => {
  const { claims, aliases, problems } = claimsOf(ingress("large", rules, { ...fields, tls }));
  expect(claims.length + aliases.length).toBeLessThanOrEqual(maxUnlistedClaims + many);
  expect(claims.length + aliases.length).toBeGreaterThan(many);
  expect(problems.map(({ message }) => message)).toEqual([exceeded]);
});

test("an entry without hosts is for every host of a large Ingress", () => {
  const { claims, problems } = claimsOf(
    ingress("large", rules, { tls: [{ hosts: [], secretName: "one" }] }),
  );
  expect(claims).toHaveLength(many);
  expect(problems).toEqual([]);
});
