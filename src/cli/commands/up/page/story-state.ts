// The demonstration as the page shows it: the part that plays, its newest step, its time and the checks.
import type { Story } from "../../../../server/api.ts";
import type { Check } from "../checks.ts";
import type { Counters, StoryListener } from "../view.ts";

/** After the four parts. */
const overAct = 5;

export class StoryState implements StoryListener {
  #story: Story = {
    act: 1,
    title: "The demonstration starts",
    step: "",
    seconds: null,
    isSimulated: false,
    checks: [],
  };

  get story(): Story {
    return this.#story;
  }

  /** All four parts have played, and everything keeps running. */
  get isOver(): boolean {
    return this.#story.act === overAct;
  }

  act(number: number, title: string): void {
    const { checks } = this.#story;
    this.#story = { act: number, title, step: "", seconds: null, isSimulated: false, checks };
  }

  step(text: string): void {
    this.#story = { ...this.#story, step: text };
  }

  counters({ seconds, isVirtual, waiting }: Counters): void {
    const isSimulated = isVirtual === true;
    const rounded = Math.floor(seconds);
    const step = isSimulated ? waiting : this.#story.step;
    this.#story = { ...this.#story, step, seconds: rounded, isSimulated };
  }

  judged(checks: readonly Check[]): void {
    const shown = checks.map(({ text, goal, holds }) => ({ text, goal, holds }));
    this.#story = { ...this.#story, checks: shown };
  }

  over(): void {
    this.act(overAct, "Everything keeps running until lockstep up is stopped");
  }
}
