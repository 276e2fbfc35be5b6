// Classifies requests before they are served, by flow and by priority level. These are the objects
// a real server starts with; here they are fixed and cannot be read or changed through the API.
import type { Attributes } from "../access/attributes.ts";
import {
  allServiceAccountsGroup,
  authenticatedGroup,
  mastersGroup,
  serviceAccountOf,
  type User,
  unauthenticatedGroup,
} from "../http/authentication.ts";

export interface PriorityLevel {
  readonly name: string;
  /** Of all seats, in proportion to the shares of the others. Exempt when undefined. */
  readonly shares: number | undefined;
  /** How many requests may wait; none when undefined. */
  readonly queuing: { readonly queues: number; readonly handSize: number } | undefined;
}

export interface FlowSchema {
  readonly name: string;
  readonly level: PriorityLevel;
  /** The attribute that separates its flows. */
  readonly distinguishes: "user" | "namespace" | undefined;
  readonly matches: (user: User, attributes: Attributes) => boolean;
}

/** Of one queue, as all the levels of apiserver's pkg/apis/flowcontrol/bootstrap have it. */
export const queueLengthLimit = 50;

const level = (
  name: string,
  shares: number | undefined,
  queues = 0,
  handSize = 6,
): PriorityLevel => ({
  name,
  shares,
  queuing: queues === 0 ? undefined : { queues, handSize },
});

const exempt = level("exempt", undefined);
const catchAll = level("catch-all", 5);
const globalDefault = level("global-default", 20, 128);
const leaderElection = level("leader-election", 10, 16, 4);
const nodeHigh = level("node-high", 40, 64);
const system = level("system", 30, 64);
const workloadHigh = level("workload-high", 40, 128);
const workloadLow = level("workload-low", 100, 128);

export const priorityLevels: readonly PriorityLevel[] = [
  exempt,
  catchAll,
  globalDefault,
  leaderElection,
  nodeHigh,
  system,
  workloadHigh,
  workloadLow,
];

const nodesGroup = "system:nodes";
const controllerManager = "system:kube-controller-manager";
const scheduler = "system:kube-scheduler";
const probes: ReadonlySet<string> = new Set(["/healthz", "/livez", "/readyz"]);

/** In the order in which they are tried. */
export const flowSchemas: readonly FlowSchema[] = [
  {
    name: "exempt",
    level: exempt,
    distinguishes: undefined,
    matches: ({ groups }) => groups.includes(mastersGroup),
  },
  {
    name: "probes",
    level: exempt,
    distinguishes: undefined,
    matches: (_, asked) => asked.type === "path" && asked.verb === "get" && probes.has(asked.path),
  },
  {
    name: "system-leader-election",
    level: leaderElection,
    distinguishes: "user",
    matches: (user, asked) =>
      (user.name === controllerManager || user.name === scheduler || isOfKubeSystem(user)) &&
      isLease(asked) &&
      ["get", "create", "update"].includes(asked.verb),
  },
  {
    name: "system-node-high",
    level: nodeHigh,
    distinguishes: "user",
    matches: ({ groups }, asked) =>
      groups.includes(nodesGroup) && (isLease(asked) || isOfNode(asked)),
  },
  {
    name: "system-nodes",
    level: system,
    distinguishes: "user",
    matches: ({ groups }) => groups.includes(nodesGroup),
  },
  {
    name: "kube-controller-manager",
    level: workloadHigh,
    distinguishes: "namespace",
    matches: ({ name }) => name === controllerManager,
  },
  {
    name: "kube-scheduler",
    level: workloadHigh,
    distinguishes: "namespace",
    matches: ({ name }) => name === scheduler,
  },
  {
    name: "kube-system-service-accounts",
    level: workloadHigh,
    distinguishes: "namespace",
    matches: isOfKubeSystem,
  },
  {
    name: "service-accounts",
    level: workloadLow,
    distinguishes: "user",
    matches: ({ groups }) => groups.includes(allServiceAccountsGroup),
  },
  {
    name: "global-default",
    level: globalDefault,
    distinguishes: "user",
    matches: ({ groups }) =>
      groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup),
  },
];

/** For requests that match no other schema. */
export const catchAllSchema: FlowSchema = {
  name: "catch-all",
  level: catchAll,
  distinguishes: "user",
  matches: () => true,
};

function isOfKubeSystem({ name }: User): boolean {
  return serviceAccountOf(name)?.namespace === "kube-system";
}

function isLease(asked: Attributes): boolean {
  return (
    asked.type === "resource" &&
    asked.group === "coordination.k8s.io" &&
    asked.resource === "leases"
  );
}

function isOfNode(asked: Attributes): boolean {
  return asked.type === "resource" && asked.group === "" && asked.resource === "nodes";
}
