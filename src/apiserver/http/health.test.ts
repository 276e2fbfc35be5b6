// Answers to clients and probes of a server whose etcd fails, compared with kube-apiserver 1.36
// whose etcd was killed.
import { describe, expect, it } from "vitest";
import { type ApiWorld, failure, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { EtcdModel } from "../../../tests/apiserver/etcd-model.ts";
import { EtcdStorage } from "../storage/etcd/etcd-storage.ts";

const host = "on-etcd";
const configMaps = "/api/v1/namespaces/default/configmaps";

function onEtcd(run: (world: ApiWorld, etcd: EtcdModel) => Promise<void>): Promise<void> {
  return inApiWorld(async (world) => {
    const { simulation, addServer } = world;
    const etcd = new EtcdModel(simulation.host("etcd"), "etcd");
    await etcd.start();
    const environment = simulation.host(host);
    const storage = new EtcdStorage({ ...environment, endpoints: [etcd.url] });
    await addServer(host, { storage, startsCaches: true });
    await simulation.sleep(1000);
    await run(world, etcd);
    storage.stop();
    await etcd.stop();
  });
}

/** Status, body and how long it took, in whole seconds. */
async function asked({ call, simulation }: ApiWorld, method: string, path: string, body?: object) {
  const from = simulation.now();
  const { status, text, json } = await call(method, path, body, { host });
  return { status, body: json ?? text, seconds: Math.floor((simulation.now() - from) / 1000) };
}

describe("with an etcd that answers", () => {
  it("health is ok, with each check on request", () =>
    onEtcd(async (world) => {
      const ok = { status: 200, body: "ok", seconds: 0 };
      for (const path of [
        "/healthz",
        "/livez",
        "/readyz",
        "/livez/etcd",
        "/readyz/etcd-readiness",
      ]) {
        expect(await asked(world, "GET", path)).toEqual(ok);
      }
      expect((await asked(world, "GET", "/livez?verbose")).body).toBe(
        "[+]ping ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n",
      );
      expect((await asked(world, "GET", "/livez?verbose&exclude=etcd&exclude=disk")).body).toBe(
        "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n" +
          'warn: some health checks cannot be excluded: no matches for "disk"\nlivez check passed\n',
      );
      expect((await asked(world, "GET", "/livez/disk")).status).toBe(404);
    }));
});

describe("with an etcd that is away", () => {
  it("health fails, without a reason for anonymous clients", () =>
    onEtcd(async (world, etcd) => {
      await etcd.stop();
      expect(await asked(world, "GET", "/readyz")).toEqual({
        status: 500,
        body:
          "[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n" +
          "[-]etcd-readiness failed: reason withheld\n[+]informer-sync ok\n[+]shutdown ok\n" +
          "readyz check failed\n",
        seconds: 4,
      });
      expect((await asked(world, "GET", "/livez?exclude=etcd")).body).toBe("ok");
      const reason = "error getting data from etcd: context deadline exceeded";
      expect((await asked(world, "GET", "/livez/etcd")).body).toBe(
        `internal server error: ${reason}\n`,
      );
      await etcd.start();
      await world.simulation.sleep(1000);
      expect((await asked(world, "GET", "/readyz")).body).toBe("ok");
    }));

  it("requests wait for it and then time out, and are served when it is back", () =>
    onEtcd(async (world, etcd) => {
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" } };
      await etcd.stop();
      const inTime = "Timeout: request did not complete within";
      const write = `${inTime} requested timeout - context deadline exceeded`;
      expect(await asked(world, "POST", configMaps, object)).toEqual({
        status: 504,
        body: failure(504, "Timeout", write, {}),
        seconds: 34,
      });
      expect(await asked(world, "GET", `${configMaps}/one`)).toEqual({
        status: 504,
        body: failure(504, "Timeout", `${inTime} the allotted timeout`, {}),
        seconds: 60,
      });
      await etcd.start();
      expect((await asked(world, "POST", configMaps, object)).status).toBe(201);
    }));

  it("a write whose answer is lost is an error of which nothing follows", () =>
    onEtcd(async (world, etcd) => {
      const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one" } };
      etcd.fate = (path) => (path === "kv/txn" ? "lost" : "answered");
      expect((await asked(world, "POST", configMaps, object)).body).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "rpc error: code = Unavailable desc = error reading from server: EOF",
        code: 500,
      });
      etcd.fate = () => "answered";
      expect((await asked(world, "POST", configMaps, object)).status).toBe(409);
    }));
});
