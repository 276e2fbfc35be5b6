import { expect, test } from "vitest";
import {
  ingress,
  RuleTargetModel,
  rawIngress,
  ruleOffer,
  ruleSettings,
  tlsSecret,
  unknownOffer,
} from "../../../../tests/syncing/rules.ts";
import { shownWrite } from "../sync-write.ts";

test("an Ingress is delivered with the access cluster's class and hosts, and its changes as patches", () => {
  const edge = new RuleTargetModel("web", "pay");
  const settings = { ...ruleSettings, hosts: [{ from: "*.a.example", to: "*.example" }] };
  const annotations = {
    "nginx.ingress.kubernetes.io/rewrite-target": "/",
    "meta.helm.sh/release-name": "web",
  };
  const tls = [{ hosts: ["shop.a.example"], secretName: "web-tls" }];
  const first = ingress("web", ["shop.a.example web pay"], {
    metadata: { annotations },
    spec: { tls },
  });
  expect(edge.sync([ruleOffer("lab-1", [first])], { settings })).toEqual([
    "create Ingress web: 1 rule of lab-1",
  ]);
  const path = (path: string, name: string) => ({
    path,
    pathType: "Prefix",
    backend: { service: { name, port: { name: "http" } } },
  });
  expect(edge.shown("Ingress", "web")).toEqual({
    labels: {
      "app.kubernetes.io/managed-by": "lockstep.dev",
      "lockstep.dev/source-cluster": "lab-1",
    },
    annotations: { "nginx.ingress.kubernetes.io/rewrite-target": "/" },
    spec: {
      ingressClassName: "edge",
      rules: [{ host: "shop.example", http: { paths: [path("/", "web"), path("/pay", "pay")] } }],
      tls: [{ hosts: ["shop.example"], secretName: "web-tls" }],
    },
  });
  const next = ingress("web", ["shop.a.example web"], { spec: { defaultBackend: undefined } });
  expect(edge.sync([ruleOffer("lab-1", [next])], { settings })).toEqual([
    "update Ingress web: rules, tls, annotations of lab-1",
  ]);
  expect(edge.shown("Ingress", "web")).toMatchObject({
    annotations: {},
    spec: { rules: [{ host: "shop.example", http: { paths: [path("/", "web")] } }] },
  });
  expect(edge.sync([ruleOffer("lab-1", [])], { settings })).toEqual([
    "delete Ingress web: lab-1 does not have it with a synced service any more",
  ]);
});

test("a rule with a path to a service that is not synced is left out whole, and the reason is given", () => {
  const edge = new RuleTargetModel("web");
  const backend = { service: { name: "own", port: { number: 80 } } };
  const mixed = ingress("web", ["shop.example web admin", "web.example web"], {
    spec: { defaultBackend: backend },
  });
  const bucket = { resource: { kind: "Bucket", name: "files" } };
  const files = ingress("files", [], { spec: { defaultBackend: bucket } });
  const sources = [ruleOffer("lab-1", [mixed, files])];
  expect(edge.plan(sources)).toMatchObject({
    delivered: 1,
    problems: [
      "Ingress shop/files of lab-1: default backend: its backend is not a Service",
      "Ingress shop/web of lab-1: default backend: the Service shop/own is not synced",
      "Ingress shop/web of lab-1: host shop.example: the Service shop/admin is not synced",
    ],
  });
  expect(edge.sync(sources)).toEqual(["create Ingress web: 1 rule of lab-1"]);
  edge.synced.add("admin");
  expect(edge.sync(sources)).toEqual(["update Ingress web: rules of lab-1"]);
  edge.synced.clear();
  expect(edge.sync(sources)).toEqual([
    "delete Ingress web: lab-1 does not have it with a synced service any more",
  ]);
});

test("an Ingress is not delivered if it is a copy, says no, is being deleted or has another class", () => {
  const edge = new RuleTargetModel("web");
  const rules = ["shop.example web"];
  const all = [
    ingress("copy", rules, {
      metadata: { labels: { "app.kubernetes.io/managed-by": "lockstep.dev" } },
    }),
    ingress("no", rules, { metadata: { labels: { "lockstep.dev/sync": "false" } } }),
    ingress("ends", rules, { metadata: { deletionTimestamp: "2026-01-02T03:04:05Z" } }),
    ingress("other", rules, { spec: { ingressClassName: "other" } }),
    ingress("none", rules, { spec: { ingressClassName: undefined } }),
  ];
  expect(edge.plan([ruleOffer("lab-1", all)])).toMatchObject({ writes: [], problems: [] });
  const settings = { ...ruleSettings, classes: { "": "edge" } };
  expect(edge.sync([ruleOffer("lab-1", all)], { settings })).toEqual([
    "create Ingress none: 1 rule of lab-1",
  ]);
});

test("with hosts, only those are delivered", () => {
  const edge = new RuleTargetModel("web");
  const hosts = [
    { from: "web.example", to: "shop.example" },
    { from: "*.b.example", to: "*.b.example" },
  ];
  const settings = { ...ruleSettings, hosts };
  const rules = ["web.example web", "x.b.example web", "*.b.example web", "b.example web"];
  const { problems } = edge.plan([ruleOffer("lab-1", [ingress("web", rules)])], { settings });
  expect(problems).toEqual(["Ingress shop/web of lab-1: host b.example: hosts does not have it"]);
  edge.sync([ruleOffer("lab-1", [ingress("web", rules)])], { settings });
  expect(edge.shown("Ingress", "web")).toMatchObject({
    spec: { rules: [{ host: "shop.example" }, { host: "x.b.example" }, { host: "*.b.example" }] },
  });
});

test("with hosts, neither a default backend nor an annotation adds another host", () => {
  const edge = new RuleTargetModel("web");
  const settings = { ...ruleSettings, hosts: [{ from: "*.a.example", to: "*.example" }] };
  const prefix = "nginx.ingress.kubernetes.io/";
  const written = (aliases: string) =>
    ingress("web", ["shop.a.example web"], {
      metadata: {
        annotations: {
          [`${prefix}server-alias`]: aliases,
          [`${prefix}from-to-www-redirect`]: "true",
        },
      },
      spec: { defaultBackend: { service: { name: "web", port: { number: 80 } } } },
    });
  const own = ruleOffer("lab-1", [written("old.a.example, bank.example,~^.*|x.a.example,")]);
  expect(edge.plan([own], { settings }).problems).toEqual([
    "Ingress shop/web of lab-1: default backend: it is for every host, and hosts does not have that",
    `Ingress shop/web of lab-1: ${prefix}server-alias: hosts does not have "bank.example", "~^.*|x.a.example"`,
  ]);
  edge.sync([own], { settings });
  const copy = edge.shown("Ingress", "web");
  expect(copy).toMatchObject({
    annotations: {
      [`${prefix}server-alias`]: "old.example",
      [`${prefix}from-to-www-redirect`]: "true",
    },
  });
  expect(copy).not.toHaveProperty("spec.defaultBackend");
  const exact = { ...settings, hosts: [{ from: "shop.a.example", to: "shop.example" }] };
  edge.sync([ruleOffer("lab-1", [written("bank.example")])], { settings: exact });
  expect(edge.shown("Ingress", "web")).toMatchObject({ annotations: {} });
});

test("of two clusters with one name the first source counts; the other is named if it differs", () => {
  const edge = new RuleTargetModel("web", "pay");
  const same = ruleOffer("lab-2", [ingress("web", ["shop.example web"])]);
  const other = ruleOffer("lab-2", [ingress("web", ["shop.example pay"])]);
  const first = ruleOffer("lab-1", [ingress("web", ["shop.example web"])]);
  edge.sync([ruleOffer("lab-1", []), same]);
  expect(edge.sync([first, same])).toEqual(["update Ingress web: labels of lab-1"]);
  expect(edge.plan([first, same]).problems).toEqual([]);
  expect(edge.plan([first, other])).toMatchObject({
    writes: [],
    problems: ["Ingress shop/web of lab-2: that of lab-1 counts, and differs"],
  });
  expect(edge.sync([ruleOffer("lab-1", []), other])).toEqual([
    "update Ingress web: rules of lab-2",
  ]);
});

test("a copy stays while its cluster is not known, and goes when it is forgotten", () => {
  const edge = new RuleTargetModel("web");
  const settings = { ...ruleSettings, tlsSecrets: [{ namespace: "shop", name: "*" }] };
  const tls = [{ secretName: "web-tls" }];
  const web = ingress("web", ["shop.example web"], { spec: { tls } });
  edge.sync([ruleOffer("lab-1", [web], [tlsSecret("web-tls", "1")])], { settings });
  const second = ruleOffer("lab-2", [web], [tlsSecret("web-tls", "2")]);
  expect(edge.sync([unknownOffer("lab-1"), second], { settings })).toEqual([]);
  expect(edge.sync([ruleOffer("lab-2", [])], { settings })).toEqual([]);
  expect(edge.plan([second], { settings }).problems).toEqual([
    "Ingress shop/web of lab-2: Ingress shop/web is a copy of lab-1, which another sync writes",
  ]);
  const forgottenClusters = new Set(["lab-1"]);
  expect(edge.sync([ruleOffer("lab-2", [])], { settings, forgottenClusters })).toEqual([
    "delete Ingress web: lab-1 is forgotten",
    "delete Secret web-tls: lab-1 is forgotten",
  ]);
});

test("objects of others are neither changed nor removed, and are named as the reason", () => {
  const edge = new RuleTargetModel("web");
  const settings = { ...ruleSettings, tlsSecrets: [{ namespace: "shop", name: "web-tls" }] };
  edge.put("Ingress", rawIngress("web", ["own.example web"]));
  edge.put("Secret", { metadata: { name: "web-tls" }, type: "kubernetes.io/tls" });
  const tls = [{ secretName: "web-tls" }];
  const both = ["web", "pay"].map((name) => ingress(name, ["shop.example web"], { spec: { tls } }));
  const sources = [ruleOffer("lab-1", both, [tlsSecret("web-tls", "1")])];
  expect(edge.plan(sources, { settings }).problems).toEqual([
    "Ingress shop/web of lab-1: Ingress shop/web exists and was not created by Lockstep",
    "Secret shop/web-tls of lab-1: Secret shop/web-tls exists and was not created by Lockstep",
  ]);
  expect(edge.sync(sources, { settings })).toEqual(["create Ingress pay: 1 rule of lab-1"]);
  expect(edge.sync([ruleOffer("lab-1", [])], { settings })).toEqual([
    "delete Ingress pay: lab-1 does not have it with a synced service any more",
  ]);
});

test("a TLS secret is copied with consent only, before its Ingress, and removed after it", () => {
  const edge = new RuleTargetModel("web");
  const spec = { tls: [{ secretName: "web-tls" }, { secretName: "other-tls" }] };
  const web = ingress("web", ["shop.example web"], { spec });
  const of = (pair: string) =>
    ruleOffer("lab-1", [web], [tlsSecret("web-tls", pair), tlsSecret("other-tls", pair)]);
  expect(edge.plan([of("1")]).wantedSecrets).toEqual(new Map());
  const settings = { ...ruleSettings, tlsSecrets: [{ namespace: "shop", name: "web-tls" }] };
  const { writes, wantedSecrets } = edge.plan([of("1")], { settings });
  expect(wantedSecrets).toEqual(new Map([["lab-1", new Set(["web-tls"])]]));
  expect(JSON.stringify(writes.map(shownWrite))).not.toContain(btoa("key 1"));
  expect(edge.sync([of("1")], { settings })).toEqual([
    "create Secret web-tls: TLS secret of lab-1",
    "create Ingress web: 1 rule of lab-1",
  ]);
  expect(edge.sync([of("2")], { settings })).toEqual([
    "update Secret web-tls: TLS secret of lab-1",
  ]);
  expect(edge.shown("Secret", "web-tls")).toMatchObject({
    type: "kubernetes.io/tls",
    data: { "tls.crt": btoa("chain 2"), "tls.key": btoa("key 2") },
  });
  expect(edge.sync([ruleOffer("lab-1", [])], { settings })).toEqual([
    "delete Ingress web: lab-1 does not have it with a synced service any more",
    "delete Secret web-tls: no delivered Ingress of lab-1 uses it",
  ]);
});

test("a secret that is missing goes, one that cannot be read stays, and both are named", () => {
  const edge = new RuleTargetModel("web");
  const settings = { ...ruleSettings, tlsSecrets: [{ namespace: "shop", name: "*" }] };
  const web = ingress("web", ["shop.example web"], { spec: { tls: [{ secretName: "web-tls" }] } });
  edge.sync([ruleOffer("lab-1", [web], [tlsSecret("web-tls", "1")])], { settings });
  const refused = { kind: "refused", detail: "secrets is forbidden" } as const;
  const silent = [{ ...ruleOffer("lab-1", [web]), secret: () => refused }];
  expect(edge.plan(silent, { settings })).toMatchObject({
    writes: [],
    problems: ["Secret shop/web-tls of lab-1: secrets is forbidden"],
  });
  const gone = [ruleOffer("lab-1", [web])];
  expect(edge.plan(gone, { settings }).problems).toEqual([
    "Secret shop/web-tls of lab-1: lab-1 has no Secret of this name and type with a pair",
  ]);
  expect(edge.sync(gone, { settings })).toEqual([
    "delete Secret web-tls: no delivered Ingress of lab-1 uses it",
  ]);
});

test("an Ingress without any synced service is a problem only where all services are synced", () => {
  const edge = new RuleTargetModel("web");
  const sources = [ruleOffer("lab-1", [ingress("own", ["own.example own"])])];
  expect(edge.plan(sources, { isExpected: false }).problems).toEqual([]);
  expect(edge.plan(sources).problems).toHaveLength(1);
});
