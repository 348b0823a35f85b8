import { useEffect, useRef } from "react";
import type { RefObject } from "react";
import { pan, zoom } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";

export interface Zooming {
  readonly window: TimeWindow;
  readonly whole: TimeWindow;
  readonly onWindow: (window: TimeWindow) => void;
}

/** How much of the time that shows one notch of a wheel takes away, or moves by. */
const notch = 0.0015;

/**
 * The wheel with Ctrl zooms around the pointer, sideways or with Shift it moves in time; by itself it
 * scrolls. The bars' place is that of `.tree-bar`.
 */
export function useWheelZoom(scroller: RefObject<HTMLElement | null>, zooming: Zooming): void {
  const latest = useRef(zooming);
  useEffect(() => {
    latest.current = zooming;
  });
  useEffect(() => {
    const element = scroller.current;
    const onWheel = (event: WheelEvent): void => {
      const { window, whole, onWindow } = latest.current;
      const sideways = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey) {
        const place = element?.querySelector(".tree-bar")?.getBoundingClientRect();
        const around = place === undefined ? 0.5 : (event.clientX - place.left) / place.width;
        const factor = Math.exp(event.deltaY * notch);
        onWindow(zoom(window, { factor, around: Math.min(1, Math.max(0, around)), whole }));
      } else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
        onWindow(pan(window, sideways * notch, whole));
      } else {
        return;
      }
      event.preventDefault();
    };
    // Not React's: that listens passively, and the page would scroll or grow.
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [scroller]);
}
