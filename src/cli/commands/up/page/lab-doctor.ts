// The doctor of the page in a demonstration: examines the clusters when a person asks, and shows what the
// story and a running incident have found beside that.
import type { Finding as FoundFinding } from "../../../../doctor/finding.ts";
import { markdownLines } from "../../../../doctor/report/markdown.ts";
import type { Clock } from "../../../../environment/clock.ts";
import type { Doctor, Finding } from "../../../../server/api.ts";
import { type LivePageDoctor, pageFinding } from "../../../../server/page-doctor.ts";
import type { PageDoctor } from "../../../../server/page-source.ts";

export interface LabDoctorOptions {
  readonly clock: Clock;
  /** The cluster of the story and of incidents. */
  readonly cluster: string;
  /** The clusters can be examined once they have started. */
  readonly live: () => LivePageDoctor | undefined;
}

export class LabDoctor implements PageDoctor {
  readonly #options: LabDoctorOptions;
  #found: { readonly finding: Finding; readonly markdown: string } | undefined;
  /** The last rule that was found and fixed. */
  #fixed: string | undefined;

  constructor(options: LabDoctorOptions) {
    this.#options = options;
  }

  readonly answer = (): Doctor => {
    const live = this.#options.live()?.answer() ?? notStarted;
    const isUnasked = live.examinedAt === null && live.state === "idle";
    const found = this.#found;
    if (found === undefined) {
      return isUnasked && this.#fixed !== undefined
        ? { ...live, detail: fixedText(this.#fixed) }
        : live;
    }
    const { finding, markdown } = found;
    if (live.findings.some((one) => isSame(one, finding))) return live;
    return {
      ...live,
      detail: isUnasked ? foundByStory : live.detail,
      ruledOut: live.ruledOut.filter((text) => !text.startsWith(`${finding.rule}:`)),
      findings: [finding, ...live.findings],
      markdown: `${markdown}\n${live.markdown}`,
    };
  };

  readonly examine = (): void => this.#options.live()?.examine();

  /** With more evidence it is the same finding; undefined: its cause was fixed. */
  found(found: FoundFinding | undefined): void {
    const { clock, cluster } = this.#options;
    const before = this.#found?.finding;
    if (found === undefined) {
      this.#fixed = before?.rule ?? this.#fixed;
      this.#found = undefined;
      return;
    }
    const since = before?.rule === found.rule ? before.since : clock.wallMs();
    const lines = markdownLines({ findings: [found], open: [], unexamined: [] });
    const markdown = [`## ${cluster}`, "", ...lines].join("\n");
    this.#found = { finding: pageFinding(found, { cluster, since }), markdown };
  }
}

const foundByStory = "Found during the release. Examine now to look for all causes.";

function fixedText(rule: string): string {
  return `${rule} was found and fixed. The clusters were not examined since.`;
}

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
