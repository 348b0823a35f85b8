import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from "react";
import { Strokes, takesText, toStroke } from "../../components/keyboard/shortcut.ts";
import { onActions, readActions } from "../../components/keyboard/actions.ts";
import { KeyMap } from "./shortcut-list.tsx";
import { Palette } from "./palette.tsx";
import { paletteKeys } from "./palette-keys.ts";
import { useScreens } from "./use-screens.ts";

/** The command palette, the map of keys, and the keys themselves. */
export const Keyboard = () => {
  const [open, setOpen] = useState<"palette" | "keys">();
  const screens = useScreens();
  const actions = useSyncExternalStore(onActions, readActions);
  const commands = [...actions, ...screens];
  const strokes = useRef(new Strokes(["g"]));
  const close = (): void => setOpen(undefined);
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const stroke = toStroke(event);
    if (stroke === undefined || event.defaultPrevented) {
      return;
    }
    if (stroke === "mod+k") {
      event.preventDefault();
      setOpen("palette");
      return;
    }
    const isBusy = document.querySelector("dialog[open]") !== null;
    if (stroke.startsWith("mod+") || isBusy || takesText(document.activeElement)) {
      return;
    }
    const keys = strokes.current.press(stroke, event.timeStamp);
    const command = commands.find((one) => one.keys === keys);
    if (keys === "?") {
      setOpen("keys");
    } else if (keys !== undefined && command?.run !== undefined) {
      event.preventDefault();
      void command.run();
    }
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => onKey(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
  return (
    <>
      <button
        type="button"
        className="palette-open"
        aria-label={`Go to ${paletteKeys}`}
        onClick={() => setOpen("palette")}
      >
        <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2ZM10.6 10.6 14 14" />
        </svg>
        <span className="palette-hint">Go to</span>{" "}
        <kbd className="palette-hint">{paletteKeys}</kbd>
      </button>
      {open === "palette" && <Palette commands={commands} onClose={close} />}
      {open === "keys" && <KeyMap commands={commands} onClose={close} />}
    </>
  );
};
