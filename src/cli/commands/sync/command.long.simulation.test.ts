import { expect, test } from "vitest";
import { clusters, inSyncWorld, type SyncWorld } from "../../../../tests/syncing/sync-world.ts";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { UsageError } from "../../command.ts";
import { runProgram } from "../../program.ts";

const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: clusters.map((name) => ({ name, cluster: { server: `https://${name}:6443` } })),
  contexts: clusters.map((name) => ({ name, context: { cluster: name, user: "admin" } })),
  users: [{ name: "admin", user: { token: "token" } }],
});

const both = ["--from", "lab-1", "--from", "lab-2", "--to", "edge"];

/** Runs `lockstep sync` until it ends, or for so long. */
async function lockstepSync(world: SyncWorld, args: readonly string[], forMs?: number) {
  const environment = world.simulation.host("lockstep");
  await environment.files.write("/kubeconfig", kubeconfig);
  const terminal = new RecordedTerminal();
  const stop = new AbortController();
  if (forMs !== undefined) {
    environment.timers.after(forMs, () => stop.abort(new Error("stopped by the test")));
  }
  const context = { environment, terminal, stop: stop.signal };
  const line = ["sync", "--kubeconfig", "/kubeconfig", ...args];
  const code = await runProgram(context, "0.0.0", line);
  return { code, out: terminal.out, errors: terminal.error };
}

test("a dry run prints every write and makes none, a run makes them, and then none is left", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1", "10.1.0.2"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    await world.publish("lab-2", "taken", []);
    await world.publish("edge", "taken", []);
    const before = await world.copies();
    const args = [...both, "--namespace", "shop"];
    expect(await lockstepSync(world, [...args, "--dry-run"])).toEqual({
      code: 0,
      out: [
        "cannot sync shop/taken: Service shop/taken exists and was not created by Lockstep",
        "create Service shop/web: synced from lab-1, lab-2",
        "create EndpointSlice shop/web-lab-1-0: 2 endpoints of lab-1",
        "create EndpointSlice shop/web-lab-2-0: 1 endpoint of lab-2",
        "3 writes to edge.",
        "",
      ].join("\n"),
      errors: "",
    });
    expect(await world.copies()).toEqual(before);
    const run = await lockstepSync(world, args, 10_000);
    expect(run).toMatchObject({
      code: 0,
      errors: "Syncing lab-1, lab-2 to edge. Ctrl-C stops it.\n",
    });
    expect(run.out.replaceAll(/\d+ ms \(\d writes?\)/g, "N ms")).toBe(
      "shop/web of lab-1 synced after N ms\nshop/web of lab-2 synced after N ms\n",
    );
    expect(await lockstepSync(world, [...args, "--dry-run", "--json"])).toEqual({
      code: 0,
      out: `${JSON.stringify({
        service: "shop/taken",
        blocked: "Service shop/taken exists and was not created by Lockstep",
        writes: [],
      })}\n`,
      errors: "Nothing to write to edge: 1 service up to date.\n",
    });
  }));

test("copies of a cluster that is no longer named are reported, and removed when it is forgotten", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    await world.publish("lab-2", "old", ["10.2.0.2"]);
    await lockstepSync(world, [...both, "--namespace", "shop"], 10_000);
    const left = ["--from", "lab-1", "--to", "edge", "--namespace", "shop"];
    const stays =
      "2 copied slices stay of lab-2, which is not in --from. Use --forget lab-2 to remove " +
      "them.\n";
    expect(await lockstepSync(world, [...left, "--dry-run"])).toEqual({
      code: 0,
      out: "Nothing to write to edge: 1 service up to date.\n",
      errors: stays,
    });
    expect((await lockstepSync(world, left, 10_000)).errors).toBe(
      `Syncing lab-1 to edge. Ctrl-C stops it.\n${stays}`,
    );
    const forget = [...left, "--forget", "lab-2"];
    expect(await lockstepSync(world, [...forget, "--dry-run"])).toEqual({
      code: 0,
      out: [
        "delete Service shop/old: no cluster has the service any more",
        "delete EndpointSlice shop/old-lab-2-0: lab-2 is removed with --forget",
        "delete EndpointSlice shop/web-lab-2-0: lab-2 is removed with --forget",
        "3 writes to edge.",
        "",
      ].join("\n"),
      errors: "",
    });
    await lockstepSync(world, forget, 10_000);
    expect(await lockstepSync(world, [...left, "--dry-run"])).toEqual({
      code: 0,
      out: "Nothing to write to edge: 1 service up to date.\n",
      errors: "",
    });
  }));

test("a misspelt namespace removes no copy, and a run and a dry run say what to correct", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-1", "gone", ["10.1.0.2"]);
    const from = ["--from", "lab-1", "--to", "edge"];
    await lockstepSync(world, [...from, "--namespace", "shop"], 10_000);
    await world.call("lab-1", "DELETE", "/api/v1/namespaces/shop/services/gone");
    const misspelt = [...from, "--namespace", "shpo"];
    const nothing =
      "Nothing to sync: no service in lab-1 has the label lockstep.dev/sync=true, " +
      "or a selector in the namespace shpo. The namespace shpo does not exist in lab-1.\n";
    const stays =
      "1 service stays in edge although --namespace does not select it. No --from cluster " +
      "has a service in namespace shpo: check the name. To remove the copies anyway, " +
      "remove this --namespace.";
    await expect(lockstepSync(world, [...misspelt, "--dry-run"])).rejects.toEqual(
      new UsageError(stays),
    );
    const run = await lockstepSync(world, misspelt, 60_000);
    expect(run.errors).toBe(`Syncing lab-1 to edge. Ctrl-C stops it.\n${nothing}${stays}\n`);
    // A service that its cluster does not have any more is removed all the same.
    expect(await world.copies()).toEqual({
      slices: { "web-lab-1-0": ["10.1.0.1"] },
      services: ["web"],
    });
  }));

test("a copy that is not selected any more goes once the named namespaces have services", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    const from = ["--from", "lab-1", "--to", "edge"];
    await lockstepSync(world, [...from, "--namespace", "shop"], 10_000);
    const before = await world.copies();
    await world.call("lab-1", "POST", "/api/v1/namespaces", { metadata: { name: "pay" } });
    const moved = lockstepSync(world, [...from, "--namespace", "pay"], 120_000);
    await world.simulation.sleep(60_000);
    expect(await world.copies()).toEqual(before);
    await world.call("lab-1", "POST", "/api/v1/namespaces/pay/services", {
      metadata: { name: "cards" },
      spec: { selector: { app: "cards" }, ports: [{ port: 80 }] },
    });
    await moved;
    expect(await world.copies()).toEqual({ slices: {}, services: [] });
  }));

test("a cluster to forget that has no copies is an error, which names the clusters that have copies", () =>
  inSyncWorld(async (world) => {
    const left = ["--from", "lab-1", "--to", "edge", "--namespace", "shop"];
    const wrong = [...left, "--forget", "lab-3", "--forget", "lab-2"];
    const none = "edge has no copies of lab-3, lab-2 to remove; it has no copies.";
    await expect(lockstepSync(world, [...wrong, "--dry-run"])).rejects.toEqual(
      new UsageError(none),
    );
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    await lockstepSync(world, [...both, "--namespace", "shop"], 10_000);
    const some = "edge has no copies of lab-3 to remove; it has copies of lab-1, lab-2.";
    await expect(lockstepSync(world, [...wrong, "--dry-run"])).rejects.toEqual(
      new UsageError(some),
    );
    const { code, errors } = await lockstepSync(world, wrong, 10_000);
    expect({ code, errors }).toEqual({
      code: 0,
      errors: [
        "Syncing lab-1 to edge. Ctrl-C stops it.",
        "Removing the copies from lab-3.",
        "Removing the copies from lab-2.",
        some,
        "",
      ].join("\n"),
    });
    expect((await lockstepSync(world, [...left, "--dry-run"])).errors).toBe("");
  }));

test("what came from a cluster that does not answer is neither removed nor called unclaimed", () =>
  inSyncWorld(async (world) => {
    await world.publish("lab-2", "web", ["10.2.0.1"]);
    const args = [...both, "--namespace", "shop"];
    await lockstepSync(world, args, 10_000);
    const before = await world.copies();
    world.simulation.network.partition("lockstep", "lab-2");
    const { errors } = await lockstepSync(world, args, 10_000);
    expect(errors).toBe("Syncing lab-1, lab-2 to edge. Ctrl-C stops it.\n");
    expect(await world.copies()).toEqual(before);
  }));

test.each([
  [
    "the label, where no namespace is named",
    [],
    "no service in lab-1, lab-2 has the label lockstep.dev/sync=true. " +
      "Add the label or use --namespace.",
  ],
  [
    "a namespace that does not exist",
    ["--namespace", "shpo", "--namespace", "shop-2"],
    "no service in lab-1, lab-2 has the label lockstep.dev/sync=true, " +
      "or a selector in the namespace shpo, shop-2. " +
      "The namespace shpo does not exist in lab-1. " +
      "The namespace shop-2 does not exist in lab-1. " +
      "The namespace shpo does not exist in lab-2.",
  ],
])("when no service is selected, a dry run and a run name %s", (_, flags, reason) =>
  inSyncWorld(async (world) => {
    await world.publish("lab-1", "web", ["10.1.0.1"]);
    await world.call("lab-2", "POST", "/api/v1/namespaces", { metadata: { name: "shop-2" } });
    const said = `Nothing to sync: ${reason}\n`;
    const args = [...both, ...flags];
    expect(await lockstepSync(world, [...args, "--dry-run"])).toEqual({
      code: 0,
      out: said,
      errors: "",
    });
    expect(await lockstepSync(world, [...args, "--dry-run", "--json"])).toEqual({
      code: 0,
      out: "",
      errors: said,
    });
    expect(await lockstepSync(world, args, 10_000)).toEqual({
      code: 0,
      out: "",
      errors: `Syncing lab-1, lab-2 to edge. Ctrl-C stops it.\n${said}`,
    });
  }),
);

test("a namespace that the access cluster lacks is named, with the flag that makes it", () =>
  inSyncWorld(async (world) => {
    await world.call("lab-1", "POST", "/api/v1/namespaces", { metadata: { name: "pay" } });
    await world.call("lab-1", "POST", "/api/v1/namespaces/pay/services", {
      metadata: { name: "cards" },
      spec: { selector: { app: "cards" }, ports: [{ port: 80 }] },
    });
    expect((await lockstepSync(world, [...both, "--namespace", "pay", "--dry-run"])).out).toBe(
      "cannot sync pay/cards: the access cluster has no namespace pay; use " +
        "--create-namespaces to create it\nNothing to write to edge: no service can be synced.\n",
    );
  }));

test("a dry run says which cluster it could not hear", () =>
  inSyncWorld(async (world) => {
    world.simulation.network.partition("lockstep", "lab-2");
    await expect(lockstepSync(world, [...both, "--dry-run"])).rejects.toEqual(
      new UsageError(
        "These clusters did not answer within 30 s:\n" +
          "  lab-2: lab-2:6443: the peer stopped acknowledging, or never answered",
      ),
    );
  }));

test.each([
  [
    ["--from", "lab-1", "--to", "lab-1"],
    "--from and --to must be different clusters; lab-1 is given twice.",
  ],
  [
    ["--from", "a=lab-1", "--to", "b=lab-1"],
    "--from and --to must be different clusters; the context lab-1 is given twice.",
  ],
  [
    ["--from", "nowhere", "--to", "edge"],
    'the kubeconfig /kubeconfig has no context "nowhere"; available: lab-1, lab-2, edge',
  ],
  [
    ["--from", "arn:aws:eks:1:cluster/pay", "--to", "edge"],
    '"arn:aws:eks:1:cluster/pay" cannot be part of an object name: use lower-case letters, ' +
      "digits and dashes, at most 63.\nGive the context another name, for example: " +
      "shop=arn:aws:eks:1:cluster/pay",
  ],
  [
    [...both, "--namespace", "shop", "--all-namespaces"],
    "--all-namespaces and --namespace cannot be used together: remove one of them.",
  ],
  [[...both, "--forget", "lab-2"], "lab-2 is in --from and in --forget: remove one of them."],
])("%j is refused in words", (args, message) =>
  inSyncWorld(async (world) => {
    await expect(lockstepSync(world, args)).rejects.toEqual(new UsageError(message));
  }),
);

test("without clusters it says which flags are missing", () =>
  inSyncWorld(async (world) => {
    await expect(lockstepSync(world, ["--from", "lab-1"])).rejects.toThrow(
      new UsageError("lockstep sync needs --from and --to, or --config."),
    );
  }));
