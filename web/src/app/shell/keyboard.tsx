import { useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import {
  lazy,
  Suspense,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { readCommands, subscribeToCommands } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { KeySequence, acceptsText, toStroke } from "../../components/keyboard/shortcut.ts";
import { usePages } from "../../components/page/pages.ts";
import { loadChunk } from "../../components/page/load-chunk.ts";
import { paletteKeys } from "./palette-keys.ts";

const loadPalette = async () =>
  loadChunk(async () => ({ default: (await import("./palette.tsx")).Palette }));
const loadShortcutList = async () =>
  loadChunk(async () => ({ default: (await import("./shortcut-list.tsx")).ShortcutList }));
const Palette = lazy(loadPalette);
const ShortcutList = lazy(loadShortcutList);

/** Handles all keyboard shortcuts, and shows the command palette and the list of shortcuts. */
export const Keyboard = () => {
  const [openDialog, setOpenDialog] = useState<"palette" | "keys">();
  const globalCommands = useGlobalCommands();
  const pageCommands = useSyncExternalStore(subscribeToCommands, readCommands);
  const commands = [...pageCommands, ...globalCommands];
  const keySequence = useRef(new KeySequence(["g"]));
  const close = (): void => setOpenDialog(undefined);
  const handleKey = useEffectEvent((event: KeyboardEvent) => {
    const stroke = toStroke(event);
    if (stroke === undefined || event.defaultPrevented) {
      return;
    }
    if (stroke === "mod+k") {
      event.preventDefault();
      setOpenDialog("palette");
      return;
    }
    const isDialogOpen = document.querySelector("dialog[open]") !== null;
    if (stroke.startsWith("mod+") || isDialogOpen || acceptsText(document.activeElement)) {
      return;
    }
    const keys = keySequence.current.press(stroke, event.timeStamp);
    const command = commands.find((candidate) => candidate.keys === keys);
    if (keys === "?") {
      setOpenDialog("keys");
    } else if (keys !== undefined && command?.run !== undefined) {
      event.preventDefault();
      void command.run();
    }
  });
  useEffect(() => {
    // Load the code of both dialogs after the page. If it loaded only when a dialog opens, the first keys typed into it
    // would be lost. A failure to load is reported when the user opens a dialog.
    loadPalette().catch(() => undefined);
    loadShortcutList().catch(() => undefined);
  }, []);
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => handleKey(event);
    document.addEventListener("keydown", listener);
    return () => document.removeEventListener("keydown", listener);
  }, []);
  return (
    <>
      <button
        type="button"
        className="palette-open"
        aria-label={`Search pages and commands ${paletteKeys}`}
        onClick={() => setOpenDialog("palette")}
      >
        <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
          <path d="M7 2a5 5 0 1 0 0 10A5 5 0 0 0 7 2ZM10.6 10.6 14 14" />
        </svg>
        <span className="palette-hint">Search pages and commands</span>{" "}
        <kbd className="palette-hint">{paletteKeys}</kbd>
      </button>
      <Suspense>
        {openDialog === "palette" && <Palette commands={commands} onClose={close} />}
        {openDialog === "keys" && <ShortcutList commands={commands} onClose={close} />}
      </Suspense>
    </>
  );
};

/** Returns the commands that are available on every page: opening another page and changing the theme. */
function useGlobalCommands(): readonly Command[] {
  const navigate = useNavigate();
  const pages = usePages();
  const { setColorScheme } = useMantineColorScheme();
  return useMemo(() => {
    const createThemeCommand = (label: string, value: "light" | "dark" | "auto"): Command => ({
      id: `theme ${value}`,
      label,
      group: "Theme",
      run: () => setColorScheme(value),
    });
    return [
      ...pages.map(({ title, keys, path, params }): Command => ({
        id: `screen ${title}`,
        label: title,
        group: "Pages",
        ...(keys === undefined ? {} : { keys }),
        run: () => navigate({ to: path, params }),
      })),
      createThemeCommand("Light theme", "light"),
      createThemeCommand("Dark theme", "dark"),
      createThemeCommand("System theme", "auto"),
    ];
  }, [navigate, pages, setColorScheme]);
}
