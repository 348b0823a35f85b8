import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";
import { getJson } from "../../api/http.ts";
import { onReach, readIsGone } from "../../api/connectivity.ts";

const askFirstMs = 300;
const askAgainMs = 2_000;

/** Says that the server is gone, asks for it, and has what failed loaded again when it is back. */
export const GoneBanner = () => {
  const isGone = useSyncExternalStore(onReach, readIsGone);
  const queryClient = useQueryClient();
  useEffect(() => {
    if (!isGone) {
      return undefined;
    }
    const ask = (): void => {
      // That it does not answer yet is known; that it does is noted where the answer comes in.
      getJson("/info").catch(() => undefined);
    };
    // It may have been one connection that broke.
    const soon = setTimeout(ask, askFirstMs);
    const timer = setInterval(ask, askAgainMs);
    return () => {
      clearTimeout(soon);
      clearInterval(timer);
      void queryClient.invalidateQueries();
    };
  }, [isGone, queryClient]);
  return (
    <output className="gone" hidden={!isGone}>
      {isGone && "The server does not answer. This page goes on by itself when it is back."}
    </output>
  );
};
