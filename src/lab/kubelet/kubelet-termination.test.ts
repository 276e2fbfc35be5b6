import { expect, it } from "vitest";
import {
  inKubeletWorld,
  type KubeletWorld,
  type PodParts,
} from "../../../tests/kubelet/kubelet-world.ts";
import { isRecord, listAt } from "../../kube/kinds/fields.ts";
import { todaysKubelet } from "./kubelet-rules.ts";

const lab = "lab.lockstep.dev/";

interface Ending {
  readonly pod?: PodParts;
  /** Of the DELETE, which comes at second 5. */
  readonly options?: Readonly<Record<string, unknown>>;
  readonly timeline: readonly string[];
  /** Seconds in which the pod accepted connections. */
  readonly alive: readonly [number, number];
}

const born = ["0 Pending", "0 Running ready"];

const endings: Readonly<Record<string, Ending>> = {
  "a program that drains with nothing to do ends at once": {
    timeline: [...born, "5 Running ready deleting", "5 Succeeded deleting", "5 deleted"],
    alive: [0, 5],
  },
  "a program without a handler ends at once, by the signal": {
    pod: { annotations: { [`${lab}on-term`]: "exit" } },
    timeline: [...born, "5 Running ready deleting", "5 Failed deleting", "5 deleted"],
    alive: [0, 5],
  },
  "a program that ignores the signal serves until it is killed, at the end of its grace": {
    pod: { annotations: { [`${lab}on-term`]: "ignore" } },
    timeline: [...born, "5 Running ready deleting", "35 Failed deleting", "35 deleted"],
    alive: [0, 35],
  },
  "the pod's own grace counts, and that of the DELETE more": {
    pod: {
      annotations: { [`${lab}on-term`]: "ignore" },
      spec: { terminationGracePeriodSeconds: 60 },
    },
    options: { gracePeriodSeconds: 10 },
    timeline: [...born, "5 Running ready deleting", "15 Failed deleting", "15 deleted"],
    alive: [0, 15],
  },
  "a preStop hook comes before the signal, and the pod serves meanwhile": {
    pod: { container: { lifecycle: { preStop: { sleep: { seconds: 10 } } } } },
    timeline: [...born, "5 Running ready deleting", "15 Succeeded deleting", "15 deleted"],
    alive: [0, 15],
  },
  "a preStop hook that is a sleep command counts the same": {
    pod: { container: { lifecycle: { preStop: { exec: { command: ["sh", "-c", "sleep 7"] } } } } },
    timeline: [...born, "5 Running ready deleting", "12 Succeeded deleting", "12 deleted"],
    alive: [0, 12],
  },
  "a preStop hook longer than the grace is cut off, and two seconds are left for the signal": {
    pod: {
      annotations: { [`${lab}on-term`]: "ignore" },
      container: { lifecycle: { preStop: { sleep: { seconds: 60 } } } },
    },
    timeline: [...born, "5 Running ready deleting", "37 Failed deleting", "37 deleted"],
    alive: [0, 37],
  },
  "a forced deletion removes the object at once, and the program gets two seconds": {
    pod: { annotations: { [`${lab}on-term`]: "ignore" } },
    options: { gracePeriodSeconds: 0 },
    timeline: [...born, "5 Running ready deleting", "5 deleted"],
    alive: [0, 7],
  },
};

it.each(Object.entries(endings))("%s", (_, { pod = {}, options = {}, timeline, alive }) =>
  inKubeletWorld(async ({ createPod, deletePod, simulation, timelineOf, ledger, ask }) => {
    await createPod("web", pod);
    await simulation.sleep(5_000);
    await deletePod("web", options);
    await simulation.sleep(120_000);
    expect(timelineOf("web")).toEqual(timeline);
    expect(inSeconds(ledger)).toEqual([alive]);
    expect(await ask("10.9.0.2")).toBe("REFUSED");
  }),
);

it("shortens the grace when a second DELETE has a shorter one", () =>
  inKubeletWorld(async ({ createPod, deletePod, simulation, ledger }) => {
    await createPod("web", { annotations: { [`${lab}on-term`]: "ignore" } });
    await simulation.sleep(5_000);
    await deletePod("web");
    await simulation.sleep(5_000);
    await deletePod("web", { gracePeriodSeconds: 10 });
    await simulation.sleep(60_000);
    expect(inSeconds(ledger)).toEqual([[0, 15]]);
  }));

it("finishes requests under way while it refuses new ones, for as long as it drains", () =>
  inKubeletWorld(async (world) => {
    const { createPod, deletePod, simulation, ask, ledger, timelineOf } = world;
    await createPod("web", {
      annotations: { [`${lab}response-time`]: "4s", [`${lab}drain-time`]: "10s" },
    });
    await simulation.sleep(5_000);
    const underWay = ask("10.9.0.2");
    await simulation.sleep(1_000);
    await deletePod("web");
    await simulation.sleep(1_000);
    expect(await ask("10.9.0.2")).toBe("REFUSED");
    expect(await underWay).toMatchObject({ pod: "web" });
    await simulation.sleep(10_000);
    expect(inSeconds(ledger)).toEqual([[0, 6]]);
    expect(timelineOf("web").slice(-3)).toEqual([
      "6 Running ready deleting",
      "9 Succeeded deleting",
      "9 deleted",
    ]);
  }));

it("breaks requests that take longer than it drains", () =>
  inKubeletWorld(async ({ createPod, deletePod, simulation, ask, timelineOf }) => {
    await createPod("web", {
      annotations: { [`${lab}response-time`]: "1h", [`${lab}drain-time`]: "2s" },
    });
    await simulation.sleep(5_000);
    const underWay = ask("10.9.0.2");
    await simulation.sleep(1_000);
    await deletePod("web");
    expect(await underWay).toBe("RESET");
    await simulation.sleep(1_000);
    expect(timelineOf("web").at(-1)).toBe("8 deleted");
  }));

it("continues the readiness probe of a terminating pod", () =>
  inKubeletWorld(async ({ createPod, deletePod, simulation, timelineOf, ask }) => {
    const probe = { periodSeconds: 1, timeoutSeconds: 10, failureThreshold: 2 };
    await createPod("web", {
      annotations: { [`${lab}response-time`]: "8s" },
      container: { readinessProbe: { ...probe, httpGet: { port: 8080 } } },
    });
    await simulation.sleep(25_000);
    const underWay = ask("10.9.0.2");
    await simulation.sleep(200);
    await deletePod("web");
    await underWay;
    await simulation.sleep(5_000);
    expect(timelineOf("web").slice(-4)).toEqual([
      "25 Running ready deleting",
      "28 Running deleting",
      "33 Succeeded deleting",
      "33 deleted",
    ]);
  }));

it("ends a pod that waits for its restart without running it again", () =>
  inKubeletWorld(async ({ createPod, deletePod, simulation, timelineOf, ledger }) => {
    await createPod("web", { annotations: { [`${lab}crash-after`]: "1s" } });
    await simulation.sleep(5_000);
    await deletePod("web");
    await simulation.sleep(60_000);
    expect(timelineOf("web").slice(-3)).toEqual([
      "5 Running deleting",
      "5 Failed deleting",
      "5 deleted",
    ]);
    expect(inSeconds(ledger)).toEqual([
      [0, 1],
      [1, 2],
    ]);
  }));

it("removes the object when the API server is back, if it was away at the end", () =>
  inKubeletWorld(async ({ createPod, deletePod, simulation, timelineOf, ledger, server }) => {
    await createPod("web");
    await simulation.sleep(5_000);
    await deletePod("web");
    server.faults.setRules([{ match: { userAgent: "node-1" }, errors: { rate: 1, code: 500 } }]);
    await simulation.sleep(30_000);
    expect(timelineOf("web").at(-1)).toBe("5 Running ready deleting");
    server.faults.setRules([]);
    await simulation.sleep(30_000);
    expect(inSeconds(ledger)).toEqual([[0, 5]]);
    expect(timelineOf("web").at(-1)).toMatch(/deleted$/);
  }));

it("does not remove a successor of the same name", () =>
  inKubeletWorld(async ({ createPod, deletePod, simulation, ask }) => {
    await createPod("web", { annotations: { [`${lab}on-term`]: "ignore" } });
    await simulation.sleep(5_000);
    await deletePod("web", { gracePeriodSeconds: 0 });
    const successor = await createPod("web");
    await simulation.sleep(60_000);
    expect(await ask("10.9.0.2")).toBe("REFUSED");
    expect(await ask("10.9.0.3")).toMatchObject({ uid: successor });
  }));

function inSeconds(ledger: KubeletWorld["ledger"]): readonly (readonly number[])[] {
  return ledger
    .spells("10.9.0.2")
    .map(({ since, until = Number.NaN }) => [since, until].map((ms) => Math.round(ms / 1_000)));
}

it("shows a deleted pod as running until it is gone, before kubelets reported how pods end", () =>
  inKubeletWorld(
    async ({ createPod, deletePod, simulation, timelineOf, statusesOf }) => {
      await createPod("web", { annotations: { "lab.lockstep.dev/on-term": "exit" } });
      await simulation.sleep(5_000);
      await deletePod("web");
      await simulation.sleep(5_000);
      expect(timelineOf("web").slice(-4)).toEqual([
        "0 Running ready",
        "5 Running ready deleting",
        "5 Running deleting",
        "5 deleted",
      ]);
      const { status = {} } = statusesOf("web").at(-1) ?? {};
      const types = listAt(status, "conditions").filter(isRecord);
      expect(types.map(({ type, status: value }) => [type, value])).toEqual([
        ["Initialized", "True"],
        ["Ready", "False"],
        ["PodScheduled", "True"],
      ]);
    },
    { rules: { ...todaysKubelet, containersReady: false, postsEnd: false } },
  ));
