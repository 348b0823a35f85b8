import { StateEffect, StateField } from "@codemirror/state";
import type { EditorState, Range } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";
import type { DecorationSet } from "@codemirror/view";

/** A range of a text that is wrong, and why. */
export interface CodeFault {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

export const showFaults = StateEffect.define<readonly CodeFault[]>();

/** Underlines the faults that were shown last; they move along with the text until they are shown anew. */
export const faultField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    const shown = transaction.effects.find((effect) => effect.is(showFaults));
    return shown === undefined
      ? marks.map(transaction.changes)
      : toMarks(shown.value, transaction.state);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function toMarks(faults: readonly CodeFault[], { doc }: EditorState): DecorationSet {
  const marks: Range<Decoration>[] = [];
  for (const { from, to, message } of faults) {
    // A fault at the very end has no character of its own: the one before it stands for it.
    const end = Math.min(Math.max(to, from + 1), doc.length);
    const start = Math.max(0, Math.min(from, end - 1));
    if (start < end) {
      marks.push(
        Decoration.mark({ class: "cm-fault", attributes: { title: message } }).range(start, end),
      );
    }
  }
  return Decoration.set(marks, true);
}
