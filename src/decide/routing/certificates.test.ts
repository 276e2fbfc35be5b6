import { createPrivateKey, generateKeyPairSync, webcrypto } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { metadata } from "../../../tests/truth/service-facts.ts";
import { type KeyPair, makeAuthority } from "../../apiserver/certificate-authority.ts";
import type { WallMs } from "../../environment/clock.ts";
import type { Ingress, IngressTls } from "../../kube/kinds/ingress.ts";
import type { Secret } from "../../kube/kinds/secret.ts";
import type { KnownSecret, SecretReference } from "../../sources/secret-source.ts";
import { Certificates, type KnownSecrets, wantedSecrets } from "./certificates.ts";
import { Routing } from "./routing.ts";

const now = Date.parse("2026-06-01T00:00:00Z") as WallMs;
const clock = { wallMs: () => now, monotonicMs: () => 0 as never };

let shop: KeyPair;
let wild: KeyPair;

beforeAll(async () => {
  const authority = await makeAuthority({ clock, crypto: webcrypto, name: "test" });
  shop = await authority.issueServer(["shop.example", "www.shop.example"]);
  wild = await authority.issueServer(["*.wild.example"]);
});

function ingress(
  name: string,
  hosts: readonly string[],
  tls: readonly IngressTls[],
  place: { readonly namespace?: string; readonly bornMs?: number } = {},
): Ingress {
  const { namespace = "shop", bornMs = 1 } = place;
  return {
    metadata: metadata(name, { namespace, creationTimestamp: bornMs as WallMs }),
    annotations: {},
    ingressClassName: "lockstep",
    defaultBackend: undefined,
    rules: hosts.map((host) => ({ host, paths: [] })),
    tls,
    loadBalancer: [],
  };
}

function secret(chain: string, key: string): KnownSecret {
  const value: Secret = { metadata: metadata("any"), type: "kubernetes.io/tls", chain, key };
  return { kind: "present", secret: value };
}

/** Of 16,384 bits; no real one, which would take minutes to make. */
function hugeKey(): string {
  const part = (bytes: number) => Buffer.alloc(bytes, 0xff).toString("base64url");
  const [whole, half] = [part(2_048), part(1_024)];
  const primes = { p: half, q: half, dp: half, dq: half, qi: half };
  const key = { kty: "RSA", n: whole, e: "AQAB", d: whole, ...primes };
  const made = createPrivateKey({ key, format: "jwk" });
  return made.export({ type: "pkcs8", format: "pem" }).toString();
}

const fine = () => secret(shop.cert, shop.key);
const entry = (secretName: string, ...hosts: string[]): IngressTls => ({ hosts, secretName });

interface Input extends Omit<KnownSecrets, "areNew"> {
  readonly ingresses: readonly Ingress[];
  readonly defaultCertificate?: { readonly namespace: string; readonly name: string };
}

function certificates({ ingresses, ...input }: Input) {
  const decided = new Certificates(input);
  decided.change({ joined: ingresses, left: [] }, { ...input, areNew: false });
  return decided.table;
}

/** `name ← secret` for what is shown, and the problems. */
function shown(
  ingresses: readonly Ingress[],
  secrets: Readonly<Record<string, KnownSecret>>,
  more: Partial<Input> = {},
) {
  const table = certificates({
    ingresses,
    secret: ({ namespace, name }) => secrets[`${namespace}/${name}`] ?? { kind: "absent" },
    now,
    ...more,
  });
  expect(new Set(table.certificates.keys())).toEqual(new Set(table.serverNames.values()));
  return {
    names: [...table.serverNames].map(([name, key]) => `${name} ← ${key}`),
    problems: table.problems.map(({ origin, message }) => `${origin.name}: ${message}`),
  };
}

test("a tls entry's hosts get its secret's certificate, chain and key as they were read", () => {
  const ours = [ingress("a", [], [entry("web", "Shop.example")])];
  const noise = `a comment\n${shop.cert}\n`;
  const table = certificates({
    ingresses: ours,
    secret: () => secret(noise, `${shop.key}\n`),
    now,
  });
  expect(table).toEqual({
    certificates: new Map([["shop/web", { chain: `${shop.cert}\n`, key: `${shop.key}\n` }]]),
    serverNames: new Map([["shop.example", "shop/web"]]),
    problems: [],
    defaultProblem: undefined,
  });
  expect([...wantedSecrets(ours, { namespace: "edge", name: "any" }).keys]).toEqual([
    "edge/any",
    "shop/web",
  ]);
});

test("an entry without hosts is for those of the rules that no other entry names", () => {
  const hosts = ["shop.example", "www.shop.example", "other.wild.example"];
  const ours = [ingress("a", hosts, [entry("web"), entry("wild", "other.wild.example")])];
  const secrets = { "shop/web": fine(), "shop/wild": secret(wild.cert, wild.key) };
  expect(shown(ours, secrets)).toEqual({
    names: [
      "shop.example ← shop/web",
      "www.shop.example ← shop/web",
      "other.wild.example ← shop/wild",
    ],
    problems: [],
  });
});

describe("who has a name", () => {
  const secrets = { "shop/web": fine, "shop/new": fine, "evil/web": fine };
  const known = () =>
    Object.fromEntries(Object.entries(secrets).map(([key, make]) => [key, make()]));

  test("the oldest of a namespace, and the others get a problem", () => {
    const ours = [
      ingress("young", [], [entry("new", "shop.example")], { bornMs: 2 }),
      ingress("old", [], [entry("web", "shop.example")], { bornMs: 1 }),
      ingress("same", [], [entry("web", "shop.example")], { bornMs: 3 }),
    ];
    expect(shown(ours, known())).toEqual({
      names: ["shop.example ← shop/web"],
      problems: ["young: spec.tls[0]: shop.example uses shop/web, which takes precedence"],
    });
  });

  test("no Ingress of another namespace, though the owner has no certificate at all", () => {
    const ours = [
      ingress("owner", ["shop.example"], [], { bornMs: 1 }),
      ingress("stranger", [], [entry("web", "shop.example")], { namespace: "evil", bornMs: 2 }),
    ];
    expect(shown(ours, known())).toEqual({
      names: [],
      problems: [
        "stranger: spec.tls[0]: shop.example belongs to Ingress shop/owner, which takes " +
          "precedence, so secret evil/web is not used",
      ],
    });
  });

  test("a secret of another namespace cannot be named", () => {
    expect(shown([ingress("a", [], [entry("evil/web", "shop.example")])], known())).toEqual({
      names: [],
      problems: ['a: spec.tls[0]: "evil/web" is not a valid name of a secret, so it is ignored'],
    });
  });

  test("what could mean more than a name where secrets are asked for is none", () => {
    for (const name of ["web,type!=x", "web=", "../evil/web", "Web", "web\n", "w".repeat(254)]) {
      const ours = [ingress("a", [], [entry(name, "shop.example")])];
      expect([...wantedSecrets(ours).keys]).toEqual([]);
      const { names, problems } = shown(ours, known());
      expect([names, problems.length]).toEqual([[], 1]);
    }
  });

  test("a name with www that is sent on is shown the certificate of its host, if that is for both", () => {
    const annotations = { "lockstep.dev/from-to-www-redirect": "true" };
    const ours = [
      { ...ingress("a", ["shop.example"], [entry("web", "shop.example")]), annotations },
      { ...ingress("b", ["uncovered.test"], [entry("web", "shop.example")]), annotations },
    ];
    expect(shown(ours, known())).toEqual({
      names: ["shop.example ← shop/web", "www.shop.example ← shop/web"],
      problems: [],
    });
  });

  test("an alias of an Ingress, unless another Ingress has the name, and without a problem", () => {
    const alias = "nginx.ingress.kubernetes.io/server-alias";
    const annotations = { [alias]: "www.shop.example,b.example,uncovered.test" };
    const ours = [
      { ...ingress("a", [], [entry("web", "shop.example")]), annotations },
      ingress("b", ["b.example"], [], { namespace: "b" }),
    ];
    expect(shown(ours, known())).toEqual({
      names: ["shop.example ← shop/web", "www.shop.example ← shop/web"],
      problems: [],
    });
  });
});

describe("hosts of several namespaces", () => {
  const path = { path: "/", pathType: "Prefix", backend: { service: { name: "web", port: 80 } } };
  const routed = (
    namespace: string,
    hosts: readonly string[],
    tls: readonly IngressTls[],
    bornMs: number,
  ): Ingress => ({
    ...ingress(namespace, [], tls, { namespace, bornMs }),
    rules: hosts.map((host) => ({ host, paths: [path] })),
  });
  const wildcard = () => secret(wild.cert, wild.key);
  const secretOf = ({ namespace, name }: SecretReference): KnownSecret =>
    name === "wild" ? wildcard() : namespace === "b" ? { kind: "absent" } : fine();
  const onlyTls = entry("wild", "*.wild.example");

  /** As a client of the name is shown it: for the name itself, the wildcard over it, or any name. */
  const seenFor = (
    name: string,
    ingresses: readonly Ingress[],
    { defaultCertificate, ...more }: Partial<Input> & { readonly shareHosts?: boolean } = {},
  ) => {
    const routing = new Routing({ className: "lockstep", ...more });
    routing.decide({ ingresses, classes: [] });
    const decided = new Certificates({ defaultCertificate });
    const input = { secret: secretOf, now, areNew: false };
    decided.change({ joined: ingresses, left: [] }, input, routing);
    const { serverNames, certificates: shownOnes } = decided.table;
    const names = [name, `*${name.slice(name.indexOf("."))}`, "*"];
    const key = names.map((one) => serverNames.get(one)).find((one) => one !== undefined);
    return key !== undefined && shownOnes.has(key) ? key : undefined;
  };

  test("a wildcard's certificate is not shown for another namespace's host under it", () => {
    const wildHost = routed("a", ["*.wild.example"], [onlyTls], 2);
    const older = routed("b", ["login.wild.example"], [], 1);
    const younger = routed("b", ["login.wild.example"], [entry("wild", "login.wild.example")], 3);
    expect([
      seenFor("login.wild.example", [wildHost, older]),
      seenFor("other.wild.example", [wildHost, older]),
      seenFor("login.wild.example", [wildHost, routed("a", ["login.wild.example"], [], 1)]),
      // The host is not its own, so neither is what is shown for it.
      seenFor("login.wild.example", [wildHost, younger]),
      seenFor("login.wild.example", [wildHost, older], { shareHosts: true }),
    ]).toEqual([undefined, "a/wild", "a/wild", "a/wild", "a/wild"]);
  });

  test("a tls entry alone gives no right to a host that another namespace has a rule for", () => {
    const stranger = routed("a", [], [onlyTls, entry("web", "shop.example")], 1);
    const login = routed("b", ["login.wild.example", "shop.example"], [], 2);
    expect([
      seenFor("login.wild.example", [stranger, login]),
      seenFor("shop.example", [stranger, login]),
      seenFor("shop.example", [stranger]),
    ]).toEqual([undefined, undefined, "a/web"]);
  });

  test("a wildcard in a tls entry is for the hosts of its own rules, also if another Ingress has the wildcard", () => {
    const first = routed("a", ["a.wild.example"], [onlyTls], 1);
    const second = routed("b", ["b.wild.example"], [onlyTls], 2);
    expect([
      seenFor("a.wild.example", [first, second]),
      seenFor("b.wild.example", [first, second]),
    ]).toEqual(["a/wild", "b/wild"]);
  });

  test("a certificate for any name is shown for hosts of its own namespace, the default for all", () => {
    const any = routed("a", [""], [entry("web")], 1);
    const hosts = [any, routed("b", ["b.example"], [], 2), routed("a", ["a.example"], [], 3)];
    const more = { defaultCertificate: { namespace: "edge", name: "any" } };
    expect([
      seenFor("b.example", hosts),
      seenFor("a.example", hosts),
      seenFor("unknown.example", hosts),
      seenFor("b.example", hosts, more),
      seenFor(
        "login.wild.example",
        [routed("a", ["*.wild.example"], [onlyTls], 2), routed("b", ["login.wild.example"], [], 1)],
        more,
      ),
    ]).toEqual([undefined, "a/web", "a/web", "edge/any", "edge/any"]);
  });

  test("what is shown does not depend on what came and went before", () => {
    const routing = new Routing({ className: "lockstep" });
    const decided = new Certificates({});
    const all = [
      routed("a", ["*.wild.example"], [onlyTls], 2),
      routed("b", ["login.wild.example"], [onlyTls], 1),
      routed("c", ["login.wild.example", "shop.wild.example"], [], 3),
      routed("d", [""], [entry("web")], 4),
      routed("e", ["*.wild.example"], [], 0),
      routed("f", ["old.wild.example"], [], -1),
    ];
    let before: readonly Ingress[] = [];
    for (let set = 0; set < 2 ** all.length; set += 1) {
      const number = (set * 19) % 2 ** all.length;
      const ingresses = all.filter((_, index) => (number >> index) % 2 === 1);
      const joined = ingresses.filter((one) => !before.includes(one));
      const left = before.filter((one) => !ingresses.includes(one));
      before = ingresses;
      routing.decide({ ingresses, classes: [] });
      decided.change({ joined, left }, { secret: secretOf, now, areNew: false }, routing);
      const fresh = new Routing({ className: "lockstep" });
      fresh.decide({ ingresses, classes: [] });
      const rebuilt = new Certificates({});
      const input = { secret: secretOf, now, areNew: false };
      rebuilt.change({ joined: ingresses, left: [] }, input, fresh);
      expect(new Map(decided.table.serverNames)).toEqual(rebuilt.table.serverNames);
      expect(new Set(decided.table.certificates.keys())).toEqual(
        new Set(rebuilt.table.certificates.keys()),
      );
    }
  });
});

describe("a secret that cannot be used harms only its own names", () => {
  const other = () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const table: readonly (readonly [string, () => KnownSecret, string])[] = [
    [
      "is not there",
      () => ({ kind: "absent" }),
      "secret shop/bad of type kubernetes.io/tls does not exist",
    ],
    [
      "may not be read",
      () => ({ kind: "refused", detail: "secrets is forbidden" }),
      "no permission to read secret shop/bad: secrets is forbidden",
    ],
    ["has no chain", () => secret("", shop.key), "the secret shop/bad has no tls.crt"],
    [
      "has a chain that takes long to read",
      () => secret(`${shop.cert}\n`.repeat(11), shop.key),
      "the secret shop/bad has a tls.crt of more than 10 certificates",
    ],
    [
      "has a long text around its chain",
      () => secret(`${shop.cert}\n${" ".repeat(128 * 1024)}`, shop.key),
      "the secret shop/bad has a tls.crt of more than 131072 bytes",
    ],
    ["has no key", () => secret(shop.cert, ""), "the secret shop/bad has no tls.key"],
    [
      "has no certificate in its chain",
      () => secret("nothing", shop.key),
      "the secret shop/bad contains no PEM certificate in tls.crt",
    ],
    [
      "has a broken certificate behind a good one",
      () =>
        secret(
          `${shop.cert}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`,
          shop.key,
        ),
      "the secret shop/bad has a tls.crt whose certificate 2 cannot be read",
    ],
    [
      "has a key that is none",
      () => secret(shop.cert, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----"),
      "the secret shop/bad has a tls.key that cannot be read",
    ],
    [
      "has another's key",
      () => secret(shop.cert, other().export({ type: "pkcs8", format: "pem" }).toString()),
      "the secret shop/bad has a tls.key that does not match the first certificate in tls.crt",
    ],
    [
      "has a key that takes long to use",
      () => secret(shop.cert, hugeKey()),
      "the secret shop/bad has a tls.key of 16384 bits; the maximum is 8192",
    ],
    [
      "is for other names",
      () => secret(wild.cert, wild.key),
      "the certificate of shop/bad is not for www.shop.example, so it is not used",
    ],
  ];
  test.each(table)("when it %s", (_, bad, problem) => {
    const ours = [
      ingress("a", [], [entry("web", "shop.example"), entry("bad", "www.shop.example")]),
    ];
    expect(shown(ours, { "shop/web": fine(), "shop/bad": bad() })).toEqual({
      names: ["shop.example ← shop/web"],
      problems: [`a: spec.tls[1]: ${problem}`],
    });
  });

  test("while it is not read yet nothing is shown and no problem is reported", () => {
    const ours = [ingress("a", [], [entry("web", "shop.example")])];
    expect(shown(ours, { "shop/web": { kind: "unread" } })).toEqual({ names: [], problems: [] });
  });

  test("another entry of the same namespace stands in for it", () => {
    const ours = [
      ingress("a", [], [entry("bad", "shop.example")], { bornMs: 1 }),
      ingress("b", [], [entry("web", "shop.example")], { bornMs: 2 }),
    ];
    expect(shown(ours, { "shop/web": fine() }).names).toEqual(["shop.example ← shop/web"]);
  });
});

test("an expired certificate is shown, and its owner gets a problem", () => {
  const ours = [ingress("a", [], [entry("web", "shop.example")])];
  const later = (now + 400 * 24 * 3_600_000) as WallMs;
  expect(shown(ours, { "shop/web": fine() }, { now: later })).toEqual({
    names: ["shop.example ← shop/web"],
    problems: ["a: spec.tls[0]: the certificate of shop/web expired on 2027-06-01T00:00:00.000Z"],
  });
});

test("an expired certificate is reported with the next change, whatever that is about", () => {
  const decided = new Certificates({});
  const known = (wallMs: number) => ({ secret: fine, now: wallMs as WallMs, areNew: false });
  const problemsAt = (wallMs: number, ...joined: Ingress[]) => {
    decided.change({ joined, left: [] }, known(wallMs));
    return decided.table.problems.map(({ origin }) => origin.name);
  };
  expect(problemsAt(now, ingress("a", [], [entry("web", "shop.example")]))).toEqual([]);
  expect(problemsAt(now, ingress("b", ["b.example"], []))).toEqual([]);
  expect(problemsAt(now + 400 * 24 * 3_600_000, ingress("c", ["c.example"], []))).toEqual(["a"]);
});

test("a wildcard host needs a certificate for all of it", () => {
  const ours = [
    ingress("a", [], [entry("wild", "*.wild.example"), entry("web", "*.shop.example")]),
  ];
  const secrets = { "shop/wild": secret(wild.cert, wild.key), "shop/web": fine() };
  expect(shown(ours, secrets)).toEqual({
    names: ["*.wild.example ← shop/wild"],
    problems: [
      "a: spec.tls[1]: the certificate of shop/web is not for *.shop.example, so it is not used",
    ],
  });
});

test("the default certificate is for every other name, and its problem belongs to no object", () => {
  const ours = [ingress("a", [""], [entry("web")])];
  const more = { defaultCertificate: { namespace: "edge", name: "any" } };
  const secrets = { "shop/web": fine(), "edge/any": secret(wild.cert, wild.key) };
  expect(shown(ours, secrets, more).names).toEqual(["* ← edge/any"]);
  expect(shown(ours, secrets).names).toEqual(["* ← shop/web"]);
  const absent = () => ({ kind: "absent" }) as const;
  expect(certificates({ ingresses: [], secret: absent, now, ...more }).defaultProblem).toBe(
    "secret edge/any of type kubernetes.io/tls does not exist",
  );
});
