// What the rules of HTTPRoutes ask for besides a service, by real nginx.
import { beforeAll, describe, expect, it } from "vitest";
import { PolicyWorld, rule } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

describe.skipIf(withoutNginx !== false)("a rule", () => {
  const world = PolicyWorld.forFile();

  beforeAll(async () => {
    for (const name of ["main", "second", "third"]) await world().echo(name, "X-Own: echo\r\n");
  });

  it("changes headers for one of its services, besides those for all", async () => {
    const set = (value: string) => ({ set: [{ name: "X-Who", value }] });
    const add = (value: string) => ({ add: [{ name: "X-Own", value }] });
    await world().hosts({
      "shares.example": [
        rule("/", "main", {
          requestHeaders: { set: [{ name: "X-All", value: "yes" }] },
          responseHeaders: add("rule"),
          ownHeaders: { requestHeaders: set("main"), responseHeaders: add("main") },
          canaries: [
            // The same service twice, each with its own changes.
            { service: "second", weight: 1, weightTotal: 4, requestHeaders: set("a") },
            { service: "second", weight: 1, weightTotal: 3, responseHeaders: add("b") },
            { service: "third", weight: 1, weightTotal: 2 },
          ],
        }),
      ],
      "request.example": [rule("/", "main", { ownHeaders: { requestHeaders: set("main") } })],
      "moved.example": [
        rule("/", "main", { maxBodyBytes: 10, ownHeaders: { responseHeaders: add("main") } }),
      ],
    });
    const seen = async (host: string, asked: object = {}) => {
      const { headers, body } = await world().ask(host, "/", asked);
      const [service = ""] = body.split("\n");
      const own = ["x-all", "x-who"].map((name) => {
        return new RegExp(`^${name}: (.*)\r$`, "im").exec(body)?.[1] ?? "";
      });
      return [service, ...own, String(headers["x-own"])].join(" ");
    };
    const counts = new Map<string, number>();
    for (let count = 0; count < 40; count += 1) {
      const one = await seen("shares.example");
      counts.set(one, (counts.get(one) ?? 0) + 1);
    }
    expect(new Set(counts.keys())).toEqual(
      new Set([
        "main yes main echo,main,rule",
        "second yes a echo,rule",
        "second yes  echo,b,rule",
        "third yes  echo,rule",
      ]),
    );
    expect([...counts.values()].every((count) => Math.abs(count - 10) <= 4)).toBe(true);
    expect(await seen("request.example")).toBe("main  main echo");
    // Through the location in which a body is read, too.
    expect(await seen("moved.example")).toBe("main   echo,main");
    const chunked = { method: "POST", body: "x", chunked: true };
    expect(await seen("moved.example", chunked)).toBe("main   echo,main");
  });
});
