// Impersonation: a user with permission acts as another user, and then has the rights of that user.
// Each part of the other identity needs its own permission. Since 1.36 a permission limited to the
// actions of the request is enough; otherwise the general permission to impersonate is needed.
import type { Headers } from "../../environment/network.ts";
import { ApiError } from "../api-error.ts";
import {
  anonymousName,
  authenticatedGroup,
  serviceAccountGroups,
  serviceAccountOf,
  type User,
  unauthenticatedGroup,
} from "../http/authentication.ts";
import { authenticationGroup } from "../kinds/reviews.ts";
import type { Access, Attributes, ResourceAttributes } from "./attributes.ts";

/** One way to become the other: all of it has to be allowed. */
export interface ImpersonationWay {
  readonly user: User;
  readonly needs: readonly Access[];
}

export interface Impersonation {
  readonly requestor: User;
  readonly headers: Headers;
  /** The attributes of the request. */
  readonly attributes: Attributes;
  /** As servers have it since 1.36. */
  readonly isConstrained: boolean;
}

interface Wanted {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const extraPrefix = "impersonate-extra-";
const nodePrefix = "system:node:";
const nodesGroup = "system:nodes";

/** In the order in which they are tried; undefined if the headers name no user. */
export function impersonationWays(
  impersonation: Impersonation,
): readonly ImpersonationWay[] | undefined {
  const { requestor, headers, isConstrained } = impersonation;
  const wanted = readWanted(headers);
  if (wanted.name === "") {
    const isAsked = wanted.uid !== "" || wanted.groups.length > 0 || hasExtra(wanted);
    if (isAsked) throw withoutName(wanted, isConstrained);
    return undefined;
  }
  const legacy = {
    user: completed(wanted, wanted.groups),
    needs: needsOf(requestor, wanted, { verb: "impersonate", group: "" }),
  };
  const constrained = isConstrained ? constrainedWay(impersonation, wanted) : undefined;
  return constrained === undefined ? [legacy] : [constrained, legacy];
}

/** Undefined where it does not apply: nodes and accounts cannot get other groups. */
function constrainedWay(
  { requestor, attributes }: Impersonation,
  wanted: Wanted,
): ImpersonationWay | undefined {
  const isNode = wanted.name.startsWith(nodePrefix);
  const isOther = !isNode && serviceAccountOf(wanted.name) === undefined;
  const isPlain = wanted.uid === "" && wanted.groups.length === 0 && !hasExtra(wanted);
  if (!isOther && !isPlain) return undefined;
  const special = isNode ? "arbitrary-node" : "serviceaccount";
  const mode = isOther ? "user-info" : special;
  const verb = `impersonate:${mode}`;
  const on = { ...attributes, verb: `impersonate-on:${mode}:${attributes.verb}` };
  const needs = needsOf(requestor, wanted, { verb, group: authenticationGroup });
  return {
    user: completed(wanted, isNode ? [nodesGroup] : wanted.groups),
    needs: [{ user: requestor, attributes: on }, ...needs],
  };
}

function needsOf(
  requestor: User,
  { name, uid, groups, extra }: Wanted,
  { verb, group }: { readonly verb: string; readonly group: string },
): readonly Access[] {
  const asked = (
    part: Pick<ResourceAttributes, "resource" | "name"> & Partial<ResourceAttributes>,
  ) => {
    const none = { group, version: "v1", subresource: "", namespace: "" };
    return { type: "resource", verb, ...none, ...part } as const;
  };
  const identity = { group: authenticationGroup };
  const all: readonly ResourceAttributes[] = [
    asked(nameOf(name, group === authenticationGroup)),
    ...(uid === "" ? [] : [asked({ ...identity, resource: "uids", name: uid })]),
    ...groups.map((one) => asked({ resource: "groups", name: one })),
    ...Object.entries(extra).flatMap(([subresource, values]) =>
      values.map((value) =>
        asked({ ...identity, resource: "userextras", subresource, name: value }),
      ),
    ),
  ];
  return all.map((attributes) => ({ user: requestor, attributes }));
}

function nameOf(
  name: string,
  knowsNodes: boolean,
): { readonly resource: string; readonly name: string; readonly namespace?: string } {
  const account = serviceAccountOf(name);
  if (account !== undefined) return { resource: "serviceaccounts", ...account };
  if (knowsNodes && name.startsWith(nodePrefix)) {
    return { resource: "nodes", name: name.slice(nodePrefix.length) };
  }
  return { resource: "users", name };
}

/** Given groups count, plus the group for authenticated or unauthenticated users. */
function completed({ name, uid, extra }: Wanted, given: readonly string[]): User {
  const account = serviceAccountOf(name);
  const groups =
    given.length === 0 && account !== undefined ? serviceAccountGroups(account.namespace) : given;
  const isOut = name === anonymousName || groups.includes(unauthenticatedGroup);
  const own = isOut ? unauthenticatedGroup : authenticatedGroup;
  return {
    name,
    groups: groups.includes(own) ? groups : [...groups, own],
    ...(uid === "" ? {} : { uid }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

function readWanted(headers: Headers): Wanted {
  const extra: Record<string, readonly string[]> = {};
  for (const header of Object.keys(headers)) {
    if (!header.startsWith(extraPrefix)) continue;
    extra[unescaped(header.slice(extraPrefix.length))] = valuesOf(headers[header]);
  }
  return {
    name: headers["impersonate-user"] ?? "",
    uid: headers["impersonate-uid"] ?? "",
    groups: valuesOf(headers["impersonate-group"]),
    extra,
  };
}

function hasExtra({ extra }: Wanted): boolean {
  return Object.keys(extra).length > 0;
}

/** The real server prints the parsed value as Go writes it. */
function withoutName({ uid, groups, extra }: Wanted, isConstrained: boolean): ApiError {
  const version = `${authenticationGroup}/v1`;
  const list = groups.map((group) => JSON.stringify(group)).join(", ");
  const entries = Object.entries(extra);
  const printed = isConstrained
    ? `&user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, ` +
      `Groups:[]string${groups.length === 0 ? "(nil)" : `{${list}}`}, ` +
      `Extra:map[string][]string${entries.length === 0 ? "(nil)" : `{${goEntries(entries)}}`}}`
    : `[${[
        ...groups.map((group) => `{Group  ${group}    }`),
        ...entries.flatMap(([key, values]) =>
          values.map((value) => `{UserExtra  ${value}  ${version}  ${key}}`),
        ),
        ...(uid === "" ? [] : [`{UID  ${uid}  ${version}  }`]),
      ].join(" ")}]`;
  const what = isConstrained ? "a user name" : "a user";
  return new ApiError(400, "BadRequest", `requested ${printed} without impersonating ${what}`);
}

function goEntries(entries: readonly (readonly [string, readonly string[]])[]): string {
  return entries
    .map(([key, values]) => {
      const list = values.map((value) => JSON.stringify(value)).join(", ");
      return `${JSON.stringify(key)}:[]string{${list}}`;
    })
    .join(", ");
}

/** Keys have slashes, which headers cannot have. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Taken as it stands, as the real server does.
    return key;
  }
}

/** Repeated headers arrive joined. */
function valuesOf(header: string | undefined): readonly string[] {
  return header === undefined ? [] : header.split(", ").filter((value) => value !== "");
}
