import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { signToken, tokenKey, verifyToken } from "./service-account-tokens.ts";

const claims = { sub: "system:serviceaccount:shop:web" };

const beginsWithZero = (secret: string) =>
  createHash("sha256").update(`service-account key ${secret}`).digest()[0] === 0;

test("keys made from the same secret are the same: one reads tokens signed with the other", () => {
  const token = signToken(tokenKey("a secret"), claims);
  expect(verifyToken(tokenKey("a secret"), token)).toEqual(claims);
  expect(verifyToken(tokenKey("another secret"), token)).toBeUndefined();
});

test("one key in 256 begins with a zero, and is as good as the others", () => {
  const secret = "secret-332";
  expect(beginsWithZero(secret)).toBe(true);
  const key = tokenKey(secret);
  expect(verifyToken(key, signToken(key, claims))).toEqual(claims);
});
