import { expect, test } from "vitest";
import type { Credentials } from "../credentials/credentials.ts";
import { ServerAccess } from "./server-access.ts";

function accessOf(server: string, credentials: Credentials, plainServers?: "trusted") {
  const refused: Credentials[] = [];
  const cluster = {
    name: "blue",
    server,
    credentials: () => Promise.resolve(credentials),
    invalidate: (one: Credentials) => void refused.push(one),
  };
  const options = plainServers === undefined ? {} : { plainServers };
  return { access: new ServerAccess(cluster, options), refused };
}

const token: Credentials = { authorization: "Bearer t", tls: { ca: "a CA" } };

test.each([
  ["https://10.96.0.1:443", undefined, true],
  ["https://api.example", undefined, true],
  ["https://gateway.example/k8s/clusters/c-1", undefined, false],
  ["http://127.0.0.1:8001", undefined, false],
  ["http://127.0.0.1:8001", "trusted", true],
  ["api.example:6443", "trusted", false],
  ["", "trusted", false],
] as const)(
  "from %j, plain servers being %s, one may go to the servers: %s",
  (server, plain, may) => {
    expect(accessOf(server, token, plain).access.mayGoDirect).toBe(may);
  },
);

test.each([
  ["https://10.96.0.1:443", "10.96.0.1"],
  ["https://[fd00::1]:443", "fd00::1"],
  ["https://api.example:6443", "api.example"],
])("a server must have a certificate for what was given: %s", async (server, serverName) => {
  const { access } = accessOf(server, token);
  const own = access.at("10.0.0.2:6443");
  expect(own.server).toBe("https://10.0.0.2:6443");
  expect(await own.credentials()).toEqual({
    authorization: "Bearer t",
    tls: { ca: "a CA", serverName },
  });
});

test("a name that was given to verify by stays", async () => {
  const tls = { ca: "a CA", serverName: "kubernetes" };
  const { access } = accessOf("https://127.0.0.1:7000", { ...token, tls });
  expect((await access.at("10.0.0.2:6443").credentials()).tls).toEqual(tls);
});

test("the same credentials stay the same, for connections are pooled by them", async () => {
  const { access } = accessOf("https://api.example", token);
  const [one, other] = [access.at("10.0.0.2:6443"), access.at("10.0.0.3:6443")];
  expect((await one.credentials()).tls).toBe((await other.credentials()).tls);
});

test("nothing is shown to servers when the given one is not verified", async () => {
  const tls = { insecureSkipVerify: true };
  const { access } = accessOf("https://api.example", { ...token, tls });
  await expect(access.at("10.0.0.2:6443").credentials()).rejects.toThrow(
    "the API server's certificate is not verified, so credentials are not sent to other servers",
  );
});

test("what a server refuses is refused for the cluster", () => {
  const { access, refused } = accessOf("https://api.example", token);
  access.at("10.0.0.2:6443").invalidate(token);
  expect(refused).toEqual([token]);
});
