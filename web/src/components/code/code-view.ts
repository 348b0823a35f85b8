import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { markdown } from "@codemirror/lang-markdown";
import {
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import type { Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** The language of a text, for highlighting. */
export type CodeLanguage = "json" | "markdown" | "text";

const languages: { readonly [Name in CodeLanguage]: () => Extension } = {
  json: () => [json(), indentOnInput(), bracketMatching(), codeFolding(), foldGutter()],
  markdown: () => markdown(),
  text: () => [],
};

const highlights = HighlightStyle.define([
  { tag: [tags.propertyName, tags.heading, tags.strong], color: "var(--accent)" },
  { tag: [tags.heading, tags.strong], fontWeight: "650" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: [tags.string, tags.monospace], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--busy)" },
  { tag: [tags.link, tags.url], color: "var(--accent)", textDecoration: "underline" },
  { tag: [tags.quote, tags.meta, tags.processingInstruction], color: "var(--ink-2)" },
]);

// CSS custom properties are inherited by the shadow root, so a change of the color scheme needs no code here.
const theme = EditorView.theme({
  "&": {
    maxHeight: "var(--code-max, 420px)",
    minHeight: "var(--code-min, 0)",
    color: "var(--ink)",
    backgroundColor: "var(--ground)",
    fontSize: "12px",
  },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": {
    fontFamily: "var(--mantine-font-family-monospace)",
    lineHeight: "1.55",
    minHeight: "var(--code-min, 0)",
    overflow: "auto",
  },
  ".cm-content": { caretColor: "var(--ink)", minHeight: "var(--code-min, 0)" },
  ".cm-cursor, .cm-dropCursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    { backgroundColor: "var(--selected)" },
  ".cm-gutters": {
    color: "var(--ink-2)",
    backgroundColor: "var(--ground-2)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-foldPlaceholder, .cm-collapsedLines": {
    color: "var(--ink-2)",
    background: "var(--ground-3)",
    border: "1px solid var(--line)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--ground-3)" },
  ".cm-searchMatch, .cm-selectionMatch": { backgroundColor: "var(--selected)" },
  ".cm-searchMatch-selected": { outline: "1px solid var(--accent)" },
  ".cm-specialChar": { color: "var(--bad)" },
  ".cm-panels": {
    color: "var(--ink)",
    backgroundColor: "var(--ground-2)",
    borderColor: "var(--line)",
  },
  ".cm-textfield": { backgroundColor: "var(--ground)", border: "1px solid var(--line)" },
  ".cm-button": {
    color: "var(--ink)",
    backgroundColor: "var(--ground)",
    backgroundImage: "none",
    border: "1px solid var(--line)",
  },
  ".cm-fault": {
    textDecoration: "underline wavy var(--bad)",
    backgroundColor: "var(--bad-ground)",
  },
});

// Characters that are invisible or reorder text, in addition to those that CodeMirror makes visible by default.
const hiddenChars = /[\u00ad\u061c\u180e\u202a-\u202c\u2060-\u2064\u2068\u{e0000}-\u{e007f}]/gu;

/** The extensions of every view, read-only or editable. */
export const createViewExtensions = (language: CodeLanguage, label: string): Extension => [
  theme,
  syntaxHighlighting(highlights),
  highlightSpecialChars({ addSpecialChars: hiddenChars }),
  lineNumbers(),
  drawSelection(),
  highlightSelectionMatches(),
  search({ top: true }),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
  languages[language](),
  // Do not bind Tab: it must move the focus out of the editor, so that keyboard users are not trapped in the editor. Do
  // not bind Ctrl+Enter either, with which the page submits what was entered.
  keymap.of([
    ...searchKeymap,
    ...foldKeymap,
    ...defaultKeymap.filter(({ key }) => key !== "Mod-Enter"),
  ]),
];

/** The additional extensions of an editable view. */
export const createEditorExtensions = (): Extension => [history(), keymap.of(historyKeymap)];

/** The additional extensions of a read-only view. It can have the focus, so that the arrow keys scroll it. */
export const createReadOnlyExtensions = (): Extension => [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.contentAttributes.of({ tabindex: "0", "aria-readonly": "true" }),
];

/**
 * Returns the shadow root in which to mount CodeMirror. There it uses adopted style sheets, which the
 * Content-Security-Policy allows; elsewhere it would insert style elements, which the policy forbids.
 */
export const getShadowRoot = (host: HTMLElement): ShadowRoot =>
  host.shadowRoot ?? host.attachShadow({ mode: "open" });
