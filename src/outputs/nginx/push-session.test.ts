import { expect, it } from "vitest";
import type { ServerExchange } from "../../environment/network.ts";
import { readBounded } from "../../kube/client/http-client-body.ts";
import { simulate } from "../../simulation/simulation.ts";
import { ControlClient } from "./control-client.ts";
import { ProxyState } from "./proxy-state.ts";
import { PushSession } from "./push-session.ts";

const socketPath = "/run/control.sock";
const pusher = { bootId: "boot", owner: "me", epoch: 1 };

interface Pushed {
  readonly session: PushSession;
  readonly state: ProxyState;
  readonly signal: AbortSignal;
  /** Names of the entries that were taken, by request. */
  readonly taken: string[];
  /** Names of those there was no room for. */
  readonly withoutRoom: string[];
  requests: number;
  /** Called with the names in each push, before it is answered. */
  onRequest: (names: readonly string[]) => void;
}

/** A control socket that has no room for entries of these names, and takes all others. */
function withoutRoomFor(names: RegExp, run: (pushed: Pushed) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("gateway");
    const taken: string[] = [];
    const withoutRoom: string[] = [];
    const session = new PushSession({
      client: new ControlClient({ ...host, socketPath }),
      pusher,
      onRefused: ({ name }) => expect.fail(name),
      onNoRoom: (entries) => withoutRoom.push(...entries.map(({ name }) => name)),
    });
    const { signal } = new AbortController();
    const pushed: Pushed = {
      session,
      state: new ProxyState(),
      signal,
      taken,
      withoutRoom,
      requests: 0,
      onRequest: () => undefined,
    };
    const answer = (exchange: ServerExchange, status: number, body: object): void => {
      exchange.respond(status).end(Buffer.from(JSON.stringify(body)));
    };
    const listener = await host.network.listen(
      { host: "", port: 0, socketPath },
      async (exchange) => {
        pushed.requests += 1;
        const text = (await readBounded(exchange.request.body, 1e6, "a push")).toString();
        if (text === "") return answer(exchange, 200, { generation: 1 });
        pushed.onRequest(namesIn(JSON.parse(text)));
        const told = Object.values<object>(JSON.parse(text)).flatMap((one) => Object.keys(one));
        if (told.some((name) => names.test(name))) {
          return answer(exchange, 507, { code: "NO_MEMORY", message: "full" });
        }
        taken.push(...told);
        answer(exchange, 200, {});
      },
    );
    await run(pushed);
    await listener.close();
  });
}

/** With the field each is in, and `null` behind those that are removed. */
function namesIn(body: Readonly<Record<string, object>>): readonly string[] {
  return Object.entries(body).flatMap(([field, entries]) =>
    Object.entries(entries).map(([name, value]) =>
      value === null ? `${field} ${name} null` : `${field} ${name}`,
    ),
  );
}

function tell(state: ProxyState, certificates: readonly string[]): void {
  const rule = { path: "/", type: "Prefix", service: "shop/web:80" } as const;
  const pem = { chain: "chain".repeat(1_000), key: "key" };
  const decision = {
    hosts: new Map([["web.example", [rule]]]),
    services: new Map([["shop/web:80", []]]),
    certificates: new Map(certificates.map((name) => [name, pem])),
    serverNames: new Map([["web.example", certificates[0] ?? ""]]),
  };
  state.apply(decision, { routes: true, services: new Map([["shop/web:80", 1]]) });
}

const many = Array.from({ length: 200 }, (_, index) => `shop/c${index}`);

it("loads everything else when there is no room for certificates, and does not ask for each", () =>
  withoutRoomFor(/shop\/c/, async (pushed) => {
    tell(pushed.state, many);
    const routed = await pushed.session.load(pushed.state, pushed.signal);
    expect(routed.map(({ name }) => name)).toEqual(["shop/web:80"]);
    expect(pushed.taken).toEqual(["shop/web:80", "web.example", "web.example"]);
    expect(pushed.withoutRoom).toEqual(many);
    expect(pushed.requests).toBeLessThan(15);
  }));

it("does not take routes away by a load that has no room for them", () =>
  withoutRoomFor(/web\.example/, async (pushed) => {
    tell(pushed.state, ["shop/c0"]);
    await expect(pushed.session.load(pushed.state, pushed.signal)).rejects.toMatchObject({
      code: "NO_MEMORY",
    });
    expect(pushed.state.hasUnpushed).toBe(true);
  }));

it("leaves out entries without room until they are pushed again", () =>
  withoutRoomFor(/shop\/(c1$|web)/, async (pushed) => {
    tell(pushed.state, ["shop/c0", "shop/c1"]);
    const routed: string[] = [];
    await pushed.session.change(pushed.state, pushed.signal, (entries) => {
      routed.push(...entries.map(({ name }) => name));
    });
    expect(routed).toEqual([]);
    expect(pushed.taken).toEqual(["shop/c0", "web.example", "web.example"]);
    expect(pushed.withoutRoom).toEqual(["shop/web:80", "shop/c1"]);
    expect(pushed.state.hasUnpushed).toBe(false);
    const left = [...pushed.state.present()].filter(({ name }) =>
      pushed.withoutRoom.includes(name),
    );
    tell(pushed.state, ["shop/c0"]);
    pushed.state.takeUnpushed();
    pushed.state.tellAgain(left);
    expect(pushed.state.takeUnpushed().map(({ name }) => name)).toEqual(["shop/web:80"]);
  }));

/** More than a part, and less than a push. */
const certificates = new Map(
  many.slice(0, 11).map((name) => [name, { chain: "chain".repeat(1_000), key: "key" }]),
);

interface Told {
  /** Of the only endpoint; undefined when there is neither the service nor its host. */
  readonly address: string | undefined;
  readonly version: number;
  readonly certificates?: typeof certificates;
}

function tellService(state: ProxyState, told: Told): void {
  const name = "shop/web:80";
  const rule = { path: "/", type: "Prefix", service: name } as const;
  const endpoint = { port: 80, cluster: "c", state: "active", reason: "ready" } as const;
  const { address, version, certificates: shown = new Map() } = told;
  state.apply(
    {
      hosts: new Map(address === undefined ? [] : [["web.example", [rule]]]),
      // One namespace has all of it, and so all the room of a push.
      owners: new Map([["web.example", { namespace: "shop", createdAtMs: 0 }]]),
      services: new Map(address === undefined ? [] : [[name, [{ ...endpoint, address }]]]),
      certificates: shown,
    },
    {
      routes: true,
      services: new Map([[name, version]]),
      routed: {
        hosts: new Set(["web.example"]),
        certificates: new Set(shown.keys()),
        serverNames: new Set(),
        users: new Set(),
        services: new Set([name]),
      },
    },
  );
}

/** Makes a push of several parts, and the change during the first; gives the parts. */
async function partsWith(pushed: Pushed, during: () => void): Promise<readonly Pushed["taken"][]> {
  const parts: string[][] = [];
  pushed.onRequest = (names) => {
    parts.push([...names]);
    if (parts.length === 1) during();
  };
  const routed: number[] = [];
  await pushed.session.change(pushed.state, pushed.signal, (entries) =>
    routed.push(...entries.map(({ version }) => version)),
  );
  expect(routed.at(-1)).toBe(9);
  return parts;
}

it("pushes a service that changes meanwhile before the next part", () =>
  withoutRoomFor(/^$/, async (pushed) => {
    const { state } = pushed;
    tellService(state, { address: "10.0.0.1", version: 1, certificates });
    const parts = await partsWith(pushed, () => {
      tellService(state, { address: "10.0.0.2", version: 9 });
    });
    expect(parts.length).toBe(3);
    expect(parts[0]).toContain("services shop/web:80");
    expect(parts[1]).toEqual(["services shop/web:80"]);
    expect(parts.at(-1)).toContain("hosts web.example");
    expect(state.hasUnpushed).toBe(false);
  }));

it("does not remove a service that came back while the removal waited", () =>
  withoutRoomFor(/^$/, async (pushed) => {
    const { state } = pushed;
    tellService(state, { address: "10.0.0.1", version: 1 });
    await pushed.session.change(state, pushed.signal, () => undefined);
    tellService(state, { address: undefined, version: 2, certificates });
    const parts = await partsWith(pushed, () => {
      tellService(state, { address: "10.0.0.2", version: 9 });
    });
    expect(parts.length).toBe(3);
    expect(parts[1]).toEqual(["services shop/web:80"]);
    expect(parts.slice(2).flat()).not.toContain("services shop/web:80");
    expect(parts.slice(2).flat()).not.toContain("services shop/web:80 null");
    expect(state.takeUnpushed().map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      "host web.example",
    ]);
  }));
