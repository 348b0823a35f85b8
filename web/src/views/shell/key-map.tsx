import type { Command } from "../../lib/commands.ts";
import { Dialog } from "../../parts/dialog.tsx";

const general: readonly (readonly [keys: string, what: string])[] = [
  ["mod+k", "Go to a screen, project, dataset, queue or prompt"],
  ["?", "These keys"],
  ["Esc", "Close what is open above the page"],
  ["↑ ↓ PgUp PgDn", "Move in a list or a tree"],
];

/** The keys that do something here. */
export const KeyMap = ({
  commands,
  onClose,
}: {
  readonly commands: readonly Command[];
  readonly onClose: () => void;
}) => (
  <Dialog title="Keys" width={520} onClose={onClose}>
    <dl className="keys">
      {general.map(([keys, what]) => (
        <KeyRow key={keys} keys={keys} what={what} />
      ))}
      {commands.map(({ id, keys, label, group }) =>
        keys === undefined ? null : (
          <KeyRow key={id} keys={keys} what={group === "Screens" ? `Go to ${label}` : label} />
        ),
      )}
    </dl>
    <p className="absent">mod is Ctrl, or ⌘ on a Mac. Two keys are pressed one after the other.</p>
  </Dialog>
);

const KeyRow = ({ keys, what }: { readonly keys: string; readonly what: string }) => (
  <>
    <dt>
      <kbd>{keys}</kbd>
    </dt>
    <dd>{what}</dd>
  </>
);
