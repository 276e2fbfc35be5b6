import { expect, test } from "vitest";
import {
  at,
  type ChangeFields,
  change,
  run,
  uncoloured,
} from "../../../../tests/cli/watched-changes.ts";
import { changeColumns, changeLine, groupLine, headLine } from "./change-line.ts";

const context = { now: at(60_000), slowMs: 2_000, run, utc: true, paint: uncoloured };

const changes: readonly ChangeFields[] = [
  { hops: { pod: 0, published: 340, routed: [12, 14, 13] } },
  {
    direction: "join",
    cause: "ready",
    hops: { pod: 0, published: 31_240, routed: [31_300, 31_305] },
  },
  { hops: { pod: 0, published: 6_000, routed: [6_100, 6_300, 31_300], traffic: 6_200 } },
  { outcome: "pending", originMs: 58_700, hops: { pod: 0, published: "pending", routed: 12 } },
  { outcome: "pending", hops: { pod: 0, published: "stuck", routed: [4_100, "stuck"] } },
  { outcome: "superseded", hops: { pod: 0, published: "passed", routed: "unchanged" } },
  { outcome: "abandoned", hops: { pod: 0, published: "stuck", routed: 20 } },
  { cause: undefined, notBeforeMs: 2_000, hops: { published: 0 } },
];

function lines(width: number, clusters: readonly string[], fields = changes): readonly string[] {
  const columns = changeColumns({ width, hops: ["published", "routed"], clusters });
  const all = [
    headLine(columns, uncoloured),
    ...fields.map((one) => changeLine(change(one), columns, context)),
  ];
  expect(Math.max(...all.map(({ length }) => length))).toBeLessThanOrEqual(width);
  return all;
}

test("a change is a line: when, what, why, and its state at each hop", () => {
  expect(lines(80, ["alpha"])).toMatchInlineSnapshot(`
    [
      "time     endpoint         service              cause       published    routed",
      "20:31:07 −10.0.0.7        shop/web             terminating    340 ms     14 ms",
      "20:31:07 +10.0.0.7        shop/web             ready         ▲31.2 s   ▲31.3 s",
      "20:31:07 −10.0.0.7        shop/web             terminating      ▲6 s   ▲31.3 s",
      "20:31:58 −10.0.0.7        shop/web             terminating    1.3 s…     12 ms",
      "20:31:07 −10.0.0.7        shop/web             terminating    ✗53 s…    ✗53 s…",
      "20:31:07 −10.0.0.7        shop/web             superseded     passed      same",
      "20:31:07 −10.0.0.7        shop/web             given up        never     20 ms",
      "20:31:07 −10.0.0.7        shop/web             ?                  ≥0         ?",
    ]
  `);
});

test("with several clusters each line names its own", () => {
  expect(lines(80, ["alpha", "beta-2"])).toMatchInlineSnapshot(`
    [
      "time     cluster endpoint         service       cause       published    routed",
      "20:31:07 alpha   −10.0.0.7        shop/web      terminating    340 ms     14 ms",
      "20:31:07 alpha   +10.0.0.7        shop/web      ready         ▲31.2 s   ▲31.3 s",
      "20:31:07 alpha   −10.0.0.7        shop/web      terminating      ▲6 s   ▲31.3 s",
      "20:31:58 alpha   −10.0.0.7        shop/web      terminating    1.3 s…     12 ms",
      "20:31:07 alpha   −10.0.0.7        shop/web      terminating    ✗53 s…    ✗53 s…",
      "20:31:07 alpha   −10.0.0.7        shop/web      superseded     passed      same",
      "20:31:07 alpha   −10.0.0.7        shop/web      given up        never     20 ms",
      "20:31:07 alpha   −10.0.0.7        shop/web      ?                  ≥0         ?",
    ]
  `);
});

test("on a wide terminal each change is also a path on a logarithmic scale", () => {
  expect(lines(120, ["alpha"])).toMatchInlineSnapshot(`
    [
      "time     endpoint         service                cause           published    routed  1ms  10ms 0.1s 1s   10s 1m   10m",
      "20:31:07 −10.0.0.7        shop/web               terminating        340 ms     14 ms  o────r──────p",
      "20:31:07 +10.0.0.7        shop/web               ready             ▲31.2 s   ▲31.3 s  o─────────────────────pr",
      "20:31:07 −10.0.0.7        shop/web               terminating          ▲6 s   ▲31.3 s  o─────────────────prt─r",
      "20:31:58 −10.0.0.7        shop/web               terminating        1.3 s…     12 ms  o────r╌╌╌╌╌╌╌╌╌…",
      "20:31:07 −10.0.0.7        shop/web               terminating        ✗53 s…    ✗53 s…  o─────────────────r╌╌╌╌…",
      "20:31:07 −10.0.0.7        shop/web               superseded         passed      same  o",
      "20:31:07 −10.0.0.7        shop/web               given up            never     20 ms  o─────r",
      "20:31:07 −10.0.0.7        shop/web               ?                      ≥0         ?  p",
    ]
  `);
});

test("on a narrow one the cause goes, then letters of the name", () => {
  const long = { service: "checkout/payment-gateway-internal" };
  expect(lines(60, ["alpha"], [long])).toMatchInlineSnapshot(`
    [
      "time     endpoint         service  cause published    routed",
      "20:31:07 −10.0.0.7        payment… term…    340 ms         ?",
    ]
  `);
  expect(lines(50, ["alpha", "beta"], [long])).toMatchInlineSnapshot(`
    [
      "time     endpoint         ser… published    routed",
      "20:31:07 −10.0.0.7        pay…    340 ms         ?",
    ]
  `);
});

test("a long address takes from the service, and nothing that a terminal would obey passes", () => {
  const odd = [
    { address: "2001:db8:85a3::8a2e:370:7334" },
    { service: "shop/\u001b[31mweb", cluster: "東京", cause: "re\u0007ady" },
  ];
  expect(lines(80, ["東京", "alpha"], odd)).toMatchInlineSnapshot(`
    [
      "time     cluster endpoint         service       cause       published    routed",
      "20:31:07 alpha   −2001:db8:85a3::8a2e:370:7334  terminating    340 ms         ?",
      "20:31:07 東京    −10.0.0.7        \\u{1b}[31mweb re\\u{7}ady     340 ms         ?",
    ]
  `);
});

test("many that are alike are one line, with the longest lag of all at each hop", () => {
  const columns = changeColumns({ width: 80, hops: ["published", "routed"], clusters: ["alpha"] });
  const group = {
    cluster: "alpha",
    service: "shop/web",
    direction: "leave",
    cause: "terminating",
    count: 37,
    since: at(7_000),
    longestMs: new Map([["published", 3_400]] as const),
    atLeast: new Set<never>(),
  } as const;
  expect(groupLine(group, columns, context)).toMatchInlineSnapshot(
    `"20:31:07 −37 endpoints    shop/web             terminating   ▲≤3.4 s         ?"`,
  );
});

test("colours say what the signs say: amber for late, red for stuck", () => {
  const paint = {
    strong: (text: string) => text,
    lockstep: (text: string) => text,
    secondary: (text: string) => text,
    late: (text: string) => `<late ${text.trim()}>`,
    failed: (text: string) => `<failed ${text.trim()}>`,
  };
  const columns = changeColumns({ width: 80, hops: ["published", "routed"], clusters: ["alpha"] });
  const stuck = change({ outcome: "pending", hops: { published: "stuck", routed: 4_100 } });
  expect(changeLine(stuck, columns, { ...context, paint })).toMatchInlineSnapshot(
    `"20:31:07 −10.0.0.7        shop/web             terminating <failed ✗53 s…> <late ▲4.1 s>"`,
  );
});
