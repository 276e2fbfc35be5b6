// Before every test file: costly assertions are checked in unit tests too, not only in simulations.
import { startCostlyChecks } from "../src/environment/assert.ts";

startCostlyChecks(() => undefined);
