// A state without data: what is the case, and what to do next. Empty, loading, failed and refused look
// alike, so a reader knows where to look.
import type { ReactNode } from "react";

interface NoticeProps {
  readonly kind: "empty" | "loading" | "error" | "refused";
  readonly title: string;
  readonly children?: ReactNode;
  readonly onRetry?: (() => void) | undefined;
}

const glyphs = { empty: "○", loading: "…", error: "!", refused: "!" };

export function Notice({ kind, title, children, onRetry }: NoticeProps) {
  return (
    <div className={`notice notice-${kind}`} role={kind === "error" ? "alert" : "status"}>
      <span className="notice-glyph" aria-hidden="true">
        {glyphs[kind]}
      </span>
      <div>
        <strong>{title}</strong>
        {children !== undefined && <div className="dim">{children}</div>}
        {onRetry !== undefined && (
          <button type="button" className="small-button" onClick={onRetry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

/** What stands in a view until its answer is there, or instead of it. */
export function Waiting({
  what,
  error,
  onRetry,
}: {
  readonly what: string;
  readonly error: Error | undefined;
  readonly onRetry?: () => void;
}) {
  if (error === undefined) return <Notice kind="loading" title={`Reading ${what}`} />;
  return (
    <Notice kind="error" title={`Cannot read ${what}`} onRetry={onRetry}>
      {error.message}
    </Notice>
  );
}
