import { createPublicKey, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { inAccessWorld } from "../../../tests/apiserver/access-world.ts";
import { type ApiWorld, pod, pods } from "../../../tests/apiserver/api-world.ts";
import { isJsonObject, textAt, valueAt } from "../kinds/fields.ts";

const accounts = "/api/v1/namespaces/default/serviceaccounts";

async function makeAccount({ call }: ApiWorld): Promise<string> {
  const { json } = await call("POST", accounts, { metadata: { name: "robot" } });
  return textAt(json, "metadata", "uid");
}

async function tokenFor({ call }: ApiWorld, spec: object = {}): Promise<string> {
  const { json } = await call("POST", `${accounts}/robot/token`, { spec });
  return textAt(json, "status", "token");
}

function claimsOf(token: string): unknown {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
}

const whoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

describe("a token of a ServiceAccount", () => {
  test("names its audience and account, and authenticates its bearer as the account", () =>
    inAccessWorld(async (world) => {
      const uid = await makeAccount(world);
      const token = await tokenFor(world);
      const now = Date.parse("2026-01-01T00:00:00Z") / 1000;
      const jti = textAt(claimsOf(token), "jti");
      expect(claimsOf(token)).toEqual({
        aud: ["https://kubernetes.default.svc"],
        exp: now + 3600,
        iat: now,
        iss: "https://kubernetes.default.svc",
        jti,
        "kubernetes.io": { namespace: "default", serviceaccount: { name: "robot", uid } },
        nbf: now,
        sub: "system:serviceaccount:default:robot",
      });
      const { json } = await world.call("POST", whoAmI, {}, { token });
      expect(valueAt(json, "status", "userInfo")).toEqual({
        username: "system:serviceaccount:default:robot",
        uid,
        groups: [
          "system:serviceaccounts",
          "system:serviceaccounts:default",
          "system:authenticated",
        ],
        extra: { "authentication.kubernetes.io/credential-id": [`JTI=${jti}`] },
      });
    }));

  test("can be verified with the published keys of the server", () =>
    inAccessWorld(async (world) => {
      await makeAccount(world);
      const token = await tokenFor(world);
      const { json } = await world.call("GET", "/openid/v1/jwks");
      const [jwk] = Object.values(valueAt(json, "keys") ?? []);
      if (!isJsonObject(jwk)) throw new Error("no key");
      const key = createPublicKey({ key: jwk, format: "jwk" });
      const [head, body, signature = ""] = token.split(".");
      const signed = Buffer.from(`${head}.${body}`);
      const bytes = Buffer.from(signature, "base64url");
      expect(verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, bytes)).toBe(true);
      const path = "/.well-known/openid-configuration";
      expect((await world.call("GET", path)).json).toEqual({
        issuer: "https://kubernetes.default.svc",
        jwks_uri: "http://server:6443/openid/v1/jwks",
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["ES256"],
      });
    }));

  test("ends with its time, its account, its pod, and is for its audience alone", () =>
    inAccessWorld(async (world) => {
      const { call, client, simulation } = world;
      await makeAccount(world);
      await call("POST", pods, pod("a", { serviceAccountName: "robot" }));
      const boundObjectRef = { kind: "Pod", apiVersion: "v1", name: "a" };
      const bound = await tokenFor(world, { boundObjectRef });
      const short = await tokenFor(world, { expirationSeconds: 600 });
      const long = await tokenFor(world);
      const foreign = await tokenFor(world, { audiences: ["vault"] });
      const statuses = async (): Promise<readonly number[]> =>
        Promise.all(
          [bound, short, long, foreign].map(
            async (token) => (await call("POST", whoAmI, {}, { token })).status,
          ),
        );
      expect(await statuses()).toEqual([201, 201, 201, 401]);
      await call("DELETE", `${pods}/a`);
      expect(await statuses()).toEqual([401, 201, 201, 401]);
      await client.timers.sleep(601_000, new AbortController().signal);
      expect(await statuses()).toEqual([401, 401, 201, 401]);
      await call("DELETE", `${accounts}/robot`);
      await simulation.host("server").timers.sleep(10, new AbortController().signal);
      expect(await statuses()).toEqual([401, 401, 401, 401]);
    }));

  test("with a foreign signature or a changed payload is refused", () =>
    inAccessWorld(async (world) => {
      await makeAccount(world);
      const [head, body = "", signature] = (await tokenFor(world)).split(".");
      const claims = JSON.parse(Buffer.from(body, "base64url").toString("utf8"));
      const forged = Buffer.from(JSON.stringify({ ...claims, exp: 4e9 })).toString("base64url");
      for (const token of [`${head}.${forged}.${signature}`, `${head}.${body}.`, "a.b.c"]) {
        expect((await world.call("GET", "/version", undefined, { token })).status).toBe(401);
      }
    }));

  test("is refused for less than ten minutes, for an absent account, and for an unfit bound object", () =>
    inAccessWorld(async (world) => {
      await makeAccount(world);
      const ask = async (name: string, spec: object): Promise<string> => {
        const { json } = await world.call("POST", `${accounts}/${name}/token`, { spec });
        return textAt(json, "message");
      };
      const reference = { kind: "Service", apiVersion: "v1", name: "x" };
      expect([
        await ask("robot", { expirationSeconds: 10 }),
        await ask("nobody", {}),
        await ask("robot", { boundObjectRef: reference }),
        await ask("robot", { boundObjectRef: { ...reference, kind: "Secret" } }),
      ]).toEqual([
        'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: ' +
          "10: may not specify a duration less than 10 minutes",
        'serviceaccounts "nobody" not found',
        "cannot bind token to object of type /v1, Kind=Service",
        'secrets "x" not found',
      ]);
    }));
});
