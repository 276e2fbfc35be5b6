// A diagnosis as Markdown, for an incident channel.
import type { Diagnosis } from "../diagnose.ts";
import { explainCommand, type Finding, type Fix } from "../finding.ts";

/** The findings with their fixes, and what is missing to tell more. */
export function markdownLines({ findings, open, unexamined }: Diagnosis): readonly string[] {
  const parts = findings.flatMap((finding) => [
    `### ${finding.rule} — ${finding.severity}, ${finding.confidence}`,
    "",
    finding.cause,
    "",
    `Late hop: ${finding.hop ?? "none"}. Affected: ${finding.affected}`,
    "",
    ...finding.evidence.map(({ text, source }) => `- ${text} (\`${source}\`)`),
    ...finding.consequences.map(({ rule, cause }) => `- consequence: **${rule}**: ${cause}`),
    "",
    `Fix, on ${finding.fix.component}:`,
    "",
    "```",
    finding.fix.change,
    "```",
    "",
    finding.fix.reason,
    "",
    ...predictedLines(finding.fix),
    ...surerLines(finding),
    `More: [${finding.rule}](${finding.page}), \`${explainCommand(finding.rule)}\``,
    "",
  ]);
  const missing = open.map(({ rule, evidence, missing: texts }) => {
    const seen = evidence.map(({ text, source }) => `${text} (${source})`).join("; ");
    return `- ${rule}: ${seen}; missing ${texts.join("; ")}`;
  });
  const lacking = unexamined.map(({ rules, provide }) => `- ${provide}: ${rules.join(", ")}`);
  return [
    findings.length === 0 ? "Nothing found." : "",
    ...parts,
    ...(missing.length === 0 ? [] : ["Not enough evidence:", "", ...missing, ""]),
    ...(unexamined.length === 0 ? [] : ["Not examined, for lack of evidence:", "", ...lacking, ""]),
  ];
}

function surerLines({ confidence, missing }: Finding): readonly string[] {
  if (missing.length === 0 || confidence.startsWith("certain")) return [];
  return ["To be surer:", "", ...missing.map((text) => `- ${text}`), ""];
}

function predictedLines({ effect, notPredicted }: Fix): readonly string[] {
  if (effect !== undefined) return [`Predicted: ${effect}`, ""];
  return notPredicted === undefined ? [] : [`The effect was not simulated: ${notPredicted}`, ""];
}
