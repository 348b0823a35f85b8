import { useRouter } from "@tanstack/react-router";
import { useCallback } from "react";
import type { MouseEvent } from "react";

/**
 * Returns a handler of clicks that opens links to pages of the UI without loading the UI again. It makes plain `<a>`
 * elements work like links of the router, each of which subscribes to the location and is too slow for a table with a
 * hundred links.
 */
export function useRouterLinks(): (event: MouseEvent) => void {
  const router = useRouter();
  return useCallback(
    (event) => {
      const { target, ctrlKey, metaKey, shiftKey, altKey, button } = event;
      const link = target instanceof Element ? target.closest("a") : null;
      if (link === null || ctrlKey || metaKey || shiftKey || altKey || button !== 0) {
        return;
      }
      event.preventDefault();
      router.history.push(link.getAttribute("href") ?? "/");
    },
    [router],
  );
}
