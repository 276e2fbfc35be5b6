// The embedded server alone, without controllers, on a socket of its own: what the contract judges.
import { Registry } from "prom-client";
import { ApiServer } from "../../src/apiserver/api-server.ts";
import { MemoryStorage } from "../../src/apiserver/storage/memory-storage.ts";
import { tokenKey } from "../../src/components/service-account-tokens.ts";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import type { ContractServer } from "./run-case.ts";

export interface StartedServer extends ContractServer {
  readonly stop: () => Promise<void>;
}

/** The users that the real server's token file has too. */
const tokens = new Map([
  ["admin-token", { name: "admin", uid: "admin", groups: ["system:masters"] }],
  ["other-token", { name: "other", uid: "other", groups: ["testers"] }],
]);

export async function startEmbeddedServer(): Promise<StartedServer> {
  const environment = nodeEnvironment();
  const server = new ApiServer({
    ...environment,
    storage: new MemoryStorage({ clock: environment.clock }),
    name: "embedded",
    gitVersion: "v1.36.0",
    authentication: { tokens, tokenKey: tokenKey("contract") },
    authorization: "RBAC",
    flowControl: {},
    trackFieldsFrom: "creation",
    startsCaches: true,
    metrics: new Registry(),
  });
  const { port } = await server.start({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${port}`;
  return { environment, url, token: "admin-token", stop: () => server.stop() };
}
