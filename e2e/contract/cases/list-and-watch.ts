// Lists in pages and at versions, and watches from every kind of start.
import type { CaseWorld, ContractCase, Reply } from "../contract-case.ts";

export const listAndWatchCases: readonly ContractCase[] = [
  listCase("pages follow one another", pages),
  listCase("a page begins where the last ended although objects changed", changingPages),
  listCase("a list at version zero is any list", (world) => atVersion(world, "resourceVersion=0")),
  listCase("a list not older than a version", (world) => atVersion(world, "NotOlderThan")),
  listCase("a list at exactly a version", (world) => atVersion(world, "Exact")),
  listCase("a list of the future is refused", future),
  listCase("a list by selectors", selected),
  listCase("a list across namespaces by field", acrossNamespaces),
  listCase("an object at a version", objectAtVersion),
  listCase("a watch from a version tells what happened since", watchSince),
  listCase("a watch from now begins with what there is", watchFromNow),
  listCase("a watch by labels tells of objects that come and go", watchSelected),
  listCase("a watch of one object", watchOne),
  listCase("a watch that begins with a list ends it with a bookmark", watchList),
  listCase("a watch that begins with an empty list", watchEmptyList),
  listCase("a watch ends when its time is over", watchTimeout),
  listCase("a watch from the future", watchFuture),
  listCase("the old paths of watches", oldWatchPath),
];

function listCase(name: string, run: (world: CaseWorld) => Promise<void>): ContractCase {
  return {
    area: "lists and watches",
    name,
    async run(world) {
      await world.open();
      await run(world);
    },
  };
}

function mapsOf({ name }: CaseWorld): string {
  return `/api/v1/namespaces/${name}/configmaps`;
}

function configMap(name: string, labels: Record<string, string> = {}): object {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels } };
}

async function make(world: CaseWorld, ...names: readonly string[]): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (const name of names) {
    replies.push(await world.call("POST", mapsOf(world), configMap(name, { which: name })));
  }
  return replies;
}

function metaOf(reply: Reply): Record<string, unknown> {
  const { metadata } = reply.body as { metadata: Record<string, unknown> };
  return metadata;
}

function versionOf(reply: Reply): string {
  return String(metaOf(reply)["resourceVersion"]);
}

function continueOf(reply: Reply): string {
  const token = metaOf(reply)["continue"];
  return typeof token === "string" ? encodeURIComponent(token) : "";
}

async function pages(world: CaseWorld): Promise<void> {
  await make(world, "a", "b", "c", "d", "e");
  const first = await world.call("GET", `${mapsOf(world)}?limit=2`);
  const second = await world.call("GET", `${mapsOf(world)}?limit=2&continue=${continueOf(first)}`);
  await world.call("GET", `${mapsOf(world)}?limit=2&continue=${continueOf(second)}`);
  await world.call("GET", `${mapsOf(world)}?limit=9`);
  await world.call("GET", `${mapsOf(world)}?limit=2&labelSelector=which%20in%20(b,c,d)`);
  await world.call("GET", `${mapsOf(world)}?limit=2&resourceVersion=0`);
}

async function changingPages(world: CaseWorld): Promise<void> {
  await make(world, "a", "b", "c");
  const first = await world.call("GET", `${mapsOf(world)}?limit=1`);
  await world.call("DELETE", `${mapsOf(world)}/b`);
  await make(world, "bb");
  await world.call("GET", `${mapsOf(world)}?limit=9&continue=${continueOf(first)}`);
}

async function atVersion(world: CaseWorld, how: string): Promise<void> {
  const [, second] = await make(world, "a", "b");
  await make(world, "c");
  // A cache may be a moment behind; a read of the newest waits for it.
  await world.call("GET", mapsOf(world));
  const version = second === undefined ? "" : versionOf(second);
  const query = how.includes("=") ? how : `resourceVersion=${version}&resourceVersionMatch=${how}`;
  await world.call("GET", `${mapsOf(world)}?${query}`);
  await world.call("GET", `${mapsOf(world)}?limit=1&${query}`);
}

async function future(world: CaseWorld): Promise<void> {
  await world.call("GET", `${mapsOf(world)}?resourceVersion=999999999`);
  await world.call("GET", `${mapsOf(world)}/a?resourceVersion=999999999`);
  const exact = "resourceVersion=999999999&resourceVersionMatch=Exact";
  await world.call("GET", `${mapsOf(world)}?${exact}`);
}

async function selected(world: CaseWorld): Promise<void> {
  await make(world, "a", "b", "c");
  for (const selector of [
    "which=a",
    "which==a",
    "which!=a",
    "which in (a,b)",
    "which notin (a)",
    "which",
    "!which",
    "other",
    "which=a,which=b",
    "which>1",
  ]) {
    const names = (body: unknown): unknown =>
      (body as { items?: { metadata: { name: string } }[] }).items?.map(
        (one) => one.metadata.name,
      ) ?? body;
    const path = `${mapsOf(world)}?labelSelector=${encodeURIComponent(selector)}`;
    await world.call("GET", path, undefined, { project: names });
  }
  await world.call("GET", `${mapsOf(world)}?fieldSelector=metadata.name!%3Da`);
}

async function acrossNamespaces(world: CaseWorld): Promise<void> {
  await make(world, "a", "b");
  const field = encodeURIComponent(`metadata.namespace=${world.name},metadata.name=b`);
  await world.call("GET", `/api/v1/configmaps?fieldSelector=${field}`);
}

async function objectAtVersion(world: CaseWorld): Promise<void> {
  const [made] = await make(world, "a");
  await world.call("GET", `${mapsOf(world)}/a?resourceVersion=0`);
  const version = made === undefined ? "" : versionOf(made);
  await world.call("GET", `${mapsOf(world)}/a?resourceVersion=${version}`);
  await world.call("GET", `${mapsOf(world)}/a?resourceVersion=old`);
}

async function watchSince(world: CaseWorld): Promise<void> {
  const [made] = await make(world, "a");
  await world.call("PUT", `${mapsOf(world)}/a`, { ...configMap("a"), data: { n: "1" } });
  await make(world, "b");
  await world.call("DELETE", `${mapsOf(world)}/a`);
  const version = made === undefined ? "" : versionOf(made);
  await world.watch(`${mapsOf(world)}?watch=true&resourceVersion=${version}`, { events: 3 });
}

async function watchFromNow(world: CaseWorld): Promise<void> {
  await make(world, "a", "b");
  await world.call("GET", mapsOf(world));
  await world.watch(`${mapsOf(world)}?watch=1`, {
    events: 3,
    after: 2,
    during: async () => {
      await make(world, "c");
    },
  });
}

async function watchSelected(world: CaseWorld): Promise<void> {
  const [made] = await make(world, "other");
  const path = `${mapsOf(world)}/thing`;
  await world.call("POST", mapsOf(world), configMap("thing", { side: "left" }));
  await world.call("PUT", path, configMap("thing", { side: "right" }));
  await world.call("PUT", path, configMap("thing", { side: "left" }));
  await world.call("DELETE", path);
  const version = made === undefined ? "" : versionOf(made);
  const query = `watch=1&labelSelector=side%3Dleft&resourceVersion=${version}`;
  await world.watch(`${mapsOf(world)}?${query}`, { events: 4 });
}

async function watchOne(world: CaseWorld): Promise<void> {
  const [made] = await make(world, "a", "b");
  await world.call("DELETE", `${mapsOf(world)}/b`);
  await world.call("DELETE", `${mapsOf(world)}/a`);
  const version = made === undefined ? "" : versionOf(made);
  const query = `watch=1&fieldSelector=metadata.name%3Da&resourceVersion=${version}`;
  await world.watch(`${mapsOf(world)}?${query}`, { events: 1 });
}

const initialEvents =
  "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

async function watchList(world: CaseWorld): Promise<void> {
  await make(world, "a", "b");
  await world.watch(`${mapsOf(world)}?${initialEvents}`, {
    events: 4,
    after: 3,
    during: async () => {
      await make(world, "c");
    },
  });
}

async function watchEmptyList(world: CaseWorld): Promise<void> {
  await world.watch(`${mapsOf(world)}?${initialEvents}`, { events: 1 });
  await world.watch(`${mapsOf(world)}?${initialEvents}&resourceVersion=0`, { events: 1 });
}

async function watchTimeout(world: CaseWorld): Promise<void> {
  await make(world, "a");
  await world.watch(`${mapsOf(world)}?watch=1&timeoutSeconds=1`);
  await world.watch(`${mapsOf(world)}?watch=1&timeoutSeconds=1&resourceVersion=0`);
}

async function watchFuture(world: CaseWorld): Promise<void> {
  await world.watch(`${mapsOf(world)}?watch=1&resourceVersion=999999999&timeoutSeconds=2`);
  await world.watch(`${mapsOf(world)}?watch=1&resourceVersion=abc&timeoutSeconds=2`);
}

async function oldWatchPath(world: CaseWorld): Promise<void> {
  await make(world, "a");
  await world.watch(`/api/v1/watch/namespaces/${world.name}/configmaps?timeoutSeconds=1`);
  await world.watch(`/api/v1/watch/namespaces/${world.name}/configmaps/a?timeoutSeconds=1`);
}
