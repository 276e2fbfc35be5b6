// A finding of the doctor: the cause, how sure, since when, the evidence, and the fix to copy.
import type { Finding } from "../../../src/server/api.ts";
import { hopNames } from "../journey-path.ts";
import { CopyBox } from "./copy-button.tsx";
import { Since } from "./time.tsx";

const severityText = { info: "○ info", warning: "▲ warning", critical: "■ critical" };
const severityLevel = { info: "unknown", warning: "late", critical: "lost" };

type Core = Finding["consequences"][number];

export function FindingCard({
  finding,
  isMarked = false,
}: {
  readonly finding: Finding;
  readonly isMarked?: boolean;
}) {
  const { cluster, since, consequences } = finding;
  return (
    <article
      className={`panel finding ${finding.severity} ${isMarked ? "marked" : ""}`}
      data-rule={finding.rule}
    >
      <h3>{finding.cause}</h3>
      <p className="dim finding-facts">
        <span className={`badge ${severityLevel[finding.severity]}`}>
          {severityText[finding.severity]}
        </span>
        <span>{finding.confidence}</span>
        {finding.hop !== null && (
          <span>
            late hop: <strong>{hopNames[finding.hop]}</strong>
          </span>
        )}
        {cluster !== null && <span>cluster {cluster}</span>}
        <span>
          <Since at={since} word="found" />
        </span>
      </p>
      <FindingBody finding={finding} />
      {consequences.length > 0 && (
        <details>
          <summary>Follows from this ({consequences.length})</summary>
          {consequences.map((one) => (
            <div key={one.rule} className="consequence">
              <h4>{one.cause}</h4>
              <p className="dim">{one.confidence}</p>
              <FindingBody finding={one} />
            </div>
          ))}
        </details>
      )}
    </article>
  );
}

function FindingBody({ finding }: { readonly finding: Core }) {
  const { evidence, fix, missing, affected, rule } = finding;
  return (
    <>
      <h4>Evidence</h4>
      <ol className="evidence">
        {evidence.map(({ text, source }) => (
          <li key={`${source} ${text}`}>
            {text} <span className="dim source">{source}</span>
          </li>
        ))}
      </ol>
      <h4>Fix: {fix.component}</h4>
      <CopyBox text={fix.change} />
      <p className="dim">
        {fix.reason}
        {fix.effect !== null && <strong> Predicted: {fix.effect}</strong>}
      </p>
      <p className="dim">
        Affected: {affected} More: <code>lockstep doctor --explain {rule}</code>
      </p>
      {missing.length > 0 && (
        <>
          <h4>Would make it surer</h4>
          <ul className="evidence">
            {missing.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
