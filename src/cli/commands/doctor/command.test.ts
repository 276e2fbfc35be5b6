import { describe, expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

/** The command as a user types it, beside these files. */
async function run(
  files: Readonly<Record<string, string | Uint8Array>>,
  ...args: readonly string[]
) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const code = await simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    for (const [path, content] of Object.entries(files)) {
      await environment.files.makeDirectory(path.slice(0, path.lastIndexOf("/")) || "/");
      await environment.files.write(path, content);
    }
    return runProgram({ environment, terminal, stop }, "1.2.3", ["doctor", ...args]).catch(
      (error: unknown) => (error instanceof Error ? error.message : error),
    );
  });
  return { code, out: terminal.out };
}

const fight = [10, 20, 30, 40]
  .map(
    (seconds) =>
      `W0511 12:16:${seconds}.055669   12085 mastercount.go:135] Resetting endpoints for master ` +
      'service "kubernetes" to &{ } {kubernetes  default',
  )
  .join("\n");

const manager = [0, 1, 2]
  .map(
    (second) =>
      `I0412 22:59:0${second}.914517       1 request.go:638] Throttling request took 2.4s, request: ` +
      "GET:https://10.3.0.1:443/api/v1/namespaces/shop/endpoints/web",
  )
  .join("\n");

describe("lockstep doctor", () => {
  test("names the cause with its evidence and its fix", async () => {
    const { code, out } = await run({ "/logs/api.log": `${fight}\n` }, "/logs");
    expect(code).toBe(1);
    expect(`\n${out}`).toMatchInlineSnapshot(`
      "
      Most important: apiserver-fight

      CRITICAL apiserver-fight (likely: one source)
      API servers overwrite each other's address in the endpoints of the kubernetes
      service, so clients inside the cluster are moved between servers and their
      watches can become stale.
      late hop: routed
      affected: Current versions only with --endpoint-reconciler-type=master-count;
                leases are the default since 1.11.
      more:     lockstep doctor --explain apiserver-fight,
                docs/causes/README.md#apiserver-fight

      Seen
        · 4 lines: an API server resets the endpoints of the kubernetes service, one
          each 10 s
          in /logs/api.log:1

      Fix, on kube-apiserver
      ────────────────────────────────────────────────────────────────────────────────
      --endpoint-reconciler-type=lease
      # before 1.9:
      --apiserver-count=N   # N: number of API servers, the same on each
      ────────────────────────────────────────────────────────────────────────────────
      With leases each API server keeps its own entry and a dead one expires after 15
      s. With a count, a dead server stays in the list until another one takes its
      place.

      To be surer
        · kubectl get endpoints kubernetes -o yaml --watch # the address changes every
          few seconds

      Examined
        1 file, 0.5 kB, 4 lines, 4 of them known log messages

      Not examined, for lack of evidence
        · log and access log of the ingress controller: stale-proxy, termination-race,
          slow-reloads, no-endpoints, dead-endpoints, request-pattern
        · kubectl get services,endpoints,pods,ingresses,leases,configmaps -A -o yaml:
          ghost-leader, stuck-leader, selector-mismatch, over-capacity,
          empty-ingress-status
        · lockstep doctor --context NAME: client-throttling, stale-cache,
          late-heartbeats
        · kubectl version: headless-rewrites, per-sync-get
        · 5 other causes: audit log of each API server; logs of kubelets; lockstep
          record, while endpoints change; log of each etcd member
      "
    `);
  });

  test("reads the files of a folder as one incident, and passes over what is no text", async () => {
    const files = {
      "/logs/a/api.log": fight,
      "/logs/b/manager.log": manager,
      "/logs/core": Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 0, 0]),
    };
    const { code, out } = await run(files, "/logs", "--output", "json");
    const { version, findings, open } = JSON.parse(out);
    expect(code).toBe(1);
    expect({ version, open, rules: findings.map(({ rule }: { rule: string }) => rule) }).toEqual({
      version: 2,
      open: [],
      rules: ["apiserver-fight", "client-throttling"],
    });
  });

  test("ends with 0 where nothing is severe enough, or the cause is ignored", async () => {
    const files = { "/logs/manager.log": manager };
    expect((await run(files, "/logs", "--fail-on", "critical")).code).toBe(0);
    const ignored = await run(files, "/logs", "--ignore", "client-throttling");
    expect([ignored.code, ignored.out]).toEqual([0, expect.stringContaining("Nothing found")]);
  });

  test("shows information in a line below something worse", async () => {
    const clock =
      "2019-09-02 02:45:17.885935 W | rafthttp: the clock difference against peer bb01 is too high [38.01s > 1s]";
    const { out } = await run({ "/logs/api.log": fight, "/logs/etcd.log": clock }, "/logs");
    const from = out.indexOf("For information");
    expect(out.slice(from, out.indexOf("Examined"))).toMatchInlineSnapshot(`
      "For information
        · clock-skew: The clocks of the etcd members differ. This alone delays no
          endpoint change. (/logs/etcd.log:1)

      "
    `);
    expect(out.match(/^Fix, on/gm)).toHaveLength(1);
  });

  test("says first which causes something points to, where none is proved", async () => {
    const [once = ""] = fight.split("\n");
    const { code, out } = await run({ "/logs/api.log": once }, "/logs");
    expect(code).toBe(0);
    expect(out.split("\n")[0]).toBe("No cause is proved. Something points to: apiserver-fight");
  });

  test("prints no secret of a log, in any form of output", async () => {
    const log = manager.replaceAll("endpoints/web", "endpoints/web?token=hunter2");
    for (const output of ["text", "json", "markdown"]) {
      const path = "/logs/password=hunter2/manager.log";
      const { out } = await run({ [path]: log }, "/logs", "--output", output);
      expect(out).toContain("client-throttling");
      expect(out).not.toContain("hunter2");
    }
  });

  test("prints no character that a terminal obeys", async () => {
    const log = manager.replaceAll("shop", "shop\u009b31m\u001b[2J");
    for (const output of ["text", "json", "markdown"]) {
      const { out } = await run({ "/logs/manager.log": log }, "/logs", "--output", output);
      expect(out).toContain("client-throttling");
      expect(out.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
    }
  });

  test.each([
    [["/nowhere"], "/nowhere does not exist"],
    [[], "give at least one file or folder"],
    [["-"], "nothing is piped in"],
    [["/logs", "--for", "1m"], "--for needs --context"],
    [["/logs", "--context", "a", "--context", "b"], "together with one --context only"],
    [["--ignore", "colds", "/logs"], "there is no cause colds; the causes are "],
  ])("refuses %j", async (args, message) => {
    expect((await run({}, ...args)).code).toContain(message);
  });
});
