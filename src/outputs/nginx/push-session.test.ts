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
    const pushed = { session, state: new ProxyState(), signal, taken, withoutRoom, requests: 0 };
    const answer = (exchange: ServerExchange, status: number, body: object): void => {
      exchange.respond(status).end(Buffer.from(JSON.stringify(body)));
    };
    const listener = await host.network.listen(
      { host: "", port: 0, socketPath },
      async (exchange) => {
        pushed.requests += 1;
        const text = (await readBounded(exchange.request.body, 1e6, "a push")).toString();
        if (text === "") return answer(exchange, 200, { generation: 1 });
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
