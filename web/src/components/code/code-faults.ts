import { StateEffect, StateField } from "@codemirror/state";
import type { EditorState, Range } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";
import type { DecorationSet } from "@codemirror/view";

/** An invalid range of a text, with the reason. */
export interface CodeFault {
  readonly from: number;
  readonly to: number;
  readonly message: string;
}

/** Replaces the faults that an editor underlines. */
export const showFaults = StateEffect.define<readonly CodeFault[]>();

/** Underlines the current faults. Edits of the text move the faults until {@link showFaults} replaces them. */
export const faultField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    const update = transaction.effects.find((effect) => effect.is(showFaults));
    return update === undefined
      ? marks.map(transaction.changes)
      : toMarks(update.value, transaction.state);
  },
  provide: (field) => EditorView.decorations.from(field),
});

function toMarks(faults: readonly CodeFault[], { doc }: EditorState): DecorationSet {
  const marks: Range<Decoration>[] = [];
  for (const { from, to, message } of faults) {
    // A fault at the end of the text covers no character, so underline the last character instead.
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
