import { useLocation } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { RefObject } from "react";

/**
 * Puts the focus on the page when the address leads to another one, so that a screen reader and the
 * next Tab begin there. Not at the first page, and not while only what is selected changes.
 */
export function useFocusOnMove(): RefObject<HTMLElement | null> {
  const main = useRef<HTMLElement>(null);
  const { pathname } = useLocation();
  const last = useRef(pathname);
  useEffect(() => {
    if (last.current !== pathname) {
      last.current = pathname;
      main.current?.focus({ preventScroll: true });
      main.current?.scrollTo(0, 0);
    }
  }, [pathname]);
  return main;
}
