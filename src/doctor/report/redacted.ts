// A diagnosis as it may be shown: texts of logs and objects can contain tokens, passwords and keys,
// and no output shows them. Applied to every text of every output form.
import type { Diagnosis } from "../diagnose.ts";
import type { EvidenceLine, Finding, Fix } from "../finding.ts";

const hidden = "(hidden)";

/** Forms of secrets, each with the part that stays. */
const secretForms: readonly (readonly [form: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/gs, hidden],
  // A JSON web token, as of a service account.
  [/\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g, hidden],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${hidden}`],
  // A bootstrap token.
  [/\b[a-z\d]{6}\.[a-z\d]{16}\b/g, hidden],
  [
    /((?:token|passw(?:or)?d|client[-_]secret|secret[-_](?:access[-_])?key|api[-_]?key)["']?\s*[=:]\s*["']?)[^\s"'&,;]+/gi,
    `$1${hidden}`,
  ],
  // A password in a URL.
  [/(\b[a-z][a-z\d+.-]*:\/\/[^\s:/@]+:)[^\s@/]+@/gi, `$1${hidden}@`],
];

export function withoutSecrets(text: string): string {
  return secretForms.reduce((clean, [form, kept]) => clean.replaceAll(form, kept), text);
}

/** Every text of it passed through the function. */
export function withTexts(
  { findings, open, unexamined }: Diagnosis,
  shown: (text: string) => string,
): Diagnosis {
  return {
    findings: findings.map((finding) => shownFinding(finding, shown)),
    open: open.map(({ rule, evidence, missing }) => ({
      rule,
      evidence: shownEvidence(evidence, shown),
      missing: missing.map(shown),
    })),
    // Its texts are our own.
    unexamined,
  };
}

function shownFinding(finding: Finding, shown: (text: string) => string): Finding {
  const { cause, evidence, fix, missing, consequences } = finding;
  return {
    ...finding,
    cause: shown(cause),
    evidence: shownEvidence(evidence, shown),
    fix: shownFix(fix, shown),
    missing: missing.map(shown),
    consequences: consequences.map((one) => shownFinding(one, shown)),
  };
}

function shownEvidence(
  evidence: readonly EvidenceLine[],
  shown: (text: string) => string,
): readonly EvidenceLine[] {
  return evidence.map(({ text, source }) => ({ text: shown(text), source: shown(source) }));
}

function shownFix(fix: Fix, shown: (text: string) => string): Fix {
  const { component, change, reason, effect, notPredicted } = fix;
  return {
    component: shown(component),
    change: shown(change),
    reason: shown(reason),
    ...(effect !== undefined && { effect: shown(effect) }),
    ...(notPredicted !== undefined && { notPredicted: shown(notPredicted) }),
  };
}
