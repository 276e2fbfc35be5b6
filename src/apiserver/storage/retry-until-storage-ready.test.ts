import { expect, test } from "vitest";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { ApiServer } from "../api-server.ts";
import { MemoryStorage } from "./memory-storage.ts";
import { retryUntilStorageReady } from "./retry-until-storage-ready.ts";
import { type Storage, StorageTimeoutError, StorageUnavailableError } from "./storage.ts";

/** A storage of which writes fail until a moment; the write that timed out was done all the same. */
function slowStorage(simulation: Simulation, untilMs: number): Storage {
  const memory = new MemoryStorage(simulation.host("server"));
  return {
    get: (...args) => memory.get(...args),
    list: (...args) => memory.list(...args),
    delete: (...args) => memory.delete(...args),
    watch: (...args) => memory.watch(...args),
    put: async (...args) => {
      const done = await memory.put(...args);
      if (simulation.now() >= untilMs) return done;
      throw new StorageTimeoutError("write", "context deadline exceeded");
    },
  };
}

test("a server whose first write times out tries again, and says what it waits for", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("server");
    const server = new ApiServer({
      ...host,
      storage: slowStorage(simulation, 2_000),
      name: "lab-1",
      gitVersion: "v1.33.1",
      authentication: { tokens: new Map() },
      objects: [{ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } }],
      keepsExistingObjects: true,
    });
    await server.start({ host: "server", port: 6443 });
    expect(simulation.now()).toBe(2_000);
    const warned = simulation.logLines().filter(({ level }) => level === "warn");
    expect(warned.map(({ message, fields }) => [message, fields["error"]])).toEqual(
      Array.from({ length: 4 }, () => [
        "the storage does not answer; the server waits for it",
        "context deadline exceeded",
      ]),
    );
    await server.stop();
  }));

test("it gives up after a while, with what to look at", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const waiting = retryUntilStorageReady(simulation.host("server"), () =>
      Promise.reject(new StorageUnavailableError("connection refused")),
    );
    await expect(waiting).rejects.toThrow(
      "the storage did not answer within 45 s (connection refused): " +
        "see that etcd runs and that its disk is not busy",
    );
    expect(simulation.now()).toBe(45_000);
  }));

test("it stops waiting when it is aborted, and does not wait after any other error", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("server");
    const stop = new AbortController();
    simulation.at(1_200, () => stop.abort(new Error("stopped")));
    const silent = () => Promise.reject(new StorageUnavailableError("connection refused"));
    const waiting = retryUntilStorageReady({ ...host, signal: stop.signal }, silent);
    await expect(waiting).rejects.toThrow("stopped");
    expect(simulation.now()).toBe(1_200);
    const broken = retryUntilStorageReady(host, () => Promise.reject(new Error("no such kind")));
    await expect(broken).rejects.toThrow("no such kind");
  }));
