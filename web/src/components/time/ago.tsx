import { useEffect, useState } from "react";
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

/** The current time, updated every ten seconds. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
