// The place of a table that may be wider than the screen: it scrolls by itself, also by keyboard.
import type { ReactNode } from "react";

export function WideTable({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys scroll it.
    <section className="scroll" aria-label={label} tabIndex={0}>
      {children}
    </section>
  );
}
