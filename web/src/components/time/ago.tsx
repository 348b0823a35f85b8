import { useEffect, useState } from "react";
import { formatAge, formatTime } from "./time.ts";

/** A moment, as how long ago it was; the moment itself shows under the pointer. */
export const Ago = ({ at }: { readonly at: number }) => {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={formatTime(at)}>
      {formatAge(now - at)}
    </time>
  );
};

/** The present, every ten seconds. */
function useNow(): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
