import { forEachSeed } from "../../src/simulation/seeds.ts";
import { prove } from "./proof.ts";

forEachSeed(
  "every change has one journey, with its time at every hop",
  { seeds: 6, regressions: [1_636, 92_005] },
  prove,
);
