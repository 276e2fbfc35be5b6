import { X509Certificate } from "node:crypto";
import { statSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { nodeFiles } from "../../environment/node/node-files.ts";
import { makeFallbackCertificate } from "./fallback-certificate.ts";
import { findProxyDirectory, type NginxPrefixOptions, prepareNginxPrefix } from "./nginx-prefix.ts";

let prefix = "";

beforeEach(async () => {
  prefix = await nodeFiles.temporaryDirectory("lockstep-prefix-");
});
afterEach(() => nodeFiles.remove(prefix));

async function prepare(options: Partial<NginxPrefixOptions> = {}): Promise<string> {
  return await prepareNginxPrefix({
    files: nodeFiles,
    prefix,
    proxyDirectory: await findProxyDirectory(nodeFiles),
    listen: [{ address: "127.0.0.1", port: 8080 }],
    workers: 1,
    ...options,
  });
}

const text = async (name: string) =>
  Buffer.from((await nodeFiles.read(`${prefix}/${name}`)) ?? []).toString("utf8");

test("the id of a run changes with every option that nginx is started with, and with no other", async () => {
  const plain = await prepare();
  const others = [
    await prepare({ trustedProxies: ["10.0.0.0/8"] }),
    await prepare({ accessLog: "off" }),
    await prepare({ workers: 2 }),
    await prepare({ listen: [{ address: "127.0.0.1", port: 8080, tls: true }] }),
  ];
  expect(new Set([plain, ...others]).size).toBe(5);
  expect(await prepare()).toBe(plain);
});

test("the fallback certificate is made where there is TLS, once, and its key is for its owner alone", async () => {
  await prepare();
  expect(await text("run/fallback.crt")).toBe("");
  const listen = [{ address: "127.0.0.1", port: 8443, tls: true }];
  await prepare({ listen });
  const [chain, key] = [await text("run/fallback.crt"), await text("run/fallback.key")];
  expect([chain, key]).toEqual([
    expect.stringMatching(/^-----BEGIN CERTIFICATE-----\n/),
    expect.stringMatching(/^-----BEGIN PRIVATE KEY-----\n/),
  ]);
  expect(statSync(`${prefix}/run/fallback.key`).mode & 0o777).toBe(0o600);
  await prepare({ listen });
  expect([await text("run/fallback.crt"), await text("run/fallback.key")]).toEqual([chain, key]);
});

test("the fallback certificate shows where it comes from, under a name that no host has", async () => {
  const { subject, subjectAltName } = new X509Certificate((await makeFallbackCertificate()).chain);
  expect([subject, subjectAltName]).toEqual([
    "O=Lockstep\nCN=Lockstep fallback certificate",
    "DNS:fallback.lockstep.invalid",
  ]);
});

describe("the bundle of authorities", () => {
  test("is copied without what stands around its certificates", async () => {
    const { chain } = await makeFallbackCertificate();
    await nodeFiles.write(`${prefix}/ca.pem`, `a comment\n${chain}\nanother\n`);
    await prepare({ upstreamCa: `${prefix}/ca.pem` });
    expect(await text("run/upstream-ca.pem")).toBe(chain);
    expect(await text("run/servers.conf")).toContain("include verified.conf;");
  });

  test.each([
    ["is not there", undefined, "the CA bundle PATH does not exist"],
    ["holds none", "nothing", "PATH contains no PEM certificate"],
    [
      "holds one that cannot be read",
      "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
      "certificate 1 of the CA bundle PATH cannot be read",
    ],
  ])("is refused when it %s", async (_, content, message) => {
    const path = `${prefix}/ca.pem`;
    if (content !== undefined) await nodeFiles.write(path, content);
    await expect(prepare({ upstreamCa: path })).rejects.toThrow(message.replace("PATH", path));
  });
});
