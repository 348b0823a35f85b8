import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { faultField, showFaults } from "./code-faults.ts";
import {
  createEditorExtensions,
  createReadOnlyExtensions,
  getShadowRoot,
  createViewExtensions,
} from "./code-view.ts";
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
  focusRequests = 0,
}: CodeProps) => {
  const host = useRef<HTMLDivElement>(null);
  const editorView = useRef<EditorView>(undefined);
  const latestProps = useRef({ value, onChange, faults });
  useEffect(() => {
    latestProps.current = { value, onChange, faults };
  });

  useEffect(() => {
    if (host.current === null) {
      return undefined;
    }
    const root = getShadowRoot(host.current);
    const newEditor = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: latestProps.current.value,
        extensions: [
          createViewExtensions(language, label),
          readOnly ? createReadOnlyExtensions() : createEditorExtensions(),
          faultField,
          EditorView.updateListener.of(({ docChanged, state }) => {
            const text = docChanged ? state.doc.toString() : undefined;
            // Report only changes that the user made, not a new `value` that the caller has passed.
            if (text !== undefined && text !== latestProps.current.value) {
              latestProps.current.onChange?.(text);
            }
          }),
        ],
      }),
    });
    newEditor.dispatch({ effects: showFaults.of(latestProps.current.faults) });
    editorView.current = newEditor;
    return () => {
      editorView.current = undefined;
      newEditor.destroy();
    };
  }, [language, readOnly, label]);

  useEffect(() => {
    const { current } = editorView;
    if (current !== undefined && current.state.doc.toString() !== value) {
      current.dispatch({ changes: { from: 0, to: current.state.doc.length, insert: value } });
    }
  }, [value]);

  useEffect(() => {
    editorView.current?.dispatch({ effects: showFaults.of(faults) });
  }, [faults]);

  useEffect(() => {
    if (focusRequests > 0) {
      editorView.current?.focus();
    }
  }, [focusRequests]);

  return <div ref={host} className="code-host" />;
};
