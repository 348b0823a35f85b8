import { useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore, useMemo } from "react";
import { onActions, readActions } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { KeySequence, acceptsText, toStroke } from "../../components/keyboard/shortcut.ts";
import { usePages } from "../../components/page/pages.ts";
import { Palette } from "./palette.tsx";
import { ShortcutList, paletteKeys } from "./shortcut-list.tsx";

/** Handles all keyboard shortcuts, and shows the command palette and the list of shortcuts. */
export const Keyboard = () => {
  const [open, setOpen] = useState<"palette" | "keys">();
  const globalCommands = useGlobalCommands();
  const actions = useSyncExternalStore(onActions, readActions);
  const commands = [...actions, ...globalCommands];
  const strokes = useRef(new KeySequence(["g"]));
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
    const isDialogOpen = document.querySelector("dialog[open]") !== null;
    if (stroke.startsWith("mod+") || isDialogOpen || acceptsText(document.activeElement)) {
      return;
    }
    const keys = strokes.current.press(stroke, event.timeStamp);
    const command = commands.find((candidate) => candidate.keys === keys);
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
      {open === "keys" && <ShortcutList commands={commands} onClose={close} />}
    </>
  );
};

/** The commands that are available in every view: opening a page and changing the theme. */
function useGlobalCommands(): readonly Command[] {
  const navigate = useNavigate();
  const pages = usePages();
  const { setColorScheme } = useMantineColorScheme();
  return useMemo(() => {
    const themeCommand = (label: string, value: "light" | "dark" | "auto"): Command => ({
      id: `theme ${value}`,
      label,
      group: "Theme",
      run: () => setColorScheme(value),
    });
    return [
      ...pages.map(({ title, keys, path, params }): Command => ({
        id: `screen ${title}`,
        label: title,
        group: "Screens",
        ...(keys === undefined ? {} : { keys }),
        run: () => navigate({ to: path, params }),
      })),
      themeCommand("Light theme", "light"),
      themeCommand("Dark theme", "dark"),
      themeCommand("System theme", "auto"),
    ];
  }, [navigate, pages, setColorScheme]);
}
