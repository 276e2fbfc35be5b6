import { expect, test } from "vitest";
import type { WallMs } from "../../../environment/clock.ts";
import type { ReportedEndpoint } from "../../../ingress/service-report.ts";
import type { ShadowSummary } from "../../../ingress/shadow-report.ts";
import { askedAddress } from "./questions.ts";
import { endpointLines, nothingSeenLines, shadowLines } from "./view.ts";

const plain = { colours: false, columns: 100 };

const web: ReportedEndpoint = {
  address: "10.0.0.1",
  port: 8080,
  cluster: "east",
  podName: "web-1",
  state: "active",
  reason: "its pod is ready",
  rule: "join at once",
  pod: "ready",
  published: "absent",
  use: { requests: 12, failures: 1, lastUsedMsAgo: 90_000 },
};

const strange: ReportedEndpoint = {
  address: "fd00::1",
  port: 80,
  cluster: "west",
  state: "out",
  reason: "its pod is terminating",
  rule: "leave at once",
  pod: "terminating",
  published: "ready",
  priority: 1,
  weight: 3,
};

test("the truth table has a row for each endpoint and its reason below", () => {
  const lines = endpointLines(plain, { service: "", problems: [], endpoints: [web] });
  expect(lines).toEqual([
    "  state     endpoint       pod    pod state  in slices  requests  failed",
    "  ● active  10.0.0.1:8080  web-1  ready      absent     12        1",
    "      its pod is ready (rule: join at once); last used 1 min 30 s ago",
  ]);
});

test("of several clusters it says which, and problems come first", () => {
  const problems = ["something is wrong"];
  expect(endpointLines(plain, { service: "", problems, endpoints: [web, strange] })).toEqual([
    "  ! something is wrong",
    "  state     endpoint       pod    pod state    in slices  requests  failed  cluster",
    "  ● active  10.0.0.1:8080  web-1  ready        absent     12        1       east",
    "      its pod is ready (rule: join at once); last used 1 min 30 s ago",
    "  ○ out     [fd00::1]:80   –      terminating  ready      –         –       west",
    "      its pod is terminating (rule: leave at once); priority 2; weight 3",
  ]);
});

test("in a narrow terminal what does not fit is in the sentence", () => {
  const narrow = { colours: false, columns: 60 };
  expect(endpointLines(narrow, { service: "", problems: [], endpoints: [web, strange] })).toEqual([
    "  state     endpoint       pod    pod state    in slices",
    "  ● active  10.0.0.1:8080  web-1  ready        absent",
    "      its pod is ready (rule: join at once); last used 1 min",
    "      30 s ago; 12 requests, 1 failed; in east",
    "  ○ out     [fd00::1]:80   –      terminating  ready",
    "      its pod is terminating (rule: leave at once); priority",
    "      2; weight 3; in west",
  ]);
});

test("rows that the slices would have decided otherwise are lit", () => {
  const lines = endpointLines(
    { colours: true, columns: 100 },
    { service: "", problems: [], endpoints: [web] },
  );
  expect(lines[1]?.startsWith("\u001b[33m")).toBe(true);
});

const usual = { host: "shop.example", path: "/", isSecure: false, isCall: false, port: "" };

test.each([
  ["shop.example", usual],
  ["SHOP.example:8080/a//b?c=d://e", { ...usual, path: "/a/b", port: "8080" }],
  ["https://shop.example/a%20b/../c", { ...usual, path: "/c", isSecure: true }],
  ["shop.example/%C3%A9", { ...usual, path: "/é" }],
  ["shop.example/%ff", { ...usual, path: "/%ff" }],
  [
    "grpc://shop.example:81/shop.Cart/Add",
    { ...usual, path: "/shop.Cart/Add", isCall: true, port: "81" },
  ],
  [
    "GRPCS://Shop.example/shop.Cart/Add",
    { ...usual, path: "/shop.Cart/Add", isCall: true, isSecure: true },
  ],
])("%s is asked about as nginx would see it", (text, asked) => {
  expect(askedAddress(text)).toEqual(asked);
});

test.each([
  ["http://", "give a host and a path, such as shop.example/cart"],
  ["grpcs://shop.example", "is not a call: give grpcs://HOST/SERVICE/METHOD"],
  ["grpc://shop.example/a/b/c", "is not a call: give grpc://HOST/SERVICE/METHOD"],
  ["ws://shop.example/", "use http://, https://, grpc:// or grpcs://, not ws://"],
])("%s is refused with what to give", (text, message) => {
  expect(() => askedAddress(text)).toThrow(message);
});

const none = { pods: 0, standing: 0, late: 0, longestMs: 0, totalMs: 0 };

test("a shadow that saw nothing says so", () => {
  const summary: ShadowSummary = {
    forMs: 61_000,
    left: none,
    joined: none,
    probes: undefined,
    longest: [],
  };
  expect(shadowLines(plain, summary)).toEqual([
    "Compared for 1 min 1 s: the slices were never behind the pods for more than 1 s\n",
    "  removed pods still in slices    0\n",
    "  ready pods not yet in slices    0\n",
  ]);
});

test("a shadow that saw endpoints listed late says so, though none stayed listed", () => {
  const joined = { pods: 3, standing: 1, late: 1, longestMs: 30_000, totalMs: 30_500 };
  const summary: ShadowSummary = {
    forMs: 61_000,
    left: none,
    joined,
    probes: undefined,
    longest: [],
  };
  expect(shadowLines(plain, summary)[0]).toBe(
    "Compared for 1 min 1 s: 1 ready pod could have served up to 30 s sooner\n",
  );
});

test("a shadow that had nothing to look at says why, not that there was no lag", () => {
  const notes = ["services of east were never listed (forbidden)"];
  const readiness = { problem: "the clusters have not been listed yet", notes };
  expect(nothingSeenLines({ columns: 60 }, readiness).join("")).toBe(`\
No result: the clusters have not been listed yet.
  · services of east were never listed (forbidden)
`);
});

const farBehind: ShadowSummary = {
  forMs: 3_600_000,
  left: { pods: 10, standing: 1, late: 4, longestMs: 645_000, totalMs: 700_000 },
  joined: { pods: 2, standing: 0, late: 0, longestMs: 300, totalMs: 500 },
  probes: { leftSilent: 4, leftAnswered: 1, joinedAnswered: 2, joinedSilent: 0, notAsked: 3 },
  longest: [
    { service: "d/web:80", endpoint: strange, sinceWallMs: 0 as WallMs, lastedMs: 645_000 },
  ],
};

test("a shadow that saw slices far behind gives verdict, counts and the worst", () => {
  expect(shadowLines(plain, farBehind).join("")).toMatchInlineSnapshot(`
    "Compared for 1 h: 4 removed pods stayed in the slices for up to 10 min 45 s
      removed pods still in slices    10
        longer than 1 s               4
        longest                       10 min 45 s
        total                         11 min 40 s
        still listed now              1
      ready pods not yet in slices    2
        longer than 1 s               0
        longest                       300 ms
        total                         500 ms
        still missing now             0
      probed removed endpoints        4 did not answer, 1 answered
      probed ready endpoints          2 answered, 0 did not answer
      not probed, too many at once    3
      longest cases:
         10 min 45 s  still listed: [fd00::1]:80 of d/web:80, its pod is terminating
    "
  `);
});

test("on a narrow terminal a shadow's counts stand below their labels", () => {
  const narrow = shadowLines({ colours: false, columns: 40 }, farBehind);
  expect(narrow.join("")).toMatchInlineSnapshot(`
    "Compared for 1 h: 4 removed pods stayed
    in the slices for up to 10 min 45 s
      removed pods still in slices    10
        longer than 1 s               4
        longest
          10 min 45 s
        total
          11 min 40 s
        still listed now              1
      ready pods not yet in slices    2
        longer than 1 s               0
        longest                       300 ms
        total                         500 ms
        still missing now             0
      probed removed endpoints
          4 did not answer, 1 answered
      probed ready endpoints
          2 answered, 0 did not answer
      not probed, too many at once    3
      longest cases:
         10 min 45 s  still listed:
                      [fd00::1]:80 of
                      d/web:80, its pod is
                      terminating
    "
  `);
});
