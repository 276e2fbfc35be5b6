import { expect, test } from "vitest";
import { secretKind } from "./secret.ts";

const metadata = { name: "web-tls", namespace: "shop", uid: "u1", resourceVersion: "7" };
const base64 = (text: string) => Buffer.from(text).toString("base64");

test("a secret keeps its certificate and key as text, and nothing else of its data", () => {
  const secret = secretKind.project({
    metadata,
    type: "kubernetes.io/tls",
    data: { "tls.crt": base64("chain"), "tls.key": base64("key"), password: base64("hidden") },
  });
  expect(secret).toEqual({
    metadata: expect.objectContaining({ namespace: "shop", name: "web-tls" }),
    type: "kubernetes.io/tls",
    chain: "chain",
    key: "key",
  });
});

test("a secret without them has empty ones, and what is no text is refused without showing it", () => {
  expect(secretKind.project({ metadata, type: "Opaque" })).toMatchObject({ chain: "", key: "" });
  const odd = { metadata, data: { "tls.key": { hidden: "value" } } };
  expect(() => secretKind.project(odd)).toThrow("tls.key should be a string, not object");
});
