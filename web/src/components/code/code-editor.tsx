import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { faultField, showFaults } from "./code-faults.ts";
import { editExtensions, readExtensions, getShadowRoot, viewExtensions } from "./code-view.ts";
import type { CodeProps } from "./code.tsx";

const noFaults: NonNullable<CodeProps["faults"]> = [];

/** CodeMirror in a shadow root. This file is a separate chunk, which `code.tsx` loads on demand. */
export const CodeEditor = ({
  value,
  language = "text",
  readOnly = false,
  onChange,
  label,
  faults = noFaults,
}: CodeProps) => {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef({ value, onChange, faults });
  useEffect(() => {
    latest.current = { value, onChange, faults };
  });

  useEffect(() => {
    if (host.current === null) {
      return undefined;
    }
    const root = getShadowRoot(host.current);
    const created = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: latest.current.value,
        extensions: [
          viewExtensions(language, label),
          readOnly ? readExtensions() : editExtensions(),
          faultField,
          EditorView.updateListener.of(({ docChanged, state }) => {
            const text = docChanged ? state.doc.toString() : undefined;
            // Do not report text that was set from outside: the caller has it already.
            if (text !== undefined && text !== latest.current.value) {
              latest.current.onChange?.(text);
            }
          }),
        ],
      }),
    });
    created.dispatch({ effects: showFaults.of(latest.current.faults) });
    view.current = created;
    return () => {
      view.current = undefined;
      created.destroy();
    };
  }, [language, readOnly, label]);

  useEffect(() => {
    const { current } = view;
    if (current !== undefined && current.state.doc.toString() !== value) {
      current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
    }
  }, [value]);

  useEffect(() => {
    view.current?.dispatch({ effects: showFaults.of(faults) });
  }, [faults]);

  return <div ref={host} className="code-host" />;
};
