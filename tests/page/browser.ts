// Debian's Chromium for the judges and the pictures of the page: without a network beyond this machine,
// with a fresh profile each time.
import type { ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";

export const chromiumPath = "/usr/bin/chromium";

/** Of a machine that does much else; less than the limit of a test, so that the failure names its wait. */
const patienceMs = 100_000;

export async function startBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: chromiumPath,
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export interface Screen {
  readonly theme: "light" | "dark";
  readonly width: number;
  readonly height: number;
}

export const desktop: Screen = { theme: "light", width: 1440, height: 900 };
export const phone: Screen = { theme: "light", width: 360, height: 740 };

export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of the console, of scripts and of the security policy; empty when all is well. */
  readonly problems: string[];
}

export async function openPage(browser: Browser, url: string, screen: Screen): Promise<OpenPage> {
  const { theme, width, height } = screen;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    serviceWorkers: "block",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(patienceMs);
  const problems: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin))
      problems.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  return { page, context, problems };
}

/** The address of the page that a command prints; what it prints afterwards is thrown away. */
export async function printedAddress({ stdout }: Pick<ChildProcess, "stdout">): Promise<string> {
  if (stdout === null) throw new Error("the command has no output");
  for await (const line of createInterface({ input: stdout })) {
    const address = /http:\/\/\S+/.exec(line)?.[0];
    if (address === undefined) continue;
    stdout.resume();
    return address;
  }
  throw new Error("the command ended without an address of the page");
}
