import { useEffect, useEffectEvent } from "react";
import { acceptsText } from "./shortcut.ts";

/** Calls `onEscape` for the key Escape while the component is mounted, unless a field or an open dialog handles it. */
export function useEscape(onEscape: () => void): void {
  const close = useEffectEvent(onEscape);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isHandledElsewhere =
        event.defaultPrevented ||
        acceptsText(document.activeElement) ||
        document.querySelector("dialog[open], [role=menu]") !== null;
      if (event.key === "Escape" && !isHandledElsewhere) {
        close();
      }
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
