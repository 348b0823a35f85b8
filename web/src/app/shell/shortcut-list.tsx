import { useState } from "react";
import { Dialog } from "../../components/dialog/dialog.tsx";
import { paletteKeys } from "./palette-keys.ts";
import type { Command } from "../../components/keyboard/commands.ts";

type Shortcut = readonly [keys: string, description: string];

const globalShortcuts: readonly Shortcut[] = [
  [paletteKeys, "Go to a page, project, dataset, queue or prompt"],
  ["?", "Show keyboard shortcuts"],
  ["Esc", "Close the dialog"],
];
const listShortcut: Shortcut = ["↑ ↓ PgUp PgDn", "Move through a list or tree"];
const listSelector = "main .data-table, main [role=tree]";

/** The list of the shortcuts that work in the current view. */
export const ShortcutList = ({
  commands,
  onClose,
}: {
  readonly commands: readonly Command[];
  readonly onClose: () => void;
}) => {
  const [hasList] = useState(() => document.querySelector(listSelector) !== null);
  const viewShortcuts = toShortcuts(commands.filter((command) => !isPageCommand(command)));
  const pageShortcuts = toShortcuts(commands.filter(isPageCommand)).map(
    ([keys, label]): Shortcut => [keys, `Go to ${label}`],
  );
  return (
    <Dialog title="Keyboard shortcuts" width={840} onClose={onClose}>
      <div className="key-map">
        <ShortcutGroup title="All pages" shortcuts={[...globalShortcuts, ...pageShortcuts]} />
        <ShortcutGroup
          title="This page"
          shortcuts={[...(hasList ? [listShortcut] : []), ...viewShortcuts]}
        />
      </div>
      <p className="absent">
        Press the keys of a sequence such as <kbd>g h</kbd> one after the other.
      </p>
    </Dialog>
  );
};

const isPageCommand = ({ group }: Command): boolean => group === "Pages";

const toShortcuts = (commands: readonly Command[]): readonly Shortcut[] =>
  commands.flatMap(({ keys, label }) => (keys === undefined ? [] : [[keys, label] as const]));

const ShortcutGroup = ({
  title,
  shortcuts,
}: {
  readonly title: string;
  readonly shortcuts: readonly Shortcut[];
}) =>
  shortcuts.length === 0 ? null : (
    <section>
      <h3>{title}</h3>
      <dl className="keys">
        {shortcuts.map(([keys, description]) => (
          <ShortcutRow key={description} keys={keys} description={description} />
        ))}
      </dl>
    </section>
  );

const ShortcutRow = ({
  keys,
  description,
}: {
  readonly keys: string;
  readonly description: string;
}) => (
  <>
    <dt>
      <kbd>{keys}</kbd>
    </dt>
    <dd>{description}</dd>
  </>
);
