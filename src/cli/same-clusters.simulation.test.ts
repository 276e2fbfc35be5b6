// Three contexts of two clusters, one of which has two servers on one store.
import { expect, test } from "vitest";
import { startServers } from "../../tests/cli/cluster-servers.ts";
import { fixedAccess } from "../kube/credentials/credentials.ts";
import { simulate } from "../simulation/simulation.ts";
import { countedTwiceText, leftOutText, sameClusters } from "./same-clusters.ts";

interface Context {
  readonly name: string;
  readonly host: string;
  readonly token?: string;
}

/** The findings about these contexts, and the requests for them. */
async function found(...contexts: readonly Context[]) {
  return await simulate({ seed: 1 }, async (simulation) => {
    const requests: string[] = [];
    const onRequest = (request: string) => requests.push(request);
    const servers = [
      await startServers(simulation, ["lab-1", "lab-1-server-2"], onRequest),
      await startServers(simulation, ["lab-2"], onRequest),
    ];
    const named = contexts.map(({ name, host, token = "admin" }) => ({
      name,
      access: fixedAccess({ name, server: `https://${host}:6443`, token }),
    }));
    const { signal } = new AbortController();
    const environment = simulation.host("here");
    const same = await sameClusters(named, { ...environment, userAgent: "test", signal });
    for (const server of servers) await server.stop();
    const missing = simulation.logLines().map(({ message, fields }) => [message, fields["effect"]]);
    return { same, requests, missing };
  });
}

const first = { name: "lab-1", host: "lab-1" };
const second = { name: "lab-1-server-2", host: "lab-1-server-2" };
const other = { name: "lab-2", host: "lab-2" };

test("two servers of one cluster are noticed by the uid of kube-system", async () => {
  const { same, requests } = await found(first, second, other);
  expect(same).toEqual([
    { name: "lab-1-server-2", first: "lab-1", why: "kube-system has the same uid" },
  ]);
  expect(requests.toSorted()).toEqual([
    "lab-1 GET /api/v1/namespaces/kube-system",
    "lab-1-server-2 GET /api/v1/namespaces/kube-system",
    "lab-2 GET /api/v1/namespaces/kube-system",
  ]);
});

test("one server under two users is noticed, also where neither may read the namespace", async () => {
  const reader = { ...first, name: "reader", token: "nobody" };
  const again = { name: "reader", first: "lab-1", why: "the same server" };
  expect((await found(first, other, reader)).same).toEqual([again]);
  const neither = await found({ ...first, token: "nobody" }, reader);
  expect(neither.same).toEqual([again]);
  const effect = "contexts of the same cluster are found by the address of their server only";
  const line = ["missing permission: get namespaces", effect];
  expect(neither.missing).toEqual([line, line]);
});

test("every further context of a cluster is reported with the first", async () => {
  const third = { ...first, name: "third" };
  const { same } = await found(first, second, third);
  expect(same.map(({ name, first: of }) => [name, of])).toEqual([
    ["lab-1-server-2", "lab-1"],
    ["third", "lab-1"],
  ]);
});

test("clusters that cannot be compared or reached are taken for different ones", async () => {
  expect((await found({ ...first, token: "nobody" }, second)).same).toEqual([]);
  const nowhere = { name: "nowhere", host: "nowhere" };
  expect((await found(nowhere, first, other)).same).toEqual([]);
});

test("a single context is asked for nothing", async () => {
  expect(await found(first)).toEqual({ same: [], requests: [], missing: [] });
});

test("the note about them names both and the reason", () => {
  const same = { name: "b", first: "a", why: "the same server" };
  expect(leftOutText(same)).toBe(
    "context b is skipped: it is the same cluster as a (the same server)",
  );
  expect(countedTwiceText(same)).toBe(
    "contexts a and b are the same cluster (the same server), so each change is counted " +
      "twice: give only one of them",
  );
});
