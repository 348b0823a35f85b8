import { useEffect } from "react";
import type { RefObject } from "react";

/** Elements of a row that handle clicks themselves. */
const controls = "a, button, input, label, select, summary";

/**
 * Makes a click anywhere in a row open the link of the row, and a middle click open it in a new tab. The link itself
 * does not cover the row: texts in the other cells could then be neither selected nor hovered.
 */
export function useRowClicks(scroller: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = scroller.current;
    const onClick = (event: MouseEvent): void => {
      const link = findRowLink(event);
      if (link === undefined || isSelectingText()) {
        return;
      }
      if (event.button === 1) {
        window.open(link.href, "_blank", "noopener");
      } else if (event.button === 0) {
        const { ctrlKey, metaKey, shiftKey } = event;
        // Focus the opened row: when the user comes back, the table focuses the row that had the focus.
        link.focus({ preventScroll: true });
        // The router handles this event like a click on the link. With a modifier key, the browser handles it.
        link.dispatchEvent(
          new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }),
        );
      }
    };
    element?.addEventListener("click", onClick);
    element?.addEventListener("auxclick", onClick);
    return () => {
      element?.removeEventListener("click", onClick);
      element?.removeEventListener("auxclick", onClick);
    };
  }, [scroller]);
}

function findRowLink({ target }: MouseEvent): HTMLAnchorElement | undefined {
  if (!(target instanceof Element) || target.closest(controls) !== null) {
    return undefined;
  }
  return target.closest("tr")?.querySelector<HTMLAnchorElement>("a[data-row-focus]") ?? undefined;
}

const isSelectingText = (): boolean => getSelection()?.isCollapsed === false;
