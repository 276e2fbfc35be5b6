import { expect, test } from "vitest";
import type { Log } from "../../environment/log.ts";
import { StatusError } from "./client.ts";
import { MissingPermissions, missingPermission } from "./missing-permissions.ts";

const account = 'User "system:serviceaccount:lockstep:lockstep-ingress"';
const forbidden = (message: string) => new StatusError({ code: 403, reason: "Forbidden", message });

test.each([
  [
    `pods is forbidden: ${account} cannot list resource "pods" in API group "" at the cluster scope`,
    { verb: "list", resource: "pods", namespace: undefined },
  ],
  [
    `ingresses.networking.k8s.io "web" is forbidden: ${account} cannot patch resource ` +
      '"ingresses/status" in API group "networking.k8s.io" in the namespace "shop"',
    { verb: "patch", resource: "ingresses/status", namespace: "shop" },
  ],
  ['namespaces "shop" is forbidden: quota exceeded', undefined],
])("%s is understood", (message, expected) => {
  expect(missingPermission(message)).toEqual(expected);
});

test("each permission is reported once with its effect, that of a namespace before that of all", () => {
  const lines: unknown[] = [];
  const warn = (message: string, fields?: object) => void lines.push([message, fields]);
  const silent = () => undefined;
  const log: Log = { debug: silent, info: silent, error: silent, warn, child: () => log };
  const effects = { pods: "late", "namespaced list pods": "ghosts" };
  const missing = new MissingPermissions({ log, effects });
  const cannot = (where: string) => `cannot list resource "pods" in API group "" ${where}`;
  for (const where of [
    "at the cluster scope",
    'in the namespace "lockstep"',
    "at the cluster scope",
  ])
    missing.note("lab", forbidden(cannot(where)));
  missing.note(
    "lab",
    forbidden('cannot get resource "nodes" in API group "" at the cluster scope'),
  );
  expect(lines).toEqual([
    ["missing permission: list pods", { cluster: "lab", effect: "late" }],
    ["missing permission: list pods", { cluster: "lab", namespace: "lockstep", effect: "ghosts" }],
    ["missing permission: get nodes", { cluster: "lab", effect: "not known" }],
  ]);
});
