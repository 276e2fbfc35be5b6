import { Readable } from "node:stream";
import { expect, test } from "vitest";
import type { Network, OutgoingRequest } from "../../environment/network.ts";
import { tapControl } from "./control-tap.ts";

const socketPath = "/run/control.sock";
const service = "shop/web:80";

/** A proxy that takes everything, or refuses it. */
function network(status: number): Network {
  return {
    request: async () => ({ status, headers: {}, peer: "nginx", body: Readable.from([]) }),
    listen: () => Promise.reject(new Error("nobody listens here")),
  };
}

function request(method: string, path: string, services?: object): OutgoingRequest {
  const body = services && { body: Buffer.from(JSON.stringify({ services })) };
  return { method, url: `http://nginx${path}`, socketPath, ...body };
}

function entry(tiers: readonly number[], ...addresses: readonly string[]) {
  return { [service]: { tiers, addresses } };
}

async function addresses(requests: readonly OutgoingRequest[], status = 200) {
  const all: (readonly string[])[] = [];
  const onAddresses = (addresses: readonly string[]) => void all.push(addresses);
  const tapped = tapControl({ network: network(status), socketPath, service, onAddresses });
  for (const one of requests) await tapped.request(one);
  return all;
}

const requests = [
  request("GET", "/state"),
  request("POST", "/loads"),
  request("PUT", "/loads/7", entry([2, 1], "10.0.0.1", "10.0.0.2", "10.0.0.3")),
  request("PUT", "/loads/7", { "shop/other:80": null }),
  request("POST", "/loads/7/commit"),
  request("PUT", "/changes", { "shop/other:80": { tiers: [1], addresses: ["10.0.0.9"] } }),
  request("PUT", "/changes", entry([1], "10.0.0.2")),
  request("PUT", "/changes", { [service]: null }),
  request("POST", "/loads"),
  request("POST", "/loads/8/commit"),
];

test("reports the first tier of one service when nginx accepts it, and its removal", async () => {
  expect(await addresses(requests)).toEqual([["10.0.0.1", "10.0.0.2"], ["10.0.0.2"], [], []]);
});

test("reports nothing that nginx refuses or that goes to another socket", async () => {
  expect(await addresses(requests, 409)).toEqual([]);
  expect(
    await addresses(requests.map((one) => ({ ...one, socketPath: "/run/other.sock" }))),
  ).toEqual([]);
});
