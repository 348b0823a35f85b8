import { useEffect, useRef } from "react";

/** Reads data once more when the experiments have ended: their last results may be newer than the last response. */
export function useRefreshAtEnd(isRunning: boolean, refetch: () => Promise<unknown>): void {
  const wasRunning = useRef(isRunning);
  useEffect(() => {
    if (wasRunning.current && !isRunning) {
      void refetch();
    }
    wasRunning.current = isRunning;
  }, [isRunning, refetch]);
}
