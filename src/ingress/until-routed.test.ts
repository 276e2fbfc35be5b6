import { expect, test } from "vitest";
import { ingressKind } from "../kube/kinds/ingress.ts";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import type { KnownSecret, SecretReference } from "../sources/secret-source.ts";
import { secretsWithinMs, untilRouted } from "./until-routed.ts";

const neverMs = 60_000;

/** When each of them happens. */
interface Course {
  readonly decidedMs: number;
  readonly pushedMs: number;
  readonly secretsMs: number;
  /** By then the certificate that was read is decided too. */
  readonly certificateMs: number;
}

function ingressWith(tls: readonly object[]) {
  const metadata = { name: "shop", namespace: "default", uid: "u", resourceVersion: "1" };
  return ingressKind.project({ metadata, spec: { tls } });
}

/** A replica that was asked for one Ingress just now, and what becomes of it. */
function courseOf(simulation: Simulation, course: Course) {
  const isPast = (ms: number) => simulation.now() >= ms;
  const loop = {
    get revision() {
      return isPast(course.secretsMs) ? 2 : 1;
    },
    get decidedRevision() {
      if (isPast(course.certificateMs)) return 2;
      return isPast(course.decidedMs) ? 1 : 0;
    },
    secrets: {
      get: ({ name }: SecretReference): KnownSecret => {
        const isRead = name === "shop" && isPast(course.secretsMs);
        return { kind: isRead ? "absent" : "unread" };
      },
    },
  };
  const proxy = {
    get applied() {
      return loop.decidedRevision;
    },
    get pushed() {
      return isPast(course.pushedMs) ? 2 : 0;
    },
  };
  return { loop, proxy };
}

const withTls = [{ hosts: ["shop.example"], secretName: "shop" }];

test.each<[string, readonly object[], Course, number]>([
  [
    "without TLS, once it was decided and pushed",
    [],
    { decidedMs: 8, pushedMs: 31, secretsMs: neverMs, certificateMs: neverMs },
    35,
  ],
  [
    "with TLS, once its certificate was pushed too",
    withTls,
    { decidedMs: 8, pushedMs: 31, secretsMs: 50, certificateMs: 101 },
    105,
  ],
  [
    "with TLS whose secret cannot be read, a little later",
    withTls,
    { decidedMs: 8, pushedMs: 31, secretsMs: neverMs, certificateMs: neverMs },
    secretsWithinMs,
  ],
  [
    "while the proxy is away, when it is back",
    [],
    { decidedMs: 8, pushedMs: 3_000, secretsMs: neverMs, certificateMs: neverMs },
    3_000,
  ],
])("an Ingress is routed %s", (_case, tls, course, expectedMs) =>
  simulate({ seed: 1 }, async (simulation) => {
    const { clock, timers } = simulation.host("lockstep");
    const { signal } = new AbortController();
    const options = { clock, timers, signal, ...courseOf(simulation, course) };
    await untilRouted(ingressWith(tls), options);
    expect(simulation.now()).toBe(expectedMs);
  }),
);

test("nothing is waited for when the term ends", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { clock, timers } = simulation.host("lockstep");
    const term = new AbortController();
    const course = { decidedMs: 8, pushedMs: neverMs, secretsMs: neverMs, certificateMs: neverMs };
    const options = { clock, timers, signal: term.signal, ...courseOf(simulation, course) };
    timers.after(1_000, () => term.abort(new Error("the lock is lost")));
    await expect(untilRouted(ingressWith([]), options)).rejects.toThrow("the lock is lost");
    expect(simulation.now()).toBe(1_000);
  }));
