import fc from "fast-check";
import { expect, test } from "vitest";
import {
  annotated,
  type IngressFields,
  ingress,
  path,
  routed,
} from "../../../tests/routing/short-ingress.ts";
import type { Ingress } from "../../kube/kinds/ingress.ts";
import { isThorough } from "../../simulation/seeds.ts";
import { maxSharedRules } from "./host-aliases.ts";
import { Routing } from "./routing.ts";

const alias = annotated({ "server-alias": "b.example" });

function own(name: string, texts: readonly string[], fields: IngressFields = {}): Ingress {
  const paths = texts.map((text) => path(text, name));
  return ingress(name, [{ host: "a.example", paths }], fields);
}

const at = (host: string, lines: readonly string[]) =>
  lines.filter((line) => line.startsWith(`${host} `)).map((line) => line.slice(host.length + 1));

test("another name of a host has the rules of every Ingress of its namespace", () => {
  const { lines, problems } = routed([
    own("named", ["/", "/named"], { ...alias, bornMs: 2 }),
    own("older", ["/older", "/named/older"], { bornMs: 1 }),
    own("younger", ["/younger"], { bornMs: 3 }),
  ]);
  expect(at("b.example", lines)).toEqual(at("a.example", lines));
  expect(at("b.example", lines)).toHaveLength(5);
  expect(problems).toEqual([]);
});

test("with their canaries, and by the same order of who came first", () => {
  const canary = annotated({ canary: "true", "canary-weight": "5" });
  const routing = new Routing({ className: "lockstep" });
  const { hosts, problems } = routing.decide({
    ingresses: [
      own("named", ["/", "/both"], { ...alias, bornMs: 2 }),
      own("older", ["/both"], { bornMs: 1 }),
      own("next", ["/both"], { ...canary, bornMs: 3 }),
    ],
    classes: [],
  });
  expect(hosts.get("b.example")).toEqual(hosts.get("a.example"));
  expect(hosts.get("b.example")?.[0]).toMatchObject({
    service: "shop/older:80",
    policy: { canaries: [{ service: "shop/next:80", weight: 5 }] },
  });
  const both = (host: string) =>
    `Prefix /both of host ${host} belongs to Ingress shop/older, which takes precedence`;
  expect(problems.map(({ origin, message }) => `${origin.name}: ${message}`)).toEqual([
    `named: ${both("a.example")}`,
    `named: ${both("b.example")}`,
  ]);
});

test("other namespaces have their rules there only where hosts are shared", () => {
  const asked = [
    own("named", ["/"], alias),
    own("other", ["/other"], { namespace: "other", bornMs: 1 }),
  ];
  expect(at("b.example", routed(asked).lines)).toEqual(["Prefix / → shop/named:80"]);
  expect(at("b.example", routed(asked, [], { shareHosts: true }).lines)).toEqual([
    "Prefix /other → other/other:80",
    "Prefix / → shop/named:80",
  ]);
});

test("an Ingress with the name as a host keeps it, and only the one with the alias gets a problem", () => {
  const { lines, problems } = routed([
    own("named", ["/"], alias),
    own("beside", ["/beside"], { bornMs: 1 }),
    ingress("holder", [{ host: "b.example", paths: [path("/own", "own")] }], { bornMs: 9 }),
  ]);
  expect(at("b.example", lines)).toEqual(["Prefix /own → shop/own:80"]);
  expect(problems).toEqual([
    "named: server-alias b.example: this is a host of Ingress shop/holder, so it is ignored",
  ]);
});

test("too many rules of others are left out, and that is reported", () => {
  const texts = Array.from({ length: maxSharedRules }, (_, index) => `/${index}`);
  const named = own("named", ["/"], alias);
  const fits = routed([named, own("many", texts, { bornMs: 1 })]);
  expect(at("b.example", fits.lines)).toHaveLength(maxSharedRules + 1);
  const { lines, problems } = routed([named, own("many", [...texts, "/more"], { bornMs: 1 })]);
  expect(at("b.example", lines)).toEqual(["Prefix / → shop/named:80"]);
  expect(problems).toEqual([
    "named: annotation server-alias: other Ingresses have more than 500 rules for the host, " +
      "so they are ignored for b.example",
  ]);
});

test("many names share few rules of others, so that all together are bounded", () => {
  const names = Array.from({ length: 100 }, (_, at) => `n${at}.example`);
  const named = own("named", ["/"], annotated({ "server-alias": names.join() }));
  const beside = (count: number) =>
    own(
      "beside",
      Array.from({ length: count }, (_, index) => `/${index}`),
      { bornMs: 1 },
    );
  expect(routed([named, beside(50)]).lines).toHaveLength(51 + 100 * 51);
  expect(routed([named, beside(51)]).lines).toHaveLength(52 + 100);
});

test("many names of one host do not multiply its rules without end", () => {
  const givers = Array.from({ length: 30 }, (_, index) => {
    const names = Array.from({ length: 100 }, (__, at) => `n${index}-${at}.example`);
    return own(`i${index}`, [`/${index}`], annotated({ "server-alias": names.join() }));
  });
  const few = routed(givers.slice(0, 5));
  expect(at("n0-0.example", few.lines)).toHaveLength(5);
  const { lines, problems } = routed(givers);
  // Each name has the rule of the Ingress that gives it.
  expect(lines).toHaveLength(30 + 3_000);
  expect(at("n7-3.example", lines)).toEqual(["Prefix /7 → shop/i7:80"]);
  expect(problems).toContain(
    "i7: annotation server-alias: the host has more than 500 names, " +
      "so rules of other Ingresses are ignored for n7-3.example",
  );
  const other = own("other", ["/other"], { namespace: "other", bornMs: 1 });
  expect(routed([...givers, other], [], { shareHosts: true }).lines).toHaveLength(30 + 3_000 + 1);
});

test("many Ingresses that give the same names do not multiply their rules without end", () => {
  const names = Array.from({ length: 100 }, (_, index) => `n${index}.example`);
  const paths = (of: string) =>
    Array.from({ length: 20 }, (_, index) => path(`/${of}-${index}`, of));
  const giver = (name: string, given: readonly string[], fields: IngressFields) =>
    ingress(name, [{ host: `${name}.example`, paths: paths(name) }], {
      ...fields,
      ...annotated({ "server-alias": given.join() }),
    });
  const many = Array.from({ length: 10 }, (_, at) => giver(`i${at}`, names, { bornMs: at }));
  const { lines, problems } = routed(many);
  expect(lines).toHaveLength(10 * 20 + 100 * 40);
  expect(at("n3.example", lines).filter((line) => line.includes("/i0-"))).toHaveLength(20);
  expect(problems).toContain(
    "i2: annotation server-alias: its Ingresses have more than 5000 rules for the same names, " +
      "so those of this Ingress are ignored for n3.example",
  );
  // Few names may have many rules, also if other Ingresses give them later.
  const few = many.map((_, index) => giver(`f${index}`, ["n3.example"], { bornMs: index }));
  const beside = giver("beside", names, { namespace: "other", bornMs: 99 });
  expect(at("n3.example", routed([...few, beside]).lines)).toHaveLength(200);
});

const anyIngress = fc.record({
  name: fc.constantFrom("one", "two", "three"),
  namespace: fc.constantFrom("shop", "other"),
  host: fc.constantFrom("a.example", "b.example", "c.example", ""),
  paths: fc.subarray(["/", "/a", "/b"]),
  alias: fc.constantFrom("", "b.example", "c.example", "a.example,b.example"),
  isThere: fc.boolean(),
});

test("whatever came and went, the rules are those of a beginning with what is there", () => {
  fc.assert(
    fc.property(fc.array(anyIngress, { maxLength: 12 }), fc.boolean(), (steps, shareHosts) => {
      const routing = new Routing({ className: "lockstep", shareHosts });
      const there = new Map<string, Ingress>();
      for (const { name, namespace, host, paths, alias: names, isThere } of steps) {
        const rules = [{ host, paths: paths.map((text) => path(text, name)) }];
        const fields = { namespace, bornMs: name.length, ...annotated({ "server-alias": names }) };
        const key = `${namespace}/${name}`;
        if (isThere) there.set(key, ingress(name, rules, fields));
        else there.delete(key);
        const asked = { ingresses: [...there.values()], classes: [] };
        const found = routing.decide(asked);
        const fresh = new Routing({ className: "lockstep", shareHosts }).decide(asked);
        expect(new Map(found.hosts)).toEqual(new Map(fresh.hosts));
        expect(new Set(found.problems)).toEqual(new Set(fresh.problems));
        expect(new Set(found.backends.keys())).toEqual(new Set(fresh.backends.keys()));
      }
    }),
    { numRuns: isThorough(process.env) ? 1_000 : 40 },
  );
});
