import type { Locator, Page, Request } from "playwright-core";

/** What a task costs the person who does it. */
export interface TaskCost {
  readonly clicks: number;
  readonly keystrokes: number;
  /** The time during which at least one response of the server was awaited. */
  readonly waitedMs: number;
}

/** Requests that stay open, or that repeat by themselves: nobody waits for them. */
const backgroundPath = /^\/(?:ui\/)?(?:live|events)\b/;

/** A hand that uses a page as a person does, and counts what it does. Each task begins with {@link CountedHand.start}. */
export class CountedHand {
  readonly #page: Page;
  readonly #pending = new Map<Request, number>();
  #intervals: (readonly [from: number, to: number])[] = [];
  #clicks = 0;
  #keystrokes = 0;

  constructor(page: Page) {
    this.#page = page;
    page.on("request", (request) => {
      const isAwaited = request.resourceType() === "fetch" || request.resourceType() === "xhr";
      if (isAwaited && !backgroundPath.test(new URL(request.url()).pathname)) {
        this.#pending.set(request, Date.now());
      }
    });
    const end = (request: Request): void => {
      const from = this.#pending.get(request);
      this.#pending.delete(request);
      if (from !== undefined) {
        this.#intervals.push([from, Date.now()]);
      }
    };
    page.on("requestfinished", end);
    page.on("requestfailed", end);
  }

  /** Opens the page on which a task begins, and counts from zero. */
  async start(url: string): Promise<void> {
    await this.#page.goto(url);
    await this.#page.locator("main h1").first().waitFor();
    this.#intervals = [];
    [this.#clicks, this.#keystrokes] = [0, 0];
  }

  async click(target: Locator): Promise<void> {
    this.#clicks += 1;
    await target.click();
  }

  /** Chooses an option of a menu: one click opens the menu, another one chooses. */
  async choose(menu: Locator, option: string): Promise<void> {
    this.#clicks += 2;
    await menu.selectOption(option);
  }

  async press(...keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      this.#keystrokes += 1;
      await this.#page.keyboard.press(key);
    }
  }

  async type(text: string): Promise<void> {
    this.#keystrokes += text.length;
    await this.#page.keyboard.type(text);
  }

  readCost(): TaskCost {
    return {
      clicks: this.#clicks,
      keystrokes: this.#keystrokes,
      waitedMs: sumOverlapping(this.#intervals),
    };
  }
}

/** The length of the union of time intervals: requests that are sent together are waited for once. */
function sumOverlapping(intervals: readonly (readonly [number, number])[]): number {
  let [total, coveredTo] = [0, 0];
  for (const [from, to] of intervals.toSorted(([left], [right]) => left - right)) {
    total += Math.max(0, to - Math.max(from, coveredTo));
    coveredTo = Math.max(coveredTo, to);
  }
  return total;
}
