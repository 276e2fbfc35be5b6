// Lookups in the DNS, without keeping one of the process's few threads busy, so that an unanswered
// name costs only its own time. Names that the DNS lacks may be in the machine's hosts file. It is
// read here, because the system's own lookup would ask the DNS again, in one of those threads, for
// as long as the server of that name likes.
import type { RecordWithTtl } from "node:dns";
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import type { Names, ResolvedName } from "../names.ts";
import { NetworkError } from "../network.ts";
import { errorCode } from "./error-code.ts";

/** Of one question to one server; it is asked twice. */
const answerWithinMs = 2_000;
const tries = 2;

const hostsFile = "/etc/hosts";

/** There is no such name. */
const unknownCodes: ReadonlySet<string> = new Set(["ENOTFOUND", "ENODATA"]);

/** No server could be asked. */
const unaskedCode = "ECONNREFUSED";

export const nodeNames: Names = {
  resolve: async (name, signal) => {
    if (isIP(name) !== 0) return { addresses: [name], ttlMs: undefined };
    const resolver = new Resolver({ timeout: answerWithinMs, tries });
    const cancel = (): void => resolver.cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      signal.throwIfAborted();
      return await ask(resolver, name);
    } catch (error) {
      if (signal.aborted) {
        const options = { cause: signal.reason };
        throw new NetworkError("ABORTED", `the lookup of ${name} was cancelled`, options);
      }
      throw failure(name, error);
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  },
  ownAddresses: () =>
    Object.values(networkInterfaces())
      .flatMap((of) => of ?? [])
      .flatMap(({ address, internal }) => (internal ? [] : [address])),
};

/** IPv4 first; the other family where there is none of it. */
async function ask(resolver: Resolver, name: string): Promise<ResolvedName> {
  try {
    return answerOf(await resolver.resolve4(name, { ttl: true }));
  } catch (error) {
    if (!isUnknown(error) && errorCode(error) !== unaskedCode) throw error;
  }
  try {
    return answerOf(await resolver.resolve6(name, { ttl: true }));
  } catch (error) {
    if (!isUnknown(error) && errorCode(error) !== unaskedCode) throw error;
    const addresses = addressesIn(await readFile(hostsFile, "utf8").catch(() => ""), name);
    if (addresses.length === 0) throw error;
    return { addresses, ttlMs: undefined };
  }
}

/** Of a name in a hosts file: each line has an address and the names that it has. */
export function addressesIn(hosts: string, name: string): readonly string[] {
  const asked = name.toLowerCase().replace(/\.$/, "");
  return hosts.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const isOfName = names.some((one) => one.toLowerCase() === asked);
    return isOfName && isIP(address) !== 0 ? [address] : [];
  });
}

/** It is good for as long as all of its records are. */
function answerOf(records: readonly RecordWithTtl[]): ResolvedName {
  const ttlMs = Math.min(...records.map(({ ttl }) => ttl)) * 1_000;
  return { addresses: records.map(({ address }) => address), ttlMs };
}

function isUnknown(error: unknown): boolean {
  return unknownCodes.has(errorCode(error) ?? "");
}

function failure(name: string, error: unknown): NetworkError {
  const options = { cause: error };
  if (isUnknown(error)) return new NetworkError("UNKNOWN_HOST", `${name}: no such name`, options);
  const what = `${name}: the name could not be looked up (${errorCode(error) ?? "no reason given"})`;
  return new NetworkError("FAILED", what, options);
}
