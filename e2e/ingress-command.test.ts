// `lockstep ingress` as a person runs it: its config file and what changes while it runs, the questions
// it answers, the shadow that serves nothing, what is left when everything is killed, and its end.
import { execFile } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { chmod, mkdir, stat, writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readSnapshot } from "../src/outputs/nginx/snapshot-format.ts";
import { snapshotPathOf } from "../src/outputs/nginx/state-snapshot.ts";
import { IngressProcess } from "./ingress-process.ts";
import { textOf, withoutNginx } from "./proxy-world.ts";
import { exchange } from "./raw-clients.ts";
import { ShopsWorld } from "./shops-world.ts";
import { processesOf } from "./up-process.ts";

const execFileAsync = promisify(execFile);
const runTimeoutMs = 240_000;
const service = "default/shop-1:80";

/** Certainly later than the pods, whichever of the two watches is read first. */
const lateSlices = { "endpointslice-updates-batch-period": 500 };

describe.skipIf(withoutNginx !== false)("lockstep ingress", () => {
  let world: ShopsWorld;
  let replica: IngressProcess;
  let configFile: string;
  beforeAll(async () => {
    world = await ShopsWorld.start({ shops: 1, replicas: 2, flags: lateSlices });
    configFile = `${world.folder}/lockstep.yaml`;
    await world.environment.files.write(configFile, "class: lockstep\nfollowSlices: false\n");
    await leaveOpenFiles(`${world.folder}/edge`);
    replica = await IngressProcess.start(world, "edge", ["--config", configFile]);
    await world.until("the slices list the pods", async () => {
      const { endpoints } = JSON.parse(await replica.ask("/state")).services[service];
      return endpoints.every(({ published }: { published: string }) => published === "ready");
    });
  });
  afterAll(() => world?.stop());

  const lockstep = (...args: readonly string[]) =>
    world.environment.processes.run(process.execPath, ["bin/lockstep.mjs", ...args], {
      timeoutMs: runTimeoutMs,
    });

  const ask = (...args: readonly string[]) =>
    lockstep("ingress", ...args, "--status-port", String(replica.statusPort));

  const requests = async (count: number): Promise<Record<string, number>> => {
    const outcomes: Record<string, number> = {};
    for (let sent = 0; sent < count; sent += 1) {
      const outcome = await request(world, replica.address);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    }
    return outcomes;
  };

  it("shows the endpoints of a request, and similar names if there is no route", async () => {
    expect(await requests(4)).toEqual({ 200: 4 });
    const [pods, known, near] = await Promise.all([
      world.pods(),
      ask("explain", "shop-1.example/cart?a=b"),
      ask("explain", "https://shop-2.example/"),
    ]);
    expect(known.code).toBe(0);
    const row =
      "● active POD:8080 SHOP ready ready " +
      "its pod is ready (rule: join at once); last used a moment ago; some requests, 0 failed";
    expect(steady(known.output, pods)).toBe(
      [
        "● shop-1.example/cart: served by 2 endpoints of default/shop-1:80",
        "host shop-1.example",
        "path Prefix /",
        "from Ingress default/shops",
        "service default/shop-1:80, chosen by the route",
        "state endpoint pod pod state in slices",
        row,
        row,
      ].join(" "),
    );
    expect({ code: near.code, output: near.output }).toEqual({
      code: 1,
      output:
        "✗ shop-2.example/: no served Ingress or route has the host shop-2.example (404)\n" +
        "\n" +
        "  similar   shop-1.example\n",
    });
  });

  it("keeps its files from other users, those of an older version too", async () => {
    const { stdout } = await execFileAsync("find", [replica.prefix, "-printf", "%y %m %P\\n"]);
    const passable = /^(|logs|temp|lua(\/.*)?)$/;
    const open = stdout.split("\n").filter((line) => {
      const [kind = "", mode = "", name = ""] = line.split(" ");
      // The socket is in a folder that only its owner may enter; Lua is no secret.
      if (kind === "s" || passable.test(name)) return false;
      return (Number.parseInt(mode, 8) & 0o077) !== 0;
    });
    expect(open).toEqual([]);
    const before = await stat(replica.prefix);
    expect(before.mode & 0o066).toBe(0);
  });

  it("prints the truth about a service, for people and for machines", async () => {
    const [{ code, output }, text, unknown, refused] = await Promise.all([
      ask("endpoints", "shop-1", "--json"),
      ask("endpoints", "shop-1"),
      ask("endpoints", "shop-9"),
      lockstep("ingress", "explain", "shop-1.example", "--status-port", "1"),
    ]);
    const { ports } = JSON.parse(output);
    expect({ code, services: ports.map((port: { service: string }) => port.service) }).toEqual({
      code: 0,
      services: [service],
    });
    expect(text.output.split("\n")[0]).toBe(`● ${service}: 2 of 2 endpoints get requests`);
    expect({ code: unknown.code, output: unknown.output }).toEqual({
      code: 1,
      output: "✗ No route leads to default/shop-9. Similar: default/shop-1.\n",
    });
    expect({ code: refused.code, said: refused.errorOutput }).toEqual({
      code: 2,
      said:
        "lockstep: no ingress answers at 127.0.0.1:1: connection refused. Start one with " +
        "node bin/lockstep.mjs ingress, give its port with --status-port, or use --context for " +
        "one in a cluster.\n",
    });
  });

  it("takes a changed config file at once, and keeps the old one when the new one is wrong", async () => {
    const { files } = world.environment;
    const rules = async () => {
      const { services } = JSON.parse(await replica.ask("/state"));
      const endpoints: readonly { rule: string }[] = services[service].endpoints;
      return [...new Set(endpoints.map(({ rule }) => rule))];
    };
    expect(await rules()).toEqual(["join at once"]);
    await files.write(configFile, "class: lockstep\nfollowSlices: true\nshadow: true\n");
    await world.until("the slices are followed", async () => {
      return (await rules()).join() === "follow the slices exactly";
    });
    await world.until("it is said what takes a restart", () =>
      replica.said.includes('"fields":["shadow"]'),
    );
    await files.write(configFile, "class: lockstep\nfolowSlices: false\n");
    const mistake = `${configFile}:2:1: there is no field`;
    await world.until("the mistake is said", () => replica.said.includes(mistake));
    expect(await rules()).toEqual(["follow the slices exactly"]);
    await files.write(configFile, "followSlices: false\n");
    await world.until("truth is followed", async () => (await rules()).join() === "join at once");
  });

  it("refuses a config file that is wrong from the start, and prints what holds", async () => {
    const { files } = world.environment;
    const wrong = `${world.folder}/wrong.yaml`;
    await files.write(wrong, "httpPort: 99999\n");
    const refused = await lockstep("ingress", "--config", wrong);
    expect({ code: refused.code, said: refused.errorOutput }).toEqual({
      code: 2,
      said:
        "lockstep: the config file is invalid:\n" +
        `  ${wrong}:1:11: httpPort cannot be "99999". It must be a whole number from 1 to 65535.\n`,
    });
    const args = ["--config", configFile, "--class", "web", "--print-config"];
    const { code, output } = await lockstep("ingress", ...args);
    expect({ code, lines: output.split("\n").slice(3, 5) }).toEqual({
      code: 0,
      lines: [
        "class: web                           # --class",
        "followSlices: false                  # file, live",
      ],
    });
  });

  it("names the flag for a port that another process has, and leaves no folder behind", async () => {
    const { port: taken } = new URL(`http://${replica.address}`);
    const file = await world.kubeconfigFile();
    const start = (prefix: string, ...ports: readonly string[]) => {
      const args = ["--kubeconfig", file, "--listen", "127.0.0.1", "--prefix", prefix];
      return lockstep("ingress", ...args, ...ports);
    };
    const never = `${world.folder}/never`;
    const [http, status] = await Promise.all([
      start(`${world.folder}/no`, "--http-port", taken, "--status-port", "0"),
      start(`${never}/started`, "--status-port", String(replica.statusPort)),
    ]);
    expect(existsSync(never)).toBe(false);
    const said = (port: string | number, flag: string) =>
      new RegExp(
        `^lockstep: port ${port} is in use by .* choose another port with ${flag}\\.$`,
        "m",
      );
    expect([http.code, status.code]).toEqual([2, 2]);
    expect(http.errorOutput).toMatch(said(taken, "--http-port"));
    expect(status.errorOutput).toMatch(said(replica.statusPort, "--status-port"));
  });

  it("as a shadow serves nothing, and says what would have been otherwise", async () => {
    const shadow = await IngressProcess.start(world, "shadow", ["--shadow", "--shadow-probe"]);
    expect(await request(world, shadow.address)).toBe("0");
    const state = JSON.parse(await shadow.ask("/state"));
    expect({ proxy: state.proxy, left: state.shadow.left.pods }).toEqual({ proxy: null, left: 0 });
    const [pod] = await world.pods();
    if (pod === undefined) throw new Error("the shop has no pod");
    await world.deletePod(pod);
    await world.until("the slices are seen to be late", async () => {
      const { left } = JSON.parse(await shadow.ask("/state")).shadow;
      return left.pods > left.standing;
    });
    expect(await shadow.terminate()).toBe(0);
    expect(shadow.written).toMatch(
      /^Compared for [\d.]+ m?s: .+\n {2}removed pods still in slices/,
    );
    expect(await world.environment.files.list(shadow.prefix)).toEqual([]);
    await world.released("1");
  });

  it.skipIf(!existsSync("/usr/bin/script")).each([
    ["foreground", "exec", ""],
    ["background", "set -m;", "& disown; sleep 1000"],
  ])("as a shadow in the %s of a terminal, ends with that", async (way, before, after) => {
    const file = `${world.folder}/${way}.kubeconfig`;
    const { files, processes } = world.environment;
    await files.write(file, (await files.read(await world.kubeconfigFile())) ?? "");
    const line = `node bin/lockstep.mjs ingress --shadow --status-port 0 --kubeconfig ${file}`;
    // `script` makes a terminal, which ends with it.
    const command = `bash -c '${before} ${line} ${after}'`;
    const terminal = await processes.spawn("script", ["-qec", command, "/dev/null"]);
    world.atStop(async () => {
      for (const left of processesOf(file)) processes.kill(Number.parseInt(left, 10), "SIGKILL");
    });
    let said = "";
    for await (const chunk of terminal.output) {
      said += Buffer.from(chunk).toString("utf8");
      if (!said.includes("endpoints and reasons")) continue;
      expect(processesOf(file)).not.toEqual([]);
      terminal.kill("SIGKILL");
      await terminal.exited;
      await expect.poll(() => processesOf(file), { timeout: 20_000 }).toEqual([]);
      break;
    }
    expect(said).toContain("endpoints and reasons");
  });

  it("killed together with its nginx, leaves a state that nginx alone can serve by", async () => {
    const { files, processes, timers } = world.environment;
    await world.until("the newest pods are saved", async () => {
      const content = await files.read(snapshotPathOf(replica.prefix));
      const saved = readSnapshot(content ?? Buffer.of())?.services.get(service) ?? [];
      const pods = await world.pods();
      return pods.every(({ uid }) => saved.some(({ podUid }) => podUid === uid));
    });
    // The state for the first lists of the next one.
    const { known } =
      readSnapshot((await files.read(snapshotPathOf(replica.prefix))) ?? Buffer.of()) ?? {};
    expect([...(known ?? [])].find(([watch]) => watch.endsWith(" ingresses"))?.[1]).toBe(1);
    const before = await replica.nginx();
    await replica.kill();
    const pids = before === undefined ? [] : [before.masterPid, ...before.workerPids];
    for (const pid of pids) processes.kill(pid, "SIGKILL");
    while (pids.some((pid) => processes.isAlive(pid))) await timers.sleep(10);
    await files.remove(`${replica.prefix}/control/control.sock`);
    const { prefix } = replica;
    await processes.run("nginx", ["-p", prefix, "-c", `${prefix}/nginx.conf`], {
      timeoutMs: runTimeoutMs,
    });
    expect(await requests(10)).toEqual({ 200: 10 });
    const alone = await replica.nginx();
    expect(alone?.bootId).not.toBe(before?.bootId);
    expect({ generation: alone?.generation, epoch: alone?.epoch }).toEqual({
      generation: 1,
      epoch: 0,
    });
    await replica.start();
    const adopted = await replica.nginx();
    expect({ bootId: adopted?.bootId, epoch: adopted?.epoch }).toEqual({
      bootId: alone?.bootId,
      epoch: 1,
    });
    expect(await requests(10)).toEqual({ 200: 10 });
  });

  it("prints its access log, by which blame explains a request to a dead pod", async () => {
    const { environment } = world;
    const [pod] = await world.pods();
    if (pod === undefined) throw new Error("the shop has no pod");
    await world.publish("dead", [pod.address]);
    const before = await saveObjects(world, "before");
    await world.deletePod(pod);
    const logged = await IngressProcess.start(world, "logged", ["--access-log", "stdout"]);
    await world.until("no process listens at the pod's address", async () => {
      return (await request(world, `${pod.address}:8080`)) === "0";
    });
    expect(await request(world, logged.address, "dead.example")).toBe("502");
    await world.until("the request is printed", () => logged.written.includes('"status":502'));
    const objects = [before, await saveObjects(world, "after")];
    const args = ["--access-log", "-", ...objects.flatMap((file) => ["--objects", file]), "--json"];
    const blamed = await environment.processes.run(
      process.execPath,
      ["bin/lockstep.mjs", "blame", ...args],
      // As `kubectl logs` has them: both streams together.
      { input: logged.said + logged.written, timeoutMs: runTimeoutMs },
    );
    expect({ code: blamed.code, notes: blamed.errorOutput }).toMatchObject({
      code: 0,
      notes: expect.not.stringContaining("not understood"),
    });
    const [verdict] = blamed.output.split("\n");
    expect(JSON.parse(verdict ?? "")).toMatchObject({
      status: 502,
      isStale: true,
      tries: [{ pod: { name: pod.name } }],
    });
    await logged.terminate();
    await world.released("1");
  });

  it("opens its log again on a signal, and serves on while its output has no reader", async () => {
    const { files, processes } = world.environment;
    // As root nginx's workers are another user, who must reach the log to open it again.
    const barred = "the nginx workers cannot open this folder";
    expect(replica.said.includes(barred)).toBe(process.getuid?.() === 0);
    chmodSync(world.folder, 0o711);
    const logged = await IngressProcess.start(world, "printed", ["--access-log", "stdout"]);
    expect(logged.said).not.toContain(barred);
    const log = `${logged.prefix}/logs/access.log`;
    await request(world, logged.address, "first.example");
    await world.until("it is printed", () => logged.written.includes("first.example"));
    await files.rename(log, `${log}.mine`);
    processes.kill(logged.pid ?? 0, "SIGUSR1");
    await world.until("nginx has a new log", async () => (await files.size(log)) !== undefined);
    await request(world, logged.address, "second.example");
    await world.until("that is printed too", () => logged.written.includes("second.example"));
    const readOn = logged.holdOutput();
    const dropped = /^lockstep_ingress_access_log_dropped_lines_total ([1-9]\d*)$/m;
    await world.until("lines are dropped", async () => {
      const [host, port] = logged.address.split(":");
      const one = `GET /${"x".repeat(400)} HTTP/1.1\r\nHost: none.example\r\n\r\n`;
      const last = "GET / HTTP/1.1\r\nHost: none.example\r\nConnection: close\r\n\r\n";
      await exchange({ host: host ?? "", port: Number(port) }, [one.repeat(1_000) + last]);
      return dropped.test(await logged.ask("/metrics"));
    });
    expect(logged.said).toContain("standard output is read too slowly");
    expect(await request(world, logged.address)).toBe("200");
    readOn();
    await world.until("lines are printed again", async () => {
      await request(world, logged.address, "third.example");
      return logged.written.includes("third.example");
    });
    const lines = logged.written.split("\n").slice(0, -1);
    expect(lines.every((line) => "status" in JSON.parse(line))).toBe(true);
    await logged.terminate();
  });

  it("asked to stop, it is unready at once, serves a while longer and ends in order", async () => {
    const drained = await IngressProcess.start(world, "drained", ["--drain-delay", "4s"]);
    const { pid = 0 } = drained;
    world.environment.processes.kill(pid, "SIGTERM");
    await world.until("it is unready", async () => (await drained.ask("/readyz")) !== "ok\n");
    expect(await drained.ask("/readyz")).toBe("stopping\n");
    expect(await request(world, drained.address)).toBe("200");
    expect(await drained.exited()).toBe(0);
    expect(await request(world, drained.address)).toBe("0");
    expect(await drained.nginx()).toBeUndefined();
  });
});

/** Saves the cluster's objects, as an operator would; returns the file. */
async function saveObjects(world: ShopsWorld, name: string): Promise<string> {
  const { files, processes } = world.environment;
  const kinds = "pods,services,nodes,endpointslices";
  const args = ["get", kinds, "-A", "-o", "json", "--kubeconfig", await world.kubeconfigFile()];
  const { output } = await processes.run("kubectl", args, { timeoutMs: runTimeoutMs });
  const path = `${world.folder}/${name}.json`;
  await files.write(path, output);
  return path;
}

/** The status of one request, as text; 0 if the connection is refused. */
async function request(
  { environment }: ShopsWorld,
  address: string,
  host = "shop-1.example",
): Promise<string> {
  try {
    const response = await environment.network.request({
      method: "GET",
      url: `http://${address}/`,
      headers: { host },
    });
    await textOf(response.body);
    return String(response.status);
  } catch {
    // The connection is refused, which some tests expect.
    return "0";
  }
}

/** Without what differs from run to run, and with single spaces. */
function steady(
  output: string,
  pods: readonly { readonly name: string; readonly address: string }[],
): string {
  let text = output;
  for (const { name, address } of pods) {
    text = text.replaceAll(name, "SHOP").replaceAll(address, "POD");
  }
  return text
    .trim()
    .replace(/\s+/g, " ")
    .replace(/[\d.]+ m?s ago/g, "a moment ago")
    .replace(/\d+ requests,/g, "some requests,");
}

/** As a version did that left the modes to the umask. */
async function leaveOpenFiles(prefix: string): Promise<void> {
  for (const folder of ["logs", "state", "control", "run"]) {
    await mkdir(`${prefix}/${folder}`, { recursive: true });
    await chmod(`${prefix}/${folder}`, 0o755);
  }
  await writeFile(`${prefix}/logs/access.log.1`, "", { mode: 0o644 });
}
