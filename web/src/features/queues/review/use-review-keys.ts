import { useEffect, useEffectEvent, useRef } from "react";
import { useActions } from "../../../components/keyboard/commands.ts";
import type { Command } from "../../../components/keyboard/commands.ts";
import { KeySequence, toStroke } from "../../../components/keyboard/shortcut.ts";
import { reviewKeys, toReviewAction } from "./review-keys.ts";
import type { PressedKey, ReviewAction } from "./review-keys.ts";

/** For the keyboard map only: this page handles its keys itself. */
const named: readonly Command[] = reviewKeys.map(({ keys, about }) => ({
  id: `review ${about}`,
  group: "This page",
  label: about,
  keys: keys.join(" "),
}));

/** Calls `onAction` for the keys of the review page, wherever on it the focus is. */
export function useReviewKeys(onAction: (action: ReviewAction) => void): void {
  useActions(named);
  const act = useEffectEvent(onAction);
  /** `g` begins a sequence that leads elsewhere: what follows it is none of these keys. */
  const strokes = useRef(new KeySequence(["g"]));
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      // A dialog handles its own keys, and another handler may have taken this one.
      if (event.defaultPrevented || document.querySelector("dialog[open]") !== null) {
        return;
      }
      const { key, ctrlKey, metaKey, altKey } = event;
      const into = intoOf(event.composedPath()[0]);
      const stroke = toStroke(event);
      const isAlone =
        stroke === undefined || strokes.current.press(stroke, event.timeStamp) === stroke;
      if (!isAlone && into === "page") {
        return;
      }
      const action = toReviewAction({ key, ctrlKey, metaKey, altKey, into });
      if (action !== undefined) {
        event.preventDefault();
        act(action);
      }
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/** The first of the path: an editor is behind the border of its shadow root. */
function intoOf(target: EventTarget | undefined): PressedKey["into"] {
  if (target instanceof HTMLInputElement) {
    return target.type === "range" ? "slider" : "text";
  }
  const isText =
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement ||
    (target instanceof HTMLElement && target.isContentEditable);
  return isText ? "text" : "page";
}
