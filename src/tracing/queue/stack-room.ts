/**
 * What found no room on the call stack, and was not recorded. Counted by plain additions: where the stack
 * is exhausted no call can be made. One of the process's clients takes it over when it counts next.
 */
export const uncounted = {
  /** Starts and ends of runs. */
  records: 0,
  /** What was to be added to a run, or done around one. */
  details: 0,
};

/** About 24 KiB of stack, which is more than any of our own paths takes. */
const levelsNeeded = 300;
/** About 100 KiB: what sends a tape may be called for the first time, and is then compiled where it is called. */
const levelsToSend = 1_200;

/**
 * Called before a state of several steps is changed: broken off in the middle it would be unsound.
 *
 * @throws RangeError there is too little stack left.
 */
export function assertStackRoom(): void {
  descend(levelsNeeded, 0);
}

/** Whether a tape can be sent from here; else from a turn of its own. */
export function hasRoomToSend(): boolean {
  try {
    return descend(levelsToSend, 0) > 0;
  } catch {
    return false;
  }
}

const descend = (levels: number, depth: number): number =>
  levels === 0 ? depth : 1 + descend(levels - 1, depth + 1);

interface Sparing<Target> {
  readonly methods: readonly (keyof Target)[];
  /** What each of them misses where it finds no room. */
  readonly what: keyof typeof uncounted;
  /** What they answer then. */
  readonly noop?: unknown;
}

/** Has methods, which throw nothing else, count instead of throw where the stack is exhausted. */
export function spare<Target extends object>(
  prototype: Target,
  { methods, what, noop }: Sparing<Target>,
): void {
  for (const name of methods) {
    const method = Reflect.get(prototype, name) as (...args: unknown[]) => unknown;
    const spared = function spared(this: unknown, ...args: unknown[]): unknown {
      try {
        return method.apply(this, args);
      } catch {
        // Counted, and said with the client's next count.
        uncounted[what] += 1;
        return noop;
      }
    };
    Object.defineProperty(spared, "name", { value: name });
    Object.defineProperty(prototype, name, { value: spared, writable: true, configurable: true });
  }
}
