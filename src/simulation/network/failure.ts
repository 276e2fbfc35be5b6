// The ways in which an exchange breaks on the simulated network, in words.
import { NetworkError } from "../../environment/network.ts";

export type BreakCode = "REFUSED" | "RESET" | "DEAD_PEER";

const explanations: Readonly<Record<BreakCode, string>> = {
  REFUSED: "connection refused",
  RESET: "the connection broke",
  DEAD_PEER: "the peer stopped acknowledging, or never answered",
};

export function networkFailure(code: BreakCode, peer: string): NetworkError {
  return new NetworkError(code, `${peer}: ${explanations[code]}`);
}
