import { useMantineColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore, useMemo } from "react";
import { useTenantId } from "../../api/tenant.ts";
import { onActions, readActions } from "../../components/keyboard/commands.ts";
import type { Command } from "../../components/keyboard/commands.ts";
import { KeySequence, acceptsText, toStroke } from "../../components/keyboard/shortcut.ts";
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

/** The commands that are available in every view: going to a screen and changing the theme. */
function useGlobalCommands(): readonly Command[] {
  const navigate = useNavigate();
  const tenantId = useTenantId();
  const { setColorScheme } = useMantineColorScheme();
  return useMemo(() => {
    const screenCommand = (label: string, keys: string, run: () => unknown): Command => ({
      id: `screen ${label}`,
      label,
      group: "Screens",
      keys,
      run,
    });
    const themeCommand = (label: string, value: "light" | "dark" | "auto"): Command => ({
      id: `theme ${value}`,
      label,
      group: "Theme",
      run: () => setColorScheme(value),
    });
    const params = { tenantId: tenantId ?? "" };
    const tenantScreens: readonly Command[] =
      tenantId === undefined
        ? []
        : [
            screenCommand("Projects", "g p", () =>
              navigate({ to: "/o/$tenantId/projects", params }),
            ),
            screenCommand("Datasets", "g d", () =>
              navigate({ to: "/o/$tenantId/datasets", params }),
            ),
            screenCommand("Annotation queues", "g q", () =>
              navigate({ to: "/o/$tenantId/annotation-queues", params }),
            ),
            screenCommand("Feedback", "g f", () =>
              navigate({ to: "/o/$tenantId/feedback", params }),
            ),
            screenCommand("Settings", "g s", () =>
              navigate({ to: "/o/$tenantId/settings", params }),
            ),
          ];
    return [
      screenCommand("Home", "g h", () => navigate({ to: "/" })),
      ...tenantScreens,
      screenCommand("Prompts", "g m", () => navigate({ to: "/prompts" })),
      screenCommand("Public prompts", "g u", () => navigate({ to: "/hub" })),
      themeCommand("Light theme", "light"),
      themeCommand("Dark theme", "dark"),
      themeCommand("System theme", "auto"),
    ];
  }, [navigate, tenantId, setColorScheme]);
}
