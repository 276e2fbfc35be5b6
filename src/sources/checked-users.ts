// The users of a password list, from the text of a secret. Passwords have the digest formats of
// nginx's auth_basic. Only formats whose check takes a bounded time are accepted, because other
// sign-ins wait meanwhile. Pure; computed once for each version of a secret.
import type { PasswordSecret } from "../kube/kinds/password-secret.ts";

/** `file` is an htpasswd file under the key `auth`; `map` has a user for every key. */
export type UserListForm = "file" | "map";

/** Each with the digest of the password. Never logged and never shown. */
export type UserList = readonly (readonly [name: string, digest: string])[];

export interface CheckedUsers {
  /** Never empty. */
  readonly users: UserList;
  /** Names of those whose password cannot be checked: they are left out. */
  readonly leftOut: readonly string[];
}

/** As many as fit into one push, several times over. */
export const maxUsers = 5_000;

/** A name is sent with every request. */
const maxNameLength = 256;

/** Takes a second; each step more takes twice as long. */
const maxBcryptCost = 14;

/** Takes some 300 ms; 5,000 are usual. */
const maxShaRounds = 1_000_000;

const known = new WeakMap<PasswordSecret, Map<UserListForm, CheckedUsers | string>>();

/** The users, or what is wrong, as the end of a sentence about the secret. */
export function checkedUsers(secret: PasswordSecret, form: UserListForm): CheckedUsers | string {
  const ofForm = known.get(secret) ?? new Map<UserListForm, CheckedUsers | string>();
  known.set(secret, ofForm);
  const found = ofForm.get(form) ?? check(secret, form);
  ofForm.set(form, found);
  return found;
}

function check({ texts }: PasswordSecret, form: UserListForm): CheckedUsers | string {
  const file = texts.get("auth");
  if (form === "file" && file === undefined) return "has no key auth";
  const entries = form === "map" ? [...texts] : entriesOf(file ?? "");
  if (entries.length > maxUsers) return `has more than ${maxUsers} users`;
  const users = new Map<string, string>();
  const leftOut: string[] = [];
  for (const [name, digest] of entries) {
    if (users.has(name)) continue;
    if (isName(name) && isCheckable(digest)) users.set(name, digest);
    else leftOut.push(name);
  }
  if (users.size > 0) return { users: [...users], leftOut };
  return entries.length === 0 ? "has no users" : "has no user whose password could be checked";
}

/** `name:digest`, and after another colon what is of no interest. */
function entriesOf(file: string): readonly (readonly [string, string])[] {
  const entries: (readonly [string, string])[] = [];
  for (const [line] of file.matchAll(/[^\r\n]+/g)) {
    if (line.startsWith("#")) continue;
    const [name = "", digest = ""] = line.split(":", 2);
    entries.push([name, digest]);
    // More than are taken: the rest makes no difference.
    if (entries.length > maxUsers) break;
  }
  return entries;
}

function isName(name: string): boolean {
  return name !== "" && name.length <= maxNameLength && !/[:\p{Cc}]/u.test(name);
}

function isCheckable(digest: string): boolean {
  const [, cost] = /^\$2[aby]\$(\d\d)\$[./0-9A-Za-z]{53}$/.exec(digest) ?? [];
  if (cost !== undefined) return Number(cost) >= 4 && Number(cost) <= maxBcryptCost;
  const sha = shaCrypt.exec(digest);
  if (sha !== null) return Number(sha[1] ?? 0) <= maxShaRounds;
  return quickForms.some((form) => form.test(digest));
}

const shaCrypt = /^\$[56]\$(?:rounds=(\d{4,9})\$)?[./0-9A-Za-z]{1,16}\$[./0-9A-Za-z]{43,86}$/;

const quickForms = [
  /^\$(?:apr1|1)\$[./0-9A-Za-z]{1,8}\$[./0-9A-Za-z]{22}$/,
  /^\{SHA\}[+/0-9A-Za-z]{27}=$/,
  /^\{SSHA\}[+/0-9A-Za-z]{28,128}={0,2}$/,
  /^\{PLAIN\}[\x20-\x7e]{1,256}$/,
  // The oldest, of which only eight characters of a password count.
  /^[./0-9A-Za-z]{13}$/,
];
