import { useEffect, useRef } from "react";
import type { RefObject } from "react";
import { pan, zoom } from "./time-scale.ts";
import type { TimeWindow } from "./time-scale.ts";

/** The visible time window, the time range of the whole trace, and a callback that changes the window. */
export interface ZoomTarget {
  readonly window: TimeWindow;
  readonly fullRange: TimeWindow;
  readonly onWindow: (window: TimeWindow) => void;
}

/** The fraction of the visible time by which one pixel of wheel movement zooms or pans. */
const fractionPerPixel = 0.0015;

/**
 * Makes the mouse wheel zoom around the pointer while Ctrl or Cmd is pressed, and pan in time while Shift is pressed or
 * when the wheel scrolls horizontally. Otherwise the wheel scrolls the list. The time axis has the position and width
 * of the element `.tree-bar`.
 */
export function useWheelZoom(scroller: RefObject<HTMLElement | null>, target: ZoomTarget): void {
  const latestTarget = useRef(target);
  useEffect(() => {
    latestTarget.current = target;
  });
  useEffect(() => {
    const element = scroller.current;
    const onWheel = (event: WheelEvent): void => {
      const { window, fullRange, onWindow } = latestTarget.current;
      const horizontalDelta = event.shiftKey ? event.deltaY : event.deltaX;
      if (event.ctrlKey || event.metaKey) {
        const bounds = element?.querySelector(".tree-bar")?.getBoundingClientRect();
        const pointerPosition =
          bounds === undefined ? 0.5 : (event.clientX - bounds.left) / bounds.width;
        const factor = Math.exp(event.deltaY * fractionPerPixel);
        onWindow(
          zoom(window, { factor, around: Math.min(1, Math.max(0, pointerPosition)), fullRange }),
        );
      } else if (Math.abs(horizontalDelta) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
        onWindow(pan(window, horizontalDelta * fractionPerPixel, fullRange));
      } else {
        return;
      }
      event.preventDefault();
    };
    // React registers passive wheel listeners, which can't prevent the browser from scrolling or zooming the page.
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [scroller]);
}
