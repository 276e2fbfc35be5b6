import { expect, it } from "vitest";
import { httpRoute } from "../../../../tests/gateway/gateway-objects.ts";
import { sessionOfRule } from "./route-session.ts";

function sessionOf(sessionPersistence: object): ReturnType<typeof sessionOfRule> | undefined {
  const [rule] = httpRoute({ name: "web" }, { rules: [{ sessionPersistence }] }).rules;
  return rule && sessionOfRule(rule, "infra/web 0");
}

const cookie = "a";
const mode = "persistent";
const ownCookie = expect.stringMatching(/^lockstep-[0-9a-f]{12}$/);

it.each([
  [{ sessionName: "a" }, { cookie, mode }, []],
  [{}, { cookie: ownCookie, mode }, []],
  [
    { sessionName: "a", cookieConfig: { lifetimeType: "Permanent" }, absoluteTimeout: "1h30m" },
    { cookie, mode, maxAgeSeconds: 5_400 },
    [],
  ],
  [
    { sessionName: "a", cookieConfig: { lifetimeType: "Permanent" }, absoluteTimeout: "500ms" },
    // With 0 a browser would delete it.
    { cookie, mode, maxAgeSeconds: 1 },
    [],
  ],
  [
    { sessionName: "a", absoluteTimeout: "1h", idleTimeout: "1m" },
    { cookie, mode },
    [
      "absoluteTimeout needs the lifetimeType Permanent and is ignored",
      "idleTimeout is not supported and ignored",
    ],
  ],
])("keeps sessions with %j", (session, affinity, ignored) => {
  const policy = { balance: { method: "round-robin", affinity } };
  expect(sessionOf(session)).toEqual({ policy, ignored });
});

it.each([
  [{ type: "Header", sessionName: "X-Shop" }, "X-Shop", []],
  [{ type: "Header" }, ownCookie, []],
  [
    { type: "Header", sessionName: "X-Shop", absoluteTimeout: "1h", idleTimeout: "1m" },
    "X-Shop",
    [
      "absoluteTimeout needs the type Cookie and is ignored",
      "idleTimeout is not supported and ignored",
    ],
  ],
])("keeps sessions by a header with %j", (session, sessionHeader, ignored) => {
  const policy = { balance: { method: "round-robin", sessionHeader } };
  expect(sessionOf(session)).toEqual({ policy, ignored });
});

it.each<[object, string]>([
  [{ type: "Magic" }, 'type "Magic" is not supported'],
  ...["Host", "X-Forwarded-For", "a_b", "a b"].map((sessionName): [object, string] => [
    { type: "Header", sessionName },
    `sessionName "${sessionName}" is not a header that clients can send`,
  ]),
  [{ sessionName: "a b" }, `sessionName "a b" is not a cookie's name`],
  [{ sessionName: "a;Path=/" }, `sessionName "a;Path=/" is not a cookie's name`],
  [
    { cookieConfig: { lifetimeType: "Permanent" }, absoluteTimeout: "soon" },
    'absoluteTimeout "soon" is not a duration',
  ],
])("keeps none with %j", (session, why) => {
  expect(sessionOf(session)).toEqual({ policy: {}, ignored: [`${why}, so there are no sessions`] });
});
