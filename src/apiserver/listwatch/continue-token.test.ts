// The content of tokens, and which ones are refused.
import { describe, expect, it } from "vitest";
import { decodeContinue, encodeContinue } from "./continue-token.ts";

const prefix = "/registry/pods/a/";

describe("continue tokens", () => {
  it("come back as the position they were made from, for their own prefix", () => {
    const position = { revision: 12, afterKey: "/registry/pods/a/web-0" };
    const token = encodeContinue(position, prefix);
    expect(decodeContinue(token, prefix)).toEqual(position);
    expect(decodeContinue(token, "/registry/pods/b/")).toEqual({
      revision: 12,
      afterKey: "/registry/pods/b/web-0",
    });
  });

  it("have the form real servers give them", () => {
    const token = encodeContinue({ revision: "latest", afterKey: `${prefix}web-0` }, prefix);
    expect(JSON.parse(Buffer.from(token, "base64url").toString())).toEqual({
      v: "meta.k8s.io/v1",
      rv: -1,
      start: "/web-0\0",
    });
  });

  const key = "continue key is not valid";
  it.each<[string, string]>([
    ["%%%", `${key}: illegal base64 data at input byte 0`],
    [packed("no JSON"), `${key}: invalid character 'o' in literal null (expecting 'u')`],
    [packed("7"), `${key}: not a JSON object`],
    [
      packed('{"v":"v2","rv":1,"start":"a"}'),
      `${key}: server does not recognize this encoded version v2`,
    ],
    [
      packed('{"v":"meta.k8s.io/v1","rv":0,"start":"a"}'),
      `${key}: incorrect encoded start resourceVersion (version meta.k8s.io/v1)`,
    ],
    [
      packed('{"v":"meta.k8s.io/v1","rv":1,"start":""}'),
      `${key}: encoded start key empty (version meta.k8s.io/v1)`,
    ],
    [packed('{"v":"meta.k8s.io/v1","rv":1,"start":"../nodes/x\\u0000"}'), `${key}: ../nodes/x\0`],
    [packed('{"v":"meta.k8s.io/v1","rv":1,"start":"a//x\\u0000"}'), `${key}: a//x\0`],
  ])("%j is refused", (token, problem) => {
    const refusal = expect.objectContaining({
      code: 400,
      reason: "BadRequest",
      message: `invalid continue token: ${problem}`,
    });
    expect(() => decodeContinue(token, prefix)).toThrow(refusal);
  });
});

function packed(text: string): string {
  return Buffer.from(text).toString("base64url");
}
