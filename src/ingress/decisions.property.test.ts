// After any history, the decision equals that of a Lockstep that has just started: routes,
// services, certificates and problems.
import { webcrypto } from "node:crypto";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { ingress, ingressClass, path } from "../../tests/routing/short-ingress.ts";
import { metadata } from "../../tests/truth/service-facts.ts";
import { type KeyPair, makeAuthority } from "../apiserver/certificate-authority.ts";
import type { WallMs } from "../environment/clock.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import type { Secret } from "../kube/kinds/secret.ts";
import { type MemoryCapacity, usualCapacity } from "../outputs/nginx/proxy-memory.ts";
import { ProxyState } from "../outputs/nginx/proxy-state.ts";
import { isThorough } from "../simulation/seeds.ts";
import type { KnownSecret } from "../sources/secret-source.ts";
import { Decisions } from "./decisions.ts";

const now = Date.parse("2026-06-01T00:00:00Z") as WallMs;
const clock = { wallMs: () => now, monotonicMs: () => 0 as never };
const className = "lockstep";
const hosts = ["a.example", "b.example", "*.example", ""];
const secretNames = ["one", "two"];
const defaultCertificate = { namespace: "x", name: "one" };

let pairs: readonly KeyPair[];

beforeAll(async () => {
  const authority = await makeAuthority({ clock, crypto: webcrypto, name: "test" });
  pairs = await Promise.all([
    authority.issueServer(["a.example", "*.example"]),
    authority.issueServer(["b.example"]),
  ]);
});

interface World {
  readonly ingresses: Map<string, Ingress>;
  readonly secrets: Map<string, KnownSecret>;
  hasForeignClass: boolean;
  /** So many questions from now one is not answered, but throws. */
  failsAfter: number;
}

function mayFail(world: World): void {
  world.failsAfter -= 1;
  if (world.failsAfter === 0) throw new Error("an unexpected error");
}

/** Decisions about the world, and the state of a proxy that receives them. */
class DecidedWorld {
  readonly state: ProxyState;
  readonly decisions: Decisions;
  wanted: ReadonlySet<string> = new Set();

  constructor(world: World, capacity: MemoryCapacity) {
    const state = new ProxyState(capacity);
    this.state = state;
    const foreign = ingressClass(className, "example.com/other");
    this.decisions = new Decisions({
      asked: {
        ingresses: () => [...world.ingresses.values()],
        classes: () => (world.hasForeignClass ? [foreign] : []),
      },
      className,
      secrets: {
        want: ({ keys }) => {
          this.wanted = keys;
        },
        get: ({ namespace, name }) => {
          mayFail(world);
          return world.secrets.get(`${namespace}/${name}`) ?? { kind: "unread" };
        },
      },
      defaultCertificate,
      routing: { defaultBackend: { namespace: "x", name: "sorry", port: 80 } },
      clock,
      sources: [],
      policy: () => {
        mayFail(world);
        return { followSlices: false };
      },
      output: {
        *applying(decision, changes) {
          yield* state.applying(decision, changes);
          while (state.hasUnpushed) state.takeUnpushed();
        },
      },
      memory: state,
      onTruth: () => undefined,
    });
    this.decisions.certificates.wantSecrets();
    this.decisions.decideRoutes();
  }

  view(): object {
    const { decisions, state } = this;
    const sorted = (texts: Iterable<string>) => [...texts].sort();
    return {
      decided: sorted(
        [...state.present()].map(({ kind, name, value }) => `${kind} ${name} ${value}`),
      ),
      problems: sorted(decisions.routes.problems.map((one) => JSON.stringify(one))),
      services: sorted(decisions.backendKeys),
      truths: sorted(decisions.truths.keys()),
      wanted: sorted(this.wanted),
    };
  }
}

const ingressStep = fc.record({
  kind: fc.constant("ingress" as const),
  key: fc.constantFrom("x/p", "x/q", "y/r", "y/s"),
  born: fc.integer({ min: 1, max: 3 }),
  rules: fc.array(fc.tuple(fc.constantFrom(...hosts), fc.constantFrom("/", "/a", "bad")), {
    maxLength: 3,
  }),
  target: fc.constantFrom("web", "api"),
  tls: fc.array(
    fc.tuple(fc.constantFrom(...secretNames, "Bad"), fc.subarray(["a.example", "b.example"])),
    { maxLength: 2 },
  ),
  annotations: fc.constantFrom(
    {},
    { "lockstep.dev/server-alias": "c.example" },
    { "lockstep.dev/canary": "true", "lockstep.dev/canary-weight": "5" },
  ),
  isGone: fc.boolean(),
});
const secretStep = fc.record({
  kind: fc.constant("secret" as const),
  key: fc.constantFrom("x/one", "x/two", "y/one"),
  holds: fc.constantFrom("absent" as const, "unread" as const, "first" as const, "second" as const),
});
const classStep = fc.record({ kind: fc.constant("class" as const), isForeign: fc.boolean() });
const failureStep = fc.record({
  kind: fc.constant("failure" as const),
  after: fc.integer({ min: 1, max: 6 }),
});
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: ingressStep },
    { weight: 3, arbitrary: secretStep },
    { weight: 1, arbitrary: classStep },
    { weight: 1, arbitrary: failureStep },
  ),
  { minLength: 1, maxLength: 12 },
);

type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

function take(world: World, step: Step): void {
  switch (step.kind) {
    case "class":
      world.hasForeignClass = step.isForeign;
      return;
    case "failure":
      world.failsAfter = step.after;
      return;
    case "secret":
      world.secrets.set(step.key, secretOf(step.holds));
      return;
    case "ingress":
      if (step.isGone) world.ingresses.delete(step.key);
      else world.ingresses.set(step.key, ingressOf(step));
  }
}

function ingressOf(step: Extract<Step, { kind: "ingress" }>): Ingress {
  const [namespace = "", name = ""] = step.key.split("/");
  const rules = step.rules.map(([host, text]) => ({ host, paths: [path(text, step.target)] }));
  const tls = step.tls.map(([secretName, names]) => ({ secretName, hosts: names }));
  return ingress(name, rules, {
    namespace,
    bornMs: step.born,
    tls,
    annotations: step.annotations,
  });
}

function secretOf(holds: Extract<Step, { kind: "secret" }>["holds"]): KnownSecret {
  if (holds === "absent" || holds === "unread") return { kind: holds };
  const { cert: chain = "", key = "" } = pairs[holds === "first" ? 0 : 1] ?? {};
  const secret: Secret = { metadata: metadata("any"), type: "kubernetes.io/tls", chain, key };
  return { kind: "present", secret };
}

/** A failed decision is tried again, as the loop does. */
function decide({ decisions }: DecidedWorld, news: { readonly areSecretsNew: boolean }): void {
  try {
    decisions.decideRoutes(news);
  } catch {
    decisions.decideRoutes(news);
  }
}

/** For some of the hosts, services and certificates above, and not for all. */
const little: MemoryCapacity = { routes: 2_000, certificates: 4_096 };

test.each([
  ["all", usualCapacity],
  ["some", little],
])("what was decided before makes no difference, with room for %s of it", (_, capacity) => {
  let leftOut = 0;
  fc.assert(
    fc.property(steps, fc.infiniteStream(fc.boolean()), (history, isTogether) => {
      const world: World = {
        ingresses: new Map(),
        secrets: new Map(),
        hasForeignClass: false,
        failsAfter: 0,
      };
      const decided = new DecidedWorld(world, capacity);
      let hasNewSecret = false;
      for (const step of history) {
        take(world, step);
        hasNewSecret ||= step.kind === "secret";
        // Some steps come together with the next.
        if (isTogether.next().value) continue;
        decide(decided, { areSecretsNew: hasNewSecret });
        world.failsAfter = 0;
        hasNewSecret = false;
        expect(decided.view()).toEqual(new DecidedWorld(world, capacity).view());
        const { problems } = decided.decisions.routes;
        leftOut += problems.filter(({ reason }) => reason === "MemoryShareExceeded").length;
      }
    }),
    { numRuns: isThorough(process.env) ? 60 : 20 },
  );
  expect(leftOut > 0).toBe(capacity === little);
});
