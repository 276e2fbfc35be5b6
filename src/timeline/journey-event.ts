// Events of a journey while it happens, for listeners that show, count or keep it.
import type { HopTime, Journey } from "./journey.ts";

export type JourneyEvent =
  /** Sources disagree: the change is in flight since before it was found, and its start is unknown. */
  | { readonly type: "found"; readonly journey: Journey }
  /**
   * A witness shows the change; also the first one, which makes the origin. Of the requests to an
   * address that left, the last one, once it is known to be the last.
   */
  | { readonly type: "shown"; readonly journey: Journey; readonly hop: HopTime }
  | { readonly type: "stuck"; readonly journey: Journey; readonly hop: HopTime }
  /** Once for every journey: nothing more will be learnt of it. */
  | { readonly type: "over"; readonly journey: Journey };
