// Copies a text and says so; where the browser refuses, the text is selected for the reader.
import { useEffect, useState } from "react";

export function CopyButton({
  text,
  label = "copy",
}: {
  readonly text: string;
  readonly label?: string;
}) {
  const [done, setDone] = useState<"copied" | "failed" | undefined>();
  useEffect(() => {
    if (done === undefined) return;
    const timer = setTimeout(() => setDone(undefined), 2_000);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = () => {
    writeText(text).then(
      () => setDone("copied"),
      () => setDone("failed"),
    );
  };
  const shown = done === "failed" ? "cannot copy: select the text" : (done ?? label);
  return (
    <button type="button" className="copy" onClick={copy} aria-live="polite">
      {shown}
    </button>
  );
}

/** The clipboard of a page exists only on loopback and over TLS; an old way works elsewhere. */
async function writeText(text: string): Promise<void> {
  if (window.isSecureContext) return await navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (!isCopied) throw new Error("the browser refused");
}

/** A command or a setting, ready to be copied. */
export function CopyBox({ text, note }: { readonly text: string; readonly note?: string | null }) {
  return (
    <div className="copy-box">
      <div className="copy-text">
        <code>{text}</code>
        {note ? <span className="dim"> {note}</span> : null}
      </div>
      <CopyButton text={text} />
    </div>
  );
}
