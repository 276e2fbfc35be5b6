import { describe, expect, test } from "vitest";
import { type ApiWorld, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { Klog } from "../../components/klog.ts";
import { type ProfileName, profileNamed } from "../../lab/versions/profiles.ts";
import { PeerAddresses } from "../audit/peer-addresses.ts";
import { RequestJournal } from "./request-journal.ts";

const pods = "/api/v1/namespaces/default/pods";
const pod = { metadata: { name: "a" }, spec: { containers: [{ name: "web", image: "web:1" }] } };

/** Log lines of a server of this version for the requests, each of which takes 700 ms. */
async function linesOf(
  profile: ProfileName,
  verbosity: number,
  ask: (call: ApiWorld["call"]) => Promise<void>,
): Promise<string> {
  let text = "";
  await inApiWorld(async ({ simulation, addServer, call }) => {
    const { clock, random } = simulation.host("slow");
    const klog = new Klog({ clock });
    const { traces, requestLines: lines } = profileNamed(profile).formats;
    const peers = new PeerAddresses();
    const journal = { clock, random, klog, traces, lines, verbosity, peers };
    const slow = await addServer("slow", { observers: [new RequestJournal(journal)] });
    slow.faults.setRules([{ match: {}, latency: 700 }]);
    const headers = { "user-agent": "kubectl/v1", accept: "application/json" };
    await ask((method, path, body) => call(method, path, body, { host: "slow", headers }));
    text = klog
      .lines()
      .map((line) => line.text)
      .join("\n")
      .replaceAll(/Trace\[\d+\]/g, "Trace[1]");
  });
  return text;
}

describe("a request that took long leaves a trace in the log", () => {
  const list = async (call: ApiWorld["call"]): Promise<void> => {
    await call("GET", "/api/v1/pods?limit=500");
  };

  test("of 1.7, step by step", async () => {
    expect(await linesOf("1.7", 0, list)).toMatchInlineSnapshot(`
      "I0101 00:00:00.700000       1 trace.go:61] Trace "List /api/v1/pods" (started 2026-01-01 00:00:00 +0000 UTC):
      [0s] [0s] About to List from storage
      [700ms] [700ms] Listing from storage done
      [700ms] [0s] Self-linking done
      [700ms] [0s] Writing http response done (0 items)
      "List /api/v1/pods" [700ms] [0s] END"
    `);
  });

  test("of 1.9, with a number and without short steps", async () => {
    expect(await linesOf("1.9", 0, list)).toMatchInlineSnapshot(`
      "I0101 00:00:00.700000       1 trace.go:76] Trace[1]: "List /api/v1/pods" (started: 2026-01-01 00:00:00 +0000 UTC m=+0.000387263) (total time: 700ms):
      Trace[1]: [700ms] [700ms] Listing from storage done"
    `);
  });

  test("of 1.17, with the client", async () => {
    const put = async (call: ApiWorld["call"]): Promise<void> => {
      await call("POST", pods, pod);
    };
    expect(await linesOf("1.17.3", 0, put)).toMatchInlineSnapshot(`
      "I0101 00:00:00.700000       1 trace.go:116] Trace[1]: "Create" url:/api/v1/namespaces/default/pods,user-agent:kubectl/v1,client:192.168.0.1 (started: 2026-01-01 00:00:00 +0000 UTC m=+0.000387263) (total time: 700ms):
      Trace[1]: [700ms] [700ms] Object stored in database"
    `);
  });

  test("of 1.33, with everything, and only from verbosity 2 on", async () => {
    expect(await linesOf("1.33", 2, list)).toMatchInlineSnapshot(`
      "I0101 00:00:00.700000       1 trace.go:236] Trace[1]: "List" accept:application/json,audit-id:3f78604e-82a9-4b3e-8505-ecc603597c18,client:192.168.0.1,api-group:,api-version:v1,name:,subresource:,namespace:,protocol:HTTP/2.0,resource:pods,scope:cluster,url:/api/v1/pods,user-agent:kubectl/v1,verb:LIST (01-Jan-2026 00:00:00.000) (total time: 700ms):
      Trace[1]: ---"Listing from storage done" 700ms (00:00:00.700)
      Trace[1]: [700ms] [700ms] END"
    `);
    expect(await linesOf("1.33", 1, list)).toBe("");
  });
});

test("quick requests leave none", async () => {
  await inApiWorld(async ({ simulation, addServer, call }) => {
    const { clock, random } = simulation.host("quick");
    const klog = new Klog({ clock });
    const { traces, requestLines: lines } = profileNamed("1.9").formats;
    const journal = {
      clock,
      random,
      klog,
      traces,
      lines,
      verbosity: 0,
      peers: new PeerAddresses(),
    };
    await addServer("quick", { observers: [new RequestJournal(journal)] });
    await call("GET", pods, undefined, { host: "quick" });
    expect(klog.lines()).toEqual([]);
  });
});

test.each<[ProfileName, number]>([
  ["1.7", 2],
  ["1.17.3", 3],
  ["1.33", 3],
])("%s has a line for each request from verbosity %d on", async (profile, verbosity) => {
  const fail = async (call: ApiWorld["call"]): Promise<void> => {
    await call("GET", `${pods}/none`);
  };
  const withoutTrace = (text: string): string =>
    text
      .split("\n")
      .filter((line) => /wrap\.go|httplog\.go/.test(line))
      .join("\n");
  expect(withoutTrace(await linesOf(profile, verbosity, fail))).toBe(requestLines[profile]);
  expect(withoutTrace(await linesOf(profile, verbosity - 1, fail))).toBe("");
});

const request = "/api/v1/namespaces/default/pods/none";
const head = "I0101 00:00:00.700000       1";
const requestLines: Readonly<Partial<Record<ProfileName, string>>> = {
  "1.7": `${head} wrap.go:42] GET ${request}: (700ms) 404 [[kubectl/v1] 192.168.0.1:32769]`,
  "1.17.3": `${head} httplog.go:90] GET ${request}: (700ms) 404 [kubectl/v1 192.168.0.1:32769]`,
  "1.33":
    `${head} httplog.go:134] "HTTP" verb="GET" URI="${request}" latency="700ms" ` +
    'userAgent="kubectl/v1" audit-ID="3f78604e-82a9-4b3e-8505-ecc603597c18" ' +
    'srcIP="192.168.0.1:32769" resp=404',
};
