// Light or dark: as the system has it, or as the reader chose. The choice is kept in this browser.
import { useSyncExternalStore } from "react";

export type Theme = "light" | "dark";

const key = "lockstep-theme";
const listeners = new Set<() => void>();
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

function chosen(): Theme | undefined {
  try {
    const kept = window.localStorage.getItem(key);
    return kept === "light" || kept === "dark" ? kept : undefined;
  } catch {
    // A browser may refuse to keep anything.
    return undefined;
  }
}

let current: Theme = chosen() ?? (systemDark.matches ? "dark" : "light");

function apply(theme: Theme): void {
  current = theme;
  document.documentElement.dataset["theme"] = theme;
  for (const listener of listeners) listener();
}

export function startTheme(): void {
  apply(current);
  systemDark.addEventListener("change", ({ matches }) => {
    if (chosen() === undefined) apply(matches ? "dark" : "light");
  });
}

export function switchTheme(): void {
  const next = current === "dark" ? "light" : "dark";
  try {
    window.localStorage.setItem(key, next);
  } catch {
    // It holds until the page is closed.
  }
  apply(next);
}

function follow(changed: () => void): () => void {
  listeners.add(changed);
  return () => listeners.delete(changed);
}

export function useTheme(): Theme {
  return useSyncExternalStore(follow, () => current);
}
