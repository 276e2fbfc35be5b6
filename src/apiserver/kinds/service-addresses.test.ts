// Cluster IPs and node ports, also with two servers on one storage.
import { expect, test } from "vitest";
import { failure, inApiWorld } from "../../../tests/apiserver/api-world.ts";
import { numberAt, objectAt, objectsAt, textAt } from "./fields.ts";

const services = "/api/v1/namespaces/default/services";

function service(name: string, spec: object = {}): object {
  return { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } };
}

test("a service gets an address of the range, and its defaults", () =>
  inApiWorld(async ({ call }) => {
    const { json } = await call("POST", services, service("a"));
    const address = textAt(json, "spec", "clusterIP");
    expect(address).toMatch(/^10\.96\.\d+\.\d+$/);
    expect(objectAt(json, "spec")).toEqual({
      clusterIP: address,
      clusterIPs: [address],
      internalTrafficPolicy: "Cluster",
      ipFamilies: ["IPv4"],
      ipFamilyPolicy: "SingleStack",
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      sessionAffinity: "None",
      type: "ClusterIP",
    });
  }));

test("a headless service stays without address", () =>
  inApiWorld(async ({ call }) => {
    const { json } = await call("POST", services, service("a", { clusterIP: "None" }));
    expect(objectAt(json, "spec")).toMatchObject({ clusterIP: "None", clusterIPs: ["None"] });
  }));

test("an address is given once, and again when its service is gone", () =>
  inApiWorld(async ({ call }) => {
    const fixed = { clusterIP: "10.96.0.10" };
    expect((await call("POST", services, service("a", fixed))).status).toBe(201);
    const second = await call("POST", services, service("b", fixed));
    const message =
      'Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated';
    expect(second.json).toEqual(
      failure(422, "Invalid", `Service "b" is invalid: spec.clusterIPs: ${message}`, {
        name: "b",
        kind: "Service",
        causes: [{ reason: "FieldValueInvalid", message, field: "spec.clusterIPs" }],
      }),
    );
    await call("DELETE", `${services}/a`);
    expect((await call("POST", services, service("b", fixed))).status).toBe(201);
  }));

test("an update keeps the address, and takes node ports when the type asks for them", () =>
  inApiWorld(async ({ call }) => {
    const created = await call("POST", services, service("a"));
    const updated = await call("PUT", `${services}/a`, service("a", { type: "NodePort" }));
    expect(textAt(updated.json, "spec", "clusterIP")).toBe(
      textAt(created.json, "spec", "clusterIP"),
    );
    const port = numberAt(objectsAt(updated.json, "spec", "ports")[0], "nodePort") ?? 0;
    expect(port >= 30_000 && port <= 32_767).toBe(true);
    const again = await call("PUT", `${services}/a`, service("a", { type: "NodePort" }));
    expect(again.json).toEqual(updated.json);
  }));

test("a hundred services made by two servers at once have a hundred addresses", () =>
  inApiWorld(async ({ call, addServer }) => {
    await addServer("second");
    const replies = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        call("POST", services, service(`s${index}`), {
          host: index % 2 === 0 ? "server" : "second",
        }),
      ),
    );
    const addresses = replies.map(({ json }) => textAt(json, "spec", "clusterIP"));
    expect(new Set(addresses).size).toBe(100);
  }));
