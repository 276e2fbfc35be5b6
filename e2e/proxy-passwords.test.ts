// Routes with a password, by real nginx: allowed users, the answers for others, and the request at
// the endpoint.
import { readdir, readFile } from "node:fs/promises";
import { getPriority } from "node:os";
import { beforeAll, describe, expect, it } from "vitest";
import type { Cors, RoutePolicy } from "../src/decide/route-policy.ts";
import type { UserList } from "../src/sources/checked-users.ts";
import { type Asked, headerOf, PolicyWorld, rule } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";
import { runLua } from "./run-lua.ts";

/** The password of all is `foo`; the name says what the digest is. */
const everyForm: UserList = [
  ["apr1", "$apr1$8e4ZP8Ux$AeUDO823aewZVmd9PNzy7."],
  ["sha1", "{SHA}C+7Hteo/D9vJXQ3UfzxbwnXaijM="],
  ["ssha", "{SSHA}MpJNrOjJiUIzqnSsZAtPVniXV49zYWx0"],
  ["plain", "{PLAIN}foo"],
  ["md5", "$1$abcdefgh$XxzGe9Muun7wTYbZO4sdr0"],
  ["bcrypt", "$2y$05$abcdefghijklmnopqrstuuz29TNT43FrbrkSgusq0SUVtGQkhH2mm"],
  [
    "sha512",
    "$6$abcdefgh$j0MVxgmPHdViHdU0fAVeXckk8X1/NT/aW8qH8f/E9EOXiODjOVOMxvfuGhvV3BoHalJReG2ivQ7nqTG.TS54n.",
  ],
  ["sha256", "$5$rounds=10000$abcdefgh$KfEXP.wsgEroRnKu4BQJuwAs5UuwOk4zLAIa2ujzX80"],
  ["des", "abQ9KY.KfrYrc"],
];

/** Of the same password; it takes some 20 ms to compute. */
const slow = "$2y$08$abcdefghijklmnopqrstuusZpDGvXc4Fos.doASQdsjHwGBCZfvvS";

const users = "shop/users file";
const basicAuth = { users, realm: "the shop" };

const cors: Cors = {
  allowOrigins: ["https://page.example"],
  allowMethods: ["GET"],
  allowHeaders: ["Authorization"],
  exposeHeaders: [],
  allowCredentials: true,
  maxAgeSeconds: 1,
};

function withPassword(name: string, password: string): Asked {
  const encoded = Buffer.from(`${name}:${password}`).toString("base64");
  return { headers: { authorization: `Basic ${encoded}` } };
}

/** By id of each thread of a process, how much it yields to others: 0 is usual, 19 the most. */
async function niceOfThreads(pid: number): Promise<Map<number, number>> {
  const threads = new Map<number, number>();
  for (const thread of await readdir(`/proc/${pid}/task`)) {
    const stat = await readFile(`/proc/${pid}/task/${thread}/stat`, "utf8");
    // The program's name, in parentheses, may have spaces in it; see proc(5) for the fields.
    const [, fields = ""] = /^.*\) (.*)$/s.exec(stat) ?? [];
    threads.set(Number(thread), Number(fields.split(" ")[16]));
  }
  return threads;
}

/** How often a right password is computed again after very many of another namespace. */
const remembering = `
  local computed = 0
  ngx.run_worker_thread = function(_, _, _, stored)
    computed = computed + 1
    return true, stored
  end
  local password = require("lockstep.password")
  password.is_right("quiet", "foo", "digest")
  for number = 1, 30000 do password.is_right("loud", tostring(number), "digest") end
  computed = 0
  password.is_right("quiet", "foo", "digest")
  cases = { computed = computed }
`;

describe.skipIf(withoutNginx !== false)("a route with a password", () => {
  const world = PolicyWorld.forFile();
  const push = (lists: Readonly<Record<string, UserList | null>>) =>
    world().change(JSON.stringify({ users: lists }));
  const statusOf = async (asked: Asked, host = "shop.example") =>
    (await world().ask(host, "/", asked)).status;

  beforeAll(async () => {
    await world().echo("web");
    await push({ [users]: everyForm });
    const host = (policy: RoutePolicy) => [rule("/", "web", { basicAuth, ...policy })];
    await world().hosts({
      "shop.example": host({}),
      "pages.example": host({ cors }),
      "sent.example": host({ redirect: { location: "https://other.example/", status: 302 } }),
      "lost.example": host({ basicAuth: { users: "shop/nobody file", realm: "x" } }),
    });
  });

  it("lets in who has the password, in every form that auth_basic knows, again and again", async () => {
    const found: Record<string, readonly number[]> = {};
    for (const [name] of everyForm) {
      const statuses: number[] = [];
      for (const password of ["foo", "foo", "fop", "foo"]) {
        statuses.push(await statusOf(withPassword(name, password)));
      }
      found[name] = statuses;
    }
    const expected = everyForm.map(([name]) => [name, [200, 200, 401, 200]]);
    expect(found).toEqual(Object.fromEntries(expected));
  });

  it("asks other clients for one, and names the realm", async () => {
    const encoded = Buffer.from("plain:foo").toString("base64");
    const others: readonly Asked[] = [
      {},
      withPassword("nobody", "foo"),
      withPassword("plain", ""),
      withPassword("plain", "foo\0x"),
      withPassword("", "foo"),
      { headers: { authorization: `Bearer ${encoded}` } },
      { headers: { authorization: "Basic" } },
      { headers: { authorization: "Basic %%%" } },
      { headers: { authorization: `Basic ${"A".repeat(8_000)}` } },
    ];
    for (const asked of others) {
      const { status, headers, body } = await world().ask("shop.example", "/", asked);
      expect([status, headers["www-authenticate"], body]).toEqual([
        401,
        'Basic realm="the shop", charset="UTF-8"',
        "A user name and a password are required.\n",
      ]);
    }
  });

  it("keeps the password from the endpoint", async () => {
    const answer = await world().ask("shop.example", "/", withPassword("plain", "foo"));
    expect([answer.status, headerOf(answer, "authorization")]).toEqual([200, undefined]);
  });

  it("answers the preflight of a page, which has no password, and lets the page read the 401", async () => {
    const origin = "https://page.example";
    const preflight = await world().ask("pages.example", "/", {
      method: "OPTIONS",
      headers: { origin },
    });
    const refused = await world().ask("pages.example", "/", { headers: { origin } });
    const allowed = "access-control-allow-origin";
    expect([preflight.status, preflight.headers[allowed]]).toEqual([204, origin]);
    expect([refused.status, refused.headers[allowed]]).toEqual([401, origin]);
    const { headers } = withPassword("plain", "foo");
    const served = await world().ask("pages.example", "/", { headers: { ...headers, origin } });
    expect([served.status, served.headers[allowed]]).toEqual([200, origin]);
  });

  it("hides its target from other clients", async () => {
    expect(await statusOf({}, "sent.example")).toBe(401);
    expect(await statusOf(withPassword("plain", "foo"), "sent.example")).toBe(302);
  });

  it("outlives a flood of wrong passwords", async () => {
    const list = "shop/slow file";
    await push({ [list]: [["ann", slow]] });
    const policy = { basicAuth: { users: list, realm: "x" } };
    await world().hosts({ "slow.example": [rule("/", "web", policy)] });
    const { workerPids } = await world().proxy.control().state();
    const flood = Array.from({ length: 100 }, (_, number) =>
      statusOf(withPassword("ann", `wrong ${number}`), "slow.example"),
    );
    const refused = new Set(await Promise.all(flood));
    // A request while too many wait gets a 503.
    refused.delete(503);
    expect([...refused]).toEqual([401]);
    expect(await statusOf(withPassword("ann", "foo"), "slow.example")).toBe(200);
    expect((await world().proxy.control().state()).workerPids).toEqual(workerPids);
  });

  it("leaves a namespace its sign-ins while another one's route is flooded", async () => {
    const names = Array.from({ length: 12 }, (_, number) => `user-${number}`);
    const quiet = names.map((name) => [name, `{PLAIN}${name}`] as const);
    await push({ "loud/users file": [["ann", slow]], "quiet/users file": quiet });
    const host = (list: string) => [rule("/", "web", { basicAuth: { users: list, realm: "x" } })];
    await world().hosts({
      "loud.example": host("loud/users file"),
      "quiet.example": host("quiet/users file"),
    });
    let isOver = false;
    let markFull: () => void = () => undefined;
    const full = new Promise<void>((resolve) => {
      markFull = resolve;
    });
    const flood = Array.from({ length: 60 }, async (_, number) => {
      for (let turn = 0; !isOver; turn += 1) {
        const wrong = withPassword("ann", `wrong ${number} ${turn}`);
        if ((await statusOf(wrong, "loud.example")) === 503) markFull();
      }
    });
    await full;
    const signIns = names.map((name) => statusOf(withPassword(name, name), "quiet.example"));
    const statuses = await Promise.all(signIns);
    isOver = true;
    await Promise.all(flood);
    expect(statuses).toEqual(names.map(() => 200));
  });

  it("remembers right passwords of a namespace, however many another one has", () => {
    expect(runLua("{}", remembering)).toEqual({ computed: 0 });
  });

  it("computes passwords behind everything else, and serves requests before it", async () => {
    await statusOf(withPassword("bcrypt", "not yet computed"));
    const { workerPids } = await world().proxy.control().state();
    for (const pid of workerPids) {
      const threads = await niceOfThreads(pid);
      expect(threads.get(pid)).toBe(getPriority());
      threads.delete(pid);
      expect([...threads.values()]).toEqual([19]);
    }
  });

  it("refuses all requests while its users are missing", async () => {
    expect(await statusOf(withPassword("plain", "foo"), "lost.example")).toBe(503);
  });

  it("goes by the users of the last push from the next request on", async () => {
    const list = "shop/turns file";
    await world().hosts({
      "turns.example": [rule("/", "web", { basicAuth: { users: list, realm: "x" } })],
    });
    const statuses: (readonly number[])[] = [];
    for (const turn of [
      [["ann", "{PLAIN}1"]],
      [["ann", "{PLAIN}2"]],
      [["bob", "{PLAIN}1"]],
      null,
    ]) {
      await world().change(JSON.stringify({ users: { [list]: turn } }));
      statuses.push([
        await statusOf(withPassword("ann", "1"), "turns.example"),
        await statusOf(withPassword("bob", "1"), "turns.example"),
      ]);
    }
    expect(statuses).toEqual([
      [200, 401],
      [401, 401],
      [401, 200],
      [503, 503],
    ]);
  });

  it("refuses lists of users that are malformed", async () => {
    const malformed = [
      '{"a":"b"}',
      '[["a"]]',
      '[["a","b","c"]]',
      "[[1,2]]",
      '[["a","b\\n"]]',
      '"a"',
    ];
    for (const value of malformed) {
      const body = `{"users":{"x":${value}}}`;
      await expect(world().change(body)).rejects.toMatchObject({ code: "MALFORMED" });
    }
  });
});
