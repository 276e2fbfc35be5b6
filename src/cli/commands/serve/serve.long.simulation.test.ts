import { expect, test } from "vitest";
import { startShop } from "../../../../tests/cli/watch-command.ts";
import { inObserverWorld, type ObserverWorld } from "../../../../tests/observer/observer-world.ts";
import { lockstepServe } from "../../../../tests/page/served-page.ts";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import type {
  Doctor,
  Journeys,
  Recording,
  Reset,
  SeriesAnswer,
  Services,
  State,
  TruthTable,
} from "../../../server/api.ts";
import { runProgram } from "../../program.ts";

const flags = ["--kubeconfig", "/kubeconfig", "--listen", "127.0.0.1:0"];

/** One pod comes and is published late, one goes and is not published. */
async function changePods(world: ObserverWorld): Promise<void> {
  const { timers } = world.simulation.host("admin");
  await timers.sleep(5_000);
  await world.addPod("lab-1", "web-2", "10.0.0.2");
  await timers.sleep(3_000);
  await world.publish("lab-1", "web", ["10.0.0.1", "10.0.0.2"]);
  await timers.sleep(1_000);
  await world.removePod("lab-1", "web-1");
  await timers.sleep(40_000);
}

test("every answer fits its schema and tells what happened", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const code = await lockstepServe(world, flags, async ({ client, address, terminal }) => {
      expect(address).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
      expect(terminal.error).toBe("Reads lab-1; writes nothing there. Ctrl-C stops.\n");
      const events = await client.open();
      const first = await events.next();
      expect(first?.event).toBe("reset");
      await changePods(world);

      const state = await client.get<State>("/api/v1/state");
      expect(state).toMatchObject({
        api: 1,
        version: "1.2.3",
        mode: "clusters",
        inFlight: 1,
        stuck: 1,
        changes: 2,
        verdict: {
          level: "late",
          text: "Removed pods leave the EndpointSlices late: the oldest one has waited for 39 s.",
        },
        can: { incidents: false, whatif: false, doctor: true, recordings: true },
      });
      expect(state.clusters).toMatchObject([
        { name: "lab-1", roles: ["business"], version: "v1.33.1", state: "watching" },
      ]);
      const rows = state.lags.map(
        ({ hop, direction, count, p50Ms, pending }) =>
          `${hop} ${direction}: ${count}, p50 ${Math.round(p50Ms ?? -1)}, ${pending} pending`,
      );
      expect(rows).toEqual([
        "pod join: 1, p50 0, 0 pending",
        "pod leave: 1, p50 0, 0 pending",
        expect.stringMatching(/^published join: 1, p50 30\d\d, 0 pending$/),
        "published leave: 0, p50 -1, 1 pending",
      ]);

      const { journeys } = await client.get<Journeys>("/api/v1/journeys");
      expect(journeys.map(({ address: ip, outcome }) => `${ip} ${outcome}`)).toEqual([
        "10.0.0.1 pending",
        "10.0.0.2 complete",
      ]);
      const table = await client.get<TruthTable>("/api/v1/services/shop/web");
      expect(
        table.rows.map(({ podName, reason, isDisputed, cells }) => ({
          podName,
          reason,
          isDisputed,
          cells: cells.map(({ mark, text }) => `${mark} ${text}`),
        })),
      ).toEqual([
        {
          podName: "web-1",
          reason: "The pod left (terminating), but EndpointSlice in lab-1 still has it.",
          isDisputed: true,
          cells: ["out terminating", "in listed"],
        },
        {
          podName: "web-2",
          reason: "Every source has it.",
          isDisputed: false,
          cells: ["in ready", "in listed"],
        },
      ]);
      const services = await client.get<Services>("/api/v1/services?search=WEB&limit=5");
      expect(services).toEqual({
        services: [
          {
            service: "shop/web",
            clusters: ["lab-1"],
            endpoints: 1,
            disagreements: 1,
            changes: 2,
            inFlight: 1,
          },
        ],
        total: 1,
      });
      const { series, missing } = await client.get<SeriesAnswer>("/api/v1/series");
      expect(series.map(({ id }) => id)).toContain("lag published  join");
      // No pod of a control plane, no leader record, and no traffic of its own.
      expect(missing.map((text) => text.replace(/:? no .*|: this .*/, ""))).toEqual([
        "lab-1",
        "lab-1",
        "No chart of requests",
      ]);
      expect(series.find(({ id }) => id === "changes")?.points.length).toBeGreaterThan(20);
      await client.get("/api/v1/openapi.json");

      const seen = await events.until(({ event, data }) => {
        return event === "state" && (data as State).stuck === 1;
      });
      expect((seen.data as State).inFlight).toBe(1);
      events.close();
    });
    expect(code).toBe(0);
  }));

test("the doctor examines when it is asked, and the page is notified", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    await lockstepServe(world, flags, async ({ client }) => {
      const events = await client.open();
      expect((await client.get<Doctor>("/api/v1/doctor")).state).toBe("idle");
      expect((await client.post<Doctor>("/api/v1/doctor", {})).state).toBe("examining");
      // A second question changes nothing.
      expect((await client.post<Doctor>("/api/v1/doctor", {})).state).toBe("examining");
      for (;;) {
        await events.until(({ event }) => event === "doctor");
        const doctor = await client.get<Doctor>("/api/v1/doctor");
        if (doctor.state === "examining") continue;
        expect(doctor).toMatchObject({ state: "idle", detail: null, findings: [] });
        expect(doctor.ruledOut.join()).toContain("ghost-leader");
        break;
      }
      events.close();
    });
  }));

test("a recording is read by the same replay, from the page and with --replay", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const environment = world.simulation.host("lockstep");
    const stop = new AbortController();
    let recorded = new Uint8Array();
    await lockstepServe(world, flags, async ({ client }) => {
      const terminal = new RecordedTerminal();
      const line = [
        "watch",
        "--kubeconfig",
        "/kubeconfig",
        "--record",
        "/recorded.jsonl",
        "--json",
      ];
      const watching = runProgram({ environment, terminal, stop: stop.signal }, "0.0.0", line);
      await changePods(world);
      stop.abort(new Error("enough"));
      await watching;
      recorded = new Uint8Array((await environment.files.read("/recorded.jsonl")) ?? []);
      const recording = await client.post<Recording>("/api/v1/recordings", recorded);
      expect(recording).toMatchObject({ clusters: ["lab-1"], leftOut: 0 });
      expect(recording.journeys.map(({ address, outcome }) => `${address} ${outcome}`)).toEqual([
        "10.0.0.2 complete",
        "10.0.0.1 pending",
      ]);
      expect(recording.to - recording.from).toBeGreaterThan(40_000);
    });
    const replay = ["--replay", "/recorded.jsonl", "--listen", "127.0.0.1:0"];
    await lockstepServe(world, replay, async ({ client }) => {
      const events = await client.open();
      await events.until(
        ({ event, data }) =>
          (event === "state" && (data as State).stuck === 1) ||
          (event === "reset" && (data as Reset).state.stuck === 1),
      );
      const state = await client.get<State>("/api/v1/state");
      expect(state).toMatchObject({ mode: "recording", changes: 2, inFlight: 1, stuck: 1 });
      expect(state.can).toMatchObject({ doctor: false, incidents: false });
      const { series } = await client.get<SeriesAnswer>("/api/v1/series");
      expect(series.find(({ id }) => id === "changes")?.points.length).toBeGreaterThan(20);
      expect(await client.problem("GET", "/api/v1/doctor")).toMatch(/^404 /);
      events.close();
    });
  }));

test("a cluster without EndpointSlices lacks them only where copies are expected", () =>
  inObserverWorld(async (world) => {
    const { timers } = world.simulation.host("admin");
    await world.startCluster("lab-1", { without: ["discovery.k8s.io"] });
    const clusterOf = async (args: readonly string[]) => {
      let shown: unknown;
      await lockstepServe(world, args, async ({ client }) => {
        await timers.sleep(5_000);
        const { clusters } = await client.get<State>("/api/v1/state");
        shown = clusters.map(({ state, watches, doubts }) => {
          return { state, refused: watches.filter((watch) => watch.state === "refused"), doubts };
        });
      });
      return shown;
    };
    const well = { state: "watching", refused: [], doubts: [] };
    expect(await clusterOf(flags)).toEqual([well]);
    const missing =
      "lab-1 has no EndpointSlices (Kubernetes 1.21 or later has them), so synced times are unknown";
    expect(await clusterOf([...flags, "--access-context", "lab-1"])).toEqual([
      { ...well, doubts: [missing] },
    ]);
  }));

test("failed requests to removed pods are counted where an access log is read", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    await world.simulation.host("lockstep").files.write("/access.log", new Uint8Array());
    const toRemoved = async (args: readonly string[]) => {
      let state: State | undefined;
      await lockstepServe(world, args, async ({ client }) => {
        state = await client.get<State>("/api/v1/state");
      });
      return state?.toRemoved;
    };
    expect(await toRemoved(flags)).toBeNull();
    const none = { requests: 0, failed: 0 };
    expect(await toRemoved([...flags, "--access-log", "/access.log"])).toEqual(none);
  }));

test("without a lab its paths say so, and other problems are sentences too", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    await lockstepServe(world, flags, async ({ client }) => {
      const json = { headers: { "content-type": "application/json" }, body: "{}" };
      expect(await client.problem("GET", "/api/v1/incidents")).toBe(
        "404 This server has no lab. Start one with: lockstep up",
      );
      expect(await client.problem("GET", "/api/v1/whatif")).toMatch(/^404 /);
      expect(await client.problem("POST", "/api/v1/incidents", json)).toMatch(/^400 The body/);
      expect(await client.problem("GET", "/")).toMatch(/^404 The page is not built/);
      expect(await client.problem("GET", "/api/v1/services/shop/none")).toMatch(/^404 No source/);
      expect(await client.problem("DELETE", "/api/v1/state")).toBe("405 Allowed here: GET.");
      expect((await client.send("GET", "/healthz")).text).toBe("ok\n");
    });
  }));

test("another address than loopback gets a token, which is printed", () =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const listen = ["--kubeconfig", "/kubeconfig", "--listen", "lockstep:7070"];
    await lockstepServe(world, listen, async ({ client, address }) => {
      const { searchParams } = new URL(address);
      expect(searchParams.get("token")).toMatch(/^[\da-f]{64}$/);
      expect(await client.problem("GET", "/api/v1/state")).toMatch(/^401 /);
      const { status, headers } = await client.send("GET", `/?${searchParams}`);
      expect(`${status} ${headers["location"]}`).toBe("303 /");
      const [cookie = ""] = (headers["set-cookie"] ?? "").split(";");
      const asked = await client.send("GET", "/api/v1/state", { headers: { cookie } });
      expect(asked.status).toBe(200);
    });
  }));
