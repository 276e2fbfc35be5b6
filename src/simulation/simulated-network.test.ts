// The simulated network does what the real one does: both run the same contract.
import { describe } from "vitest";
import { networkContract } from "../environment/network.contract.ts";
import { simulate } from "./simulation.ts";

describe("the simulated network", () => {
  networkContract((test) =>
    simulate({ seed: 1 }, (simulation) =>
      test({
        client: simulation.host("client"),
        server: simulation.host("server"),
        serverHost: "server",
      }),
    ),
  );
});
