import { useSyncExternalStore } from "react";
import { formatAge, formatTime } from "./time.ts";

/** Shows how long ago a moment was, with the exact time as a tooltip. */
export const Ago = ({
  timeMs,
}: {
  /** Milliseconds since the Unix epoch. */
  readonly timeMs: number;
}) => {
  const now = useNow();
  return (
    <time dateTime={new Date(timeMs).toISOString()} title={formatTime(timeMs)}>
      {formatAge(now - timeMs)}
    </time>
  );
};

const tickMs = 10_000;
/** All ages on the page share one timer, so that a list with a hundred ages is rendered in one task. */
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;
let currentMs = 0;

/** The current time, updated every ten seconds. */
const useNow = (): number => useSyncExternalStore(subscribe, readNow);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => listeners.forEach((notify) => notify()), tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

/** Returns the same time for a second, because React renders again if two successive calls return different values. */
function readNow(): number {
  const nowMs = Date.now();
  if (Math.abs(nowMs - currentMs) >= 1_000) {
    currentMs = nowMs;
  }
  return currentMs;
}
