import { expect, test } from "vitest";
import { ms, web } from "../../tests/observer/observed.ts";
import { Places } from "./places.ts";

const endpoint = { ...web, address: "10.0.0.1", port: 8080, podUid: "a" };
const anyLine = (): boolean => true;
const request = {
  witness: { hop: "traffic", name: "log" },
  address: endpoint.address,
  port: endpoint.port,
  at: ms(0),
  failed: false,
} as const;

test("nothing is kept of lines that are removed", () => {
  const places = new Places();
  const asked = { ...request, service: undefined };
  expect(places.atAddress(asked)).toEqual([]);
  const lines = ["a", "b"].flatMap((podUid) =>
    ["shop/web", "shop/api"].map((service) => places.add({ ...endpoint, service, podUid })),
  );
  expect(places.size).toBe(4);
  expect(places.atAddress(asked)).toHaveLength(2);
  for (const line of lines) places.remove(line);
  for (const line of lines) places.remove(line);
  expect(places.size).toBe(0);
  expect(places.at(endpoint)).toBeUndefined();
  expect([...places.ofService(web.service)]).toEqual([]);
  expect(places.atAddress(asked)).toEqual([]);
});

test("a request that names its service is looked up there, and otherwise at its address anywhere", () => {
  const places = new Places();
  const ofWeb = places.add(endpoint);
  const ofApi = places.add({ ...endpoint, service: "shop/api" });
  places.add({ ...endpoint, port: 9090 });
  const at = (service: string | undefined) =>
    places.atAddress({ ...request, service }).flatMap(({ lines }) => lines);
  expect(at("shop/api")).toEqual([ofApi]);
  expect(at("shop/other")).toEqual([]);
  expect(at(undefined)).toEqual([ofWeb, ofApi]);
  const later = places.add({ ...endpoint, service: "shop/later" });
  expect(at(undefined)).toEqual([ofWeb, ofApi, later]);
});

test("an endpoint is located at its address, or by its pod where a copy has another address", () => {
  const places = new Places();
  places.add(endpoint);
  const copy = { ...endpoint, address: "192.0.2.1" };
  expect(places.locate({ ...endpoint, podUid: undefined }, anyLine)).toMatchObject({
    address: "10.0.0.1",
    podUid: undefined,
  });
  expect(places.locate(copy, anyLine)).toEqual(endpoint);
  expect(places.locate({ ...copy, port: 9090 }, anyLine)).toBeUndefined();
  expect(places.locate({ ...copy, podUid: undefined }, anyLine)).toBeUndefined();
  expect(places.locate({ ...endpoint, podUid: "b" }, anyLine)).toBeUndefined();
  expect(places.locate({ ...copy, cluster: "west" }, anyLine)).toBeUndefined();
  expect(places.locate(endpoint, () => false)).toBeUndefined();
});

test("a service has endpoints in the cluster that is named, or in any", () => {
  const places = new Places();
  places.add(endpoint);
  expect(places.has(web, anyLine)).toBe(true);
  expect(places.has({ ...web, cluster: undefined }, anyLine)).toBe(true);
  expect(places.has({ ...web, cluster: "west" }, anyLine)).toBe(false);
  expect(places.has(web, () => false)).toBe(false);
});
