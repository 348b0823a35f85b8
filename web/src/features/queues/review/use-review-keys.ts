import { useEffect, useEffectEvent, useRef } from "react";
import { useCommands } from "../../../components/keyboard/commands.ts";
import type { Command } from "../../../components/keyboard/commands.ts";
import { KeySequence, toStroke } from "../../../components/keyboard/shortcut.ts";
import { reviewKeys, toReviewAction } from "./review-keys.ts";
import type { PressedKey, ReviewAction } from "./review-keys.ts";

/**
 * These commands have no handler: they only appear in the list of keyboard shortcuts. {@link useReviewKeys} handles the
 * keys.
 */
const listedCommands: readonly Command[] = reviewKeys.map(({ keys, label }) => ({
  id: `review ${label}`,
  group: "This page",
  label,
  keys: keys.join(" "),
}));

/** Calls `onAction` for the keys of a review, wherever the focus is on the page. */
export function useReviewKeys(onAction: (action: ReviewAction) => void): void {
  useCommands(listedCommands);
  const runAction = useEffectEvent(onAction);
  /** A key that follows `g` opens another page, such as `g h` for Home, and must not change the review. */
  const keySequence = useRef(new KeySequence(["g"]));
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      // Ignore the key if a dialog is open or another listener has already handled the event.
      if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) {
        return;
      }
      const { key, ctrlKey, metaKey, altKey } = event;
      const target = toKeyTarget(event.composedPath()[0]);
      const stroke = toStroke(event);
      const isSingleKey =
        stroke === undefined || keySequence.current.press(stroke, event.timeStamp) === stroke;
      if (!isSingleKey && target === "page") {
        return;
      }
      const action = toReviewAction({ key, ctrlKey, metaKey, altKey, target });
      if (action !== undefined) {
        event.preventDefault();
        runAction(action);
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/** Classifies the element that has the focus, which may be inside the shadow root of a code editor. */
function toKeyTarget(target: EventTarget | undefined): PressedKey["target"] {
  if (target instanceof HTMLInputElement) {
    return target.type === "range" ? "slider" : "text";
  }
  const isText =
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLElement && target.isContentEditable);
  return isText ? "text" : "page";
}
