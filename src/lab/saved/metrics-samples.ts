// The metrics pages of one component over time, in the text format with the time of the scrape
// behind each sample. Bounded: when they grow too large every second one is let go, and from then on
// they are taken half as often, so that a run of any length is covered evenly.

export interface ScrapedPage {
  /** By the scraper's clock. */
  readonly atMs: number;
  readonly text: string;
}

/** A page of an API server has some 100 kB: some hundred of them. */
const keptMaxBytes = 32 * 1024 * 1024;

export class MetricsSamples {
  #pages: ScrapedPage[] = [];
  #bytes = 0;
  #every = 1;
  #offered = 0;

  /** Kept if it is one of those that are due. */
  offer(page: ScrapedPage): void {
    const isDue = this.#offered % this.#every === 0;
    this.#offered += 1;
    if (!isDue) return;
    this.#pages.push(page);
    this.#bytes += page.text.length;
    while (this.#bytes > keptMaxBytes && this.#pages.length > 1) this.#thinOut();
  }

  text(): string {
    return this.#pages.map(pageText).join("");
  }

  #thinOut(): void {
    this.#pages = this.#pages.filter((_, index) => index % 2 === 0);
    this.#bytes = this.#pages.reduce((sum, { text }) => sum + text.length, 0);
    this.#every *= 2;
  }
}

/** Help and type lines are the same on every page, and needed once. */
function pageText({ atMs, text }: ScrapedPage, index: number): string {
  const at = Math.floor(atMs);
  const lines = text.split("\n").flatMap((line) => {
    if (line === "") return [];
    if (line.startsWith("#")) return index === 0 ? [line] : [];
    return [`${line} ${at}`];
  });
  return `${lines.join("\n")}\n`;
}
