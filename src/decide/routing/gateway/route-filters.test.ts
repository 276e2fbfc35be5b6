import { describe, expect, it } from "vitest";
import { httpRoute } from "../../../../tests/gateway/gateway-objects.ts";
import { headersOfBackend, policyOfRule } from "./route-filters.ts";

function policyOf(rule: object): unknown {
  const { rules } = httpRoute({ name: "web" }, { rules: [rule] });
  return rules.map((one) => policyOfRule(one))[0];
}

describe("the filters of a backend", () => {
  const headersOf = (filters: readonly object[]): unknown => {
    const [rule] = httpRoute({ name: "web" }, { rules: [{ backendRefs: [{ filters }] }] }).rules;
    return headersOfBackend(rule?.backendRefs[0]?.filters ?? []);
  };

  it("are its changes of headers", () => {
    const set = [{ name: "X-A", value: "1" }];
    const filters = [
      { type: "RequestHeaderModifier", requestHeaderModifier: { set } },
      { type: "ResponseHeaderModifier", responseHeaderModifier: { remove: ["X-B"] } },
    ];
    expect(headersOf(filters)).toEqual({
      requestHeaders: { set, add: [], remove: [] },
      responseHeaders: { set: [], add: [], remove: ["X-B"] },
    });
  });

  it.each([
    [[{ type: "URLRewrite", urlRewrite: {} }], 'filter "URLRewrite" of a backend is not supported'],
    [
      [{ type: "RequestHeaderModifier", requestHeaderModifier: { remove: ["Host"] } }],
      "header Host is the proxy's own",
    ],
  ])("are refused with %j", (filters, message) => {
    expect(headersOf(filters)).toContain(message);
  });
});

describe("the filter CORS", () => {
  const policyOfCors = (cors: object) => policyOf({ filters: [{ type: "CORS", cors }] });

  it("allows nothing that it does not name", () => {
    expect(policyOfCors({})).toEqual({
      cors: {
        dialect: "gateway",
        allowOrigins: [],
        allowMethods: [],
        allowHeaders: [],
        exposeHeaders: [],
        allowCredentials: false,
        maxAgeSeconds: 5,
      },
    });
  });

  it("takes origins with a wildcard and a port", () => {
    const allowOrigins = ["https://*.shop.example:8443", "http://a.example", "https://*"];
    const cors = { allowOrigins, allowMethods: ["GET"], allowCredentials: true, maxAge: 60 };
    expect(policyOfCors(cors)).toMatchObject({
      cors: { allowOrigins, allowMethods: ["GET"], allowCredentials: true, maxAgeSeconds: 60 },
    });
  });

  it.each([
    [{ allowOrigins: ["https://a*b.example"] }, 'cors.allowOrigins: "https://a*b.example" is not'],
    [{ allowOrigins: ["ftp://a.example"] }, 'cors.allowOrigins: "ftp://a.example" is not'],
    [{ allowMethods: ["GET\r\nX: 1"] }, "cors.allowMethods: "],
    [{ allowHeaders: ["X Y"] }, "cors.allowHeaders: "],
    [{ exposeHeaders: Array.from({ length: 65 }, (_, at) => `X-${at}`) }, "too many items"],
    [{ maxAge: -1 }, "cors.maxAge is negative"],
  ])("refuses the rule with %j", (cors, message) => {
    expect(policyOfCors(cors)).toContain(message);
  });
});
