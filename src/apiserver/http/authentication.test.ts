// Which Authorization headers have a token in them, as kube-apiserver 1.36 reads them.
import { expect, it } from "vitest";
import { bearerToken } from "./authentication.ts";

it.each([
  ["Bearer a", "a"],
  ["bearer a", "a"],
  [" Bearer a ", "a"],
  ["Bearer a b", "a"],
  ["Bearer  a", undefined],
  ["Bearer", undefined],
  ["Basic a", undefined],
  ["", undefined],
])("%j has the token %j", (header, token) => {
  expect(bearerToken(header)).toBe(token);
});
