// The effect of a hostile tenant on the calm ones: the same steps of two runs of one seed,
// compared.
import type { Step, TenantRun } from "./tenant-world.ts";

/**
 * Messages of the simulated network take other milliseconds when there are more of them, and a retry
 * has its jitter: more than this is harm. A proxy that comes back is found by a retry that may be up to
 * three seconds away, in the one run as in the other.
 */
const slackMs = 1_000;
const slackOfKilledProxyMs = 4_000;

/** One line for each calm host that was wrong for longer beside the hostile tenant. */
export function differences(alone: TenantRun, beside: TenantRun): readonly string[] {
  return beside.steps.flatMap((step, index) => longerIn(alone.steps[index], step, index + 1));
}

function longerIn(alone: Step | undefined, beside: Step, number: number): readonly string[] {
  if (alone?.what !== beside.what) return [`step ${number} is another: ${beside.what}`];
  const mostMs = beside.what.startsWith("proxy is killed") ? slackOfKilledProxyMs : slackMs;
  return [...beside.wrongMs].flatMap(([host, wrongMs]) => {
    const usualMs = alone.wrongMs.get(host) ?? 0;
    if (wrongMs <= usualMs + mostMs) return [];
    const what = `${wrongMs} ms instead of ${usualMs} ms: ${beside.wrong.get(host)}`;
    return [`step ${number} (${beside.what}): ${host} was wrong for ${what}`];
  });
}
