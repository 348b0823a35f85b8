import { useState } from "react";
import { Dialog } from "../../components/dialog/dialog.tsx";
import type { Command } from "../../components/keyboard/commands.ts";

type KeyLine = readonly [keys: string, what: string];

/** The keys that open the palette, as they are printed on this machine's keyboard. */
export const paletteKeys = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘K" : "Ctrl K";

const general: readonly KeyLine[] = [
  [paletteKeys, "Go to a screen, project, dataset, queue or prompt"],
  ["?", "These keys"],
  ["Esc", "Close what is open above the page"],
];
const ofLists: KeyLine = ["↑ ↓ PgUp PgDn", "Move in a list or a tree"];
const lists = "main .data-table, main [role=tree]";

/** The keys that do something here. */
export const ShortcutList = ({
  commands,
  onClose,
}: {
  readonly commands: readonly Command[];
  readonly onClose: () => void;
}) => {
  const [hasList] = useState(() => document.querySelector(lists) !== null);
  const here = toLines(commands.filter((command) => !isScreen(command)));
  const screens = toLines(commands.filter(isScreen)).map(([keys, label]): KeyLine => [
    keys,
    `Go to ${label}`,
  ]);
  return (
    <Dialog title="Keys" width={840} onClose={onClose}>
      <div className="key-map">
        <KeyLines title="Everywhere" lines={[...general, ...screens]} />
        <KeyLines title="This page" lines={[...(hasList ? [ofLists] : []), ...here]} />
      </div>
      <p className="absent">Two letters are pressed one after the other.</p>
    </Dialog>
  );
};

const isScreen = ({ group }: Command): boolean => group === "Screens";

const toLines = (commands: readonly Command[]): readonly KeyLine[] =>
  commands.flatMap(({ keys, label }) => (keys === undefined ? [] : [[keys, label] as const]));

const KeyLines = ({
  title,
  lines,
}: {
  readonly title: string;
  readonly lines: readonly KeyLine[];
}) =>
  lines.length === 0 ? null : (
    <section>
      <h3>{title}</h3>
      <dl className="keys">
        {lines.map(([keys, what]) => (
          <KeyRow key={what} keys={keys} what={what} />
        ))}
      </dl>
    </section>
  );

const KeyRow = ({ keys, what }: { readonly keys: string; readonly what: string }) => (
  <>
    <dt>
      <kbd>{keys}</kbd>
    </dt>
    <dd>{what}</dd>
  </>
);
