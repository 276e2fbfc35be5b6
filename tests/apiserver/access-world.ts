// An API server that asks who may do what, and short ways to give rights.

import type { ApiServerOptions } from "../../src/apiserver/api-server.ts";
import { tokenKey } from "../../src/components/service-account-tokens.ts";
import { type ApiWorld, inApiWorld, type Reply } from "./api-world.ts";

export interface AccessWorld extends ApiWorld {
  /** As the user `other`, who has no rights of his own. */
  readonly asOther: ApiWorld["call"];
  /** Gives `other` rules in all namespaces, or in one. */
  readonly allow: (rules: readonly object[], namespace?: string) => Promise<void>;
}

export const rbac = "/apis/rbac.authorization.k8s.io/v1";

const tokens = new Map([
  ["admin-token", { name: "admin", groups: ["system:masters"] }],
  ["other-token", { name: "other", groups: [] }],
]);

const key = tokenKey("a secret of this world");

export async function inAccessWorld(
  run: (world: AccessWorld) => Promise<void>,
  options: Partial<ApiServerOptions> = {},
): Promise<void> {
  await inApiWorld(
    async (world) => {
      let given = 0;
      const call = async (path: string, body: object): Promise<Reply> => {
        const reply = await world.call("POST", path, body);
        if (reply.status !== 201) throw new Error(`${path}: ${reply.text}`);
        return reply;
      };
      await run({
        ...world,
        asOther: (method, path, body, options) =>
          world.call(method, path, body, { token: "other-token", ...options }),
        allow: async (rules, namespace) => {
          given += 1;
          const name = `given-${given}`;
          const where = namespace === undefined ? "" : `/namespaces/${namespace}`;
          const kind = namespace === undefined ? "ClusterRole" : "Role";
          const metadata = { name };
          await call(`${rbac}${where}/${kind.toLowerCase()}s`, { metadata, rules });
          await call(`${rbac}${where}/${kind.toLowerCase()}bindings`, {
            metadata,
            roleRef: { kind, name },
            subjects: [{ kind: "User", name: "other" }],
          });
        },
      });
    },
    {
      authentication: { tokens, tokenKey: key },
      authorization: "RBAC",
      flowControl: {},
      ...options,
    },
  );
}
