// The proxy's state of one host, compared with the expected one.
import { findRule } from "../../src/outputs/nginx/route-match.ts";
import type { TwinState } from "../../src/outputs/nginx/twin-control.ts";
import type { Expected } from "./calm-tenant.ts";

/** The difference, in a few words; undefined if there is none. */
export function wrongOf(expected: Expected, proxy: TwinState | undefined): string | undefined {
  const { host, addresses, certificate, users } = expected;
  if (proxy === undefined) return "nothing is loaded";
  const rule = findRule((name) => proxy.host(name), host, "/")?.rule;
  if (rule === undefined) return "no route";
  const seen = [...(proxy.services.get(rule.service)?.entry.addresses ?? [])].sort();
  if (seen.join() !== addresses.join()) return `endpoints [${seen}] instead of [${addresses}]`;
  const list = rule.policy?.basicAuth?.users;
  const known = list === undefined ? undefined : JSON.stringify(proxy.users.get(list) ?? []);
  if (users === undefined ? known !== undefined : known?.includes(`"${users}"`) !== true) {
    return `users ${known} instead of ${users}`;
  }
  const shown = proxy.certificates.get(String(proxy.serverNames.get(host)));
  const chain = shown === undefined ? undefined : JSON.stringify(shown);
  const wanted = certificate === undefined ? undefined : JSON.stringify(certificate).slice(1, -1);
  const isRight = wanted === undefined ? chain === undefined : chain?.includes(wanted) === true;
  return isRight ? undefined : `certificate ${chain === undefined ? "missing" : "of another"}`;
}
