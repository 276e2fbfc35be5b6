import { describe, expect, it } from "vitest";
import { gateway, referenceGrant } from "../../../../tests/gateway/gateway-objects.ts";
import { decideListeners, type ListenerFacts } from "./listeners.ts";
import { ReferenceGrants } from "./reference-grants.ts";

const facts: ListenerFacts = {
  ports: { http: new Map([[80, 8080]]), https: new Map([[443, 8443]]) },
  grants: new ReferenceGrants([]),
  // No secret has been read yet, which is no problem of its listener.
  certificate: ({ name }) => (name === "missing" ? { problem: "there is none" } : {}),
};

const tls = (ref: object, more: object = {}) => ({ tls: { certificateRefs: [ref], ...more } });
const http = { name: "a", port: 80, protocol: "HTTP" };
const https = { name: "a", port: 443, protocol: "HTTPS" };

function decided(
  listeners: readonly object[],
  others: Partial<ListenerFacts> = {},
  spec: object = {},
) {
  const found = decideListeners(gateway({ name: "edge" }, listeners, spec), {
    ...facts,
    ...others,
  });
  return found.map(({ conditions }) =>
    conditions
      .filter(({ type, isTrue }) => isTrue === (type === "Conflicted"))
      .map((one) => one.reason),
  );
}

describe("a listener", () => {
  it.each([
    ["of HTTP is served", [http], [[]]],
    ["of HTTPS with a certificate is served", [{ ...https, ...tls({ name: "cert" }) }], [[]]],
    [
      "of another protocol is not",
      [{ ...http, protocol: "TCP" }],
      [["UnsupportedProtocol", "Invalid"]],
    ],
    ["at another port is not", [{ ...http, port: 81 }], [["PortUnavailable", "Invalid"]]],
    ["of HTTPS without tls is not", [https], [["Invalid", "Invalid"]]],
    [
      "whose clients must show certificates is not",
      [{ ...https, ...tls({ name: "cert" }, { frontendValidation: {} }) }],
      [["Invalid", "Invalid"]],
    ],
    [
      "whose secret is missing is not programmed",
      [{ ...https, ...tls({ name: "missing" }) }],
      [["Invalid", "InvalidCertificateRef"]],
    ],
    [
      "whose secret is of another namespace needs a grant",
      [{ ...https, ...tls({ name: "cert", namespace: "other" }) }],
      [["Invalid", "RefNotPermitted"]],
    ],
    [
      "for routes of other kinds alone is not",
      [{ ...http, allowedRoutes: { kinds: [{ kind: "TCPRoute" }] } }],
      [["Invalid", "InvalidRouteKinds"]],
    ],
    [
      "with the port and the host name of an earlier one yields to it",
      [http, { ...http, name: "b", protocol: "HTTP" }],
      [[], ["HostnameConflict", "Invalid", "HostnameConflict"]],
    ],
  ])("%s", (_, listeners, reasons) => {
    expect(decided(listeners)).toEqual(reasons);
  });

  it("shows a certificate of another namespace with a grant for Gateways of its own", () => {
    const spec = {
      from: [{ group: "gateway.networking.k8s.io", kind: "Gateway", namespace: "infra" }],
      to: [{ kind: "Secret", name: "cert" }],
    };
    const grants = new ReferenceGrants([referenceGrant({ namespace: "other", name: "g" }, spec)]);
    const asked = (name: string) => [{ ...https, ...tls({ name, namespace: "other" }) }];
    expect(decided(asked("cert"), { grants })).toEqual([[]]);
    expect(decided(asked("more"), { grants })).toEqual([["Invalid", "RefNotPermitted"]]);
  });

  it("is not served where the Gateway asks for certificates of clients", () => {
    const spec = { tls: { frontend: { default: { validation: {} } } } };
    expect(decided([http], {}, spec)).toEqual([["Invalid", "Invalid"]]);
  });

  it("is not served where the Gateway asks for an address of another type", () => {
    const spec = { addresses: [{ type: "example.org/name", value: "edge" }] };
    expect(decided([http], {}, spec)).toEqual([["Invalid", "Invalid"]]);
  });

  it("at another port names the ports that are open, and the flag that opens more", () => {
    const open = [80, 9000, 9001, 9002, 9010].map((port): [number, number] => [port, port]);
    const ports = { http: new Map(open), https: new Map() };
    const found = decideListeners(gateway({ name: "edge" }, [{ ...http, port: 81 }]), {
      ...facts,
      ports,
    });
    expect(found[0]?.conditions[0]?.message).toBe(
      "the proxy does not listen on port 81 for HTTP; it opens its ports when it starts " +
        "(80, 9000-9002, 9010): use one of them, or start it with --gateway-port 81",
    );
  });

  it("takes requests at the port of the proxy where a load balancer leads its own", () => {
    const [found] = decideListeners(gateway({ name: "edge" }, [http]), facts);
    expect(found?.port).toBe(8080);
  });
});
