import { useEffect, useEffectEvent, useRef } from "react";
import { useActions } from "../../../components/keyboard/commands.ts";
import type { Command } from "../../../components/keyboard/commands.ts";
import { KeySequence, toStroke } from "../../../components/keyboard/shortcut.ts";
import { reviewKeys, toReviewAction } from "./review-keys.ts";
import type { PressedKey, ReviewAction } from "./review-keys.ts";

/** Only for the list of keyboard shortcuts: the hook below handles the keys itself. */
const listedCommands: readonly Command[] = reviewKeys.map(({ keys, about }) => ({
  id: `review ${about}`,
  group: "This page",
  label: about,
  keys: keys.join(" "),
}));

/** Calls `onAction` for the keys of a review, wherever the focus is on the page. */
export function useReviewKeys(onAction: (action: ReviewAction) => void): void {
  useActions(listedCommands);
  const runAction = useEffectEvent(onAction);
  /** `g` begins a sequence that navigates to another page: the key after it must not act on the review. */
  const keySequence = useRef(new KeySequence(["g"]));
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      // An open dialog handles all keys itself, and another handler may already have handled this one.
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

/** Classifies the first target of the composed path, which is inside the shadow root of a code editor. */
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
