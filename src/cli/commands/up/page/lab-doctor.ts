// The doctor of the page in a demonstration: examines the clusters when a person asks, and shows what the
// story and a running incident have found beside that.
import type { Doctor, Finding } from "../../../../server/api.ts";
import type { LivePageDoctor } from "../../../../server/page-doctor.ts";
import type { PageDoctor } from "../../../../server/page-source.ts";

export class LabDoctor implements PageDoctor {
  readonly #live: () => LivePageDoctor | undefined;
  #found: Finding | undefined;

  /** The clusters can be examined once they have started. */
  constructor(live: () => LivePageDoctor | undefined) {
    this.#live = live;
  }

  readonly answer = (): Doctor => {
    const live = this.#live()?.answer() ?? notStarted;
    const found = this.#found;
    if (found === undefined || live.findings.some((one) => isSame(one, found))) return live;
    const ruledOut = live.ruledOut.filter((text) => !text.startsWith(`${found.rule}:`));
    const detail = live.examinedAt === null && live.state === "idle" ? foundByStory : live.detail;
    return { ...live, detail, ruledOut, findings: [found, ...live.findings] };
  };

  readonly examine = (): void => this.#live()?.examine();

  /** Undefined: the cause was fixed. */
  set found(finding: Finding | undefined) {
    this.#found = finding;
  }
}

const foundByStory = "Found during the release. Examine now to look for all causes.";

function isSame(one: Finding, other: Finding): boolean {
  return one.rule === other.rule && one.cluster === other.cluster;
}

const notStarted: Doctor = {
  state: "idle",
  detail: "The clusters have not started yet.",
  examinedAt: null,
  findings: [],
  ruledOut: [],
  notExamined: [],
  markdown: "",
};
