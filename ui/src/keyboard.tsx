// Keys: 1–7 open a view, / goes to the search, j and k move between rows, t switches the theme, ? lists
// the keys. Keys typed into a field belong to the field.
import { useEffect, useRef } from "react";
import { go, routeHref, viewNames, viewTitles } from "./route.ts";
import { switchTheme } from "./theme.ts";

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const isSlider = target instanceof HTMLInputElement && target.type === "range";
  return !isSlider && target.matches("input, select, textarea");
}

function moveRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main [data-row]")];
  const place = rows.indexOf(document.activeElement as HTMLElement);
  const next = place === -1 ? (step === 1 ? 0 : rows.length - 1) : place + step;
  rows[Math.max(0, Math.min(rows.length - 1, next))]?.focus();
}

export function useKeyboard(onHelp: () => void): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "Escape") {
        if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
        return;
      }
      if (isTyping(event.target)) return;
      const view = viewNames[Number(event.key) - 1];
      if (view !== undefined) go(routeHref([view]));
      else if (event.key === "j") moveRow(1);
      else if (event.key === "k") moveRow(-1);
      else if (event.key === "t") switchTheme();
      else if (event.key === "?") onHelp();
      else if (event.key === "/") {
        const search = document.querySelector<HTMLElement>("[data-search]");
        if (search === null) go(routeHref(["services"]));
        else search.focus();
      } else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, [onHelp]);
}

export function KeyHelp({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="Keys">
      <h2>Keys</h2>
      <dl className="keys">
        {viewNames.map((name, place) => (
          <div key={name}>
            <dt>{place + 1}</dt>
            <dd>{viewTitles[name]}</dd>
          </div>
        ))}
        <div>
          <dt>/</dt>
          <dd>search</dd>
        </div>
        <div>
          <dt>j k</dt>
          <dd>next and previous row; Enter opens it</dd>
        </div>
        <div>
          <dt>t</dt>
          <dd>light or dark</dd>
        </div>
        <div>
          <dt>Esc</dt>
          <dd>leave a field or a row</dd>
        </div>
      </dl>
      <button type="button" className="button" onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}
