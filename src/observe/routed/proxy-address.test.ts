import { expect, it } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import { detectProxyKind, ProxyAddressError, readProxyAddress } from "./proxy-address.ts";
import { askingUrl } from "./proxy-request.ts";

it("reads a kind and a URL, or one of them", () => {
  expect(readProxyAddress("lockstep=http://10.0.0.5:10260")).toEqual({
    name: "10.0.0.5:10260",
    url: "http://10.0.0.5:10260",
    kind: "lockstep",
  });
  expect(readProxyAddress("ingress-nginx=[::1]:10246")).toEqual({
    name: "[::1]:10246",
    url: "http://[::1]:10246",
    kind: "ingress-nginx",
  });
  expect(readProxyAddress("haproxy=http://10.0.0.5:8404/stats/")).toEqual({
    name: "10.0.0.5:8404/stats",
    url: "http://10.0.0.5:8404/stats",
    kind: "haproxy",
  });
  expect(readProxyAddress("https://proxy.example/")).toEqual({
    name: "proxy.example",
    url: "https://proxy.example",
    kind: undefined,
  });
});

it.each([
  ["caddy=http://a:1", "unknown kind of proxy caddy"],
  ["http://a:1/configuration", "is not the address of a proxy"],
  ["http://", "is not the address of a proxy"],
  ["", "is not the address of a proxy"],
  ["http://user@a:1", "is not the address of a proxy"],
])("refuses %s with the forms there are", (text, why) => {
  expect(() => readProxyAddress(text)).toThrow(ProxyAddressError);
  expect(() => readProxyAddress(text)).toThrow(why);
  expect(() => readProxyAddress(text)).toThrow("use lockstep=http://HOST:PORT");
});

it("reports anything else as none of them", () =>
  simulate({ seed: 1 }, async (simulation) => {
    await simulation.host("web").network.listen({ host: "web", port: 80 }, (exchange) => {
      exchange.respond(200).end(Buffer.from("<html>"));
    });
    const { signal } = new AbortController();
    const ask = askingUrl({ ...simulation.host("observer"), url: "http://web:80" });
    const asking = detectProxyKind("http://web:80", ask, signal);
    await expect(asking).rejects.toThrow(
      "http://web:80 answers as none of lockstep, ingress-nginx, envoy, traefik, haproxy: give the " +
        "kind for the reason; use lockstep=http://HOST:PORT",
    );
  }));

it("says that nothing answers where nothing does", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { signal } = new AbortController();
    const ask = askingUrl({ ...simulation.host("observer"), url: "http://web:80" });
    const asking = detectProxyKind("http://web:80", ask, signal);
    await expect(asking).rejects.toThrow(/^http:\/\/web:80 does not answer: .*web: no such host$/);
  }));
