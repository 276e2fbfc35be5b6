// Before every test file: properties draw the same examples in every run, so that whether a change passes does
// not depend on chance. LOCKSTEP_SEED=7 draws others.
import fc from "fast-check";

fc.configureGlobal({ seed: Number(process.env["LOCKSTEP_SEED"] || 1) });
