import { expect, test } from "vitest";
import type { ReportedEndpoint } from "../../../ingress/service-report.ts";
import { explanationText, reportLines } from "./questions.ts";

const plain = { colours: false, columns: 100 };
const clear = "\u001b[2J\u009b1m\u202e";

const endpoint: ReportedEndpoint = {
  address: "10.0.0.1",
  port: 80,
  cluster: "east",
  podName: `web${clear}`,
  state: "active",
  reason: "its pod is ready",
  rule: "join at once",
  pod: "ready",
  published: "absent",
};

test("a path or the name of a pod cannot command the terminal", () => {
  const port = { service: "shop/web:80", problems: [clear], endpoints: [endpoint] };
  const explained = explanationText(plain, "shop.example/x", {
    verdict: "no path matches",
    status: 404,
    host: "shop.example",
    rule: {
      path: `/${clear}`,
      type: "Prefix",
      service: "shop/web:80",
      when: {
        method: "POST",
        elements: [
          { name: "1", value: "shop.Cart" },
          { name: "2", pattern: "^(?:Get|List)$" },
        ],
        headers: [{ name: "v", value: clear }],
      },
    },
    origin: undefined,
    asks: [],
    services: [{ ...port, because: "the rule names it" }],
    near: [`Prefix /${clear}`],
    problems: [clear],
  });
  const listed = reportLines(plain, "shop/web", {
    kind: "known",
    ports: [{ ...port, routes: ["HTTPRoute shop/web"] }],
  });
  expect(listed[1]).toBe("  routed by HTTPRoute shop/web");
  for (const text of [explained, listed.join("\n")]) {
    expect(text.split("\n").filter((line) => /[\p{Cc}\p{Cf}]/u.test(line))).toEqual([]);
    expect(text).toContain("web\\u{1b}[2J\\u{9b}1m\\u{202e}");
  }
  expect(explained).toContain("Prefix /\\u{1b}[2J");
  expect(explained.replace(/\s+/g, " ")).toContain(
    "only if method POST, gRPC service is shop.Cart, gRPC method matches ^(?:Get|List)$, header v is \\u{1b}[2J",
  );
});
