// Runs many cases against one server, a few at a time, each under a name of its own.
import type { ContractCase, Transcript } from "./contract-case.ts";
import { caseName } from "./contract-case.ts";
import { type ContractServer, runCase } from "./run-case.ts";

/** Enough to keep a server busy while some cases wait for their watches. */
const casesAtOnce = 6;

/** The server's answers, by the names of the cases and in their order. */
export async function runContract(
  server: ContractServer,
  cases: readonly ContractCase[],
): Promise<ReadonlyMap<string, Transcript>> {
  const results = new Map<string, Transcript>(cases.map((one) => [caseName(one), []]));
  const waiting = cases.entries();
  const work = async (): Promise<void> => {
    for (const [index, one] of waiting) {
      const name = `case-${String(index).padStart(4, "0")}`;
      results.set(caseName(one), await runNamed(server, one, name));
    }
  };
  await Promise.all(Array.from({ length: casesAtOnce }, work));
  if (results.size !== cases.length) throw new Error("two cases of the contract share a name");
  return results;
}

async function runNamed(
  server: ContractServer,
  contractCase: ContractCase,
  name: string,
): Promise<Transcript> {
  try {
    return await runCase(server, contractCase, name);
  } catch (error) {
    // A server that breaks the connection has answered too, in its way.
    const body = error instanceof Error ? error.name : String(error);
    return [{ request: "the case could not be finished", status: 0, headers: {}, body }];
  }
}
