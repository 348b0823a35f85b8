import { useMemo } from "react";
import type { ReactNode } from "react";
import ReactMarkdown from "react-markdown";
import type { Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { ColoredCode } from "../code/colored-code.tsx";
import { LongText } from "../text/long-text.tsx";
import { MarkdownLimitError, canParseMarkdown, limitMarkdown } from "./markdown-limits.ts";
import { toSafeLink } from "../text/safe-link.ts";
import { toVisibleText } from "../text/visible-text.ts";
import "./markdown.css";

/**
 * The maximum length of a text that is rendered as Markdown. Rendering longer texts would take noticeably long, so they
 * are shown as plain text.
 */
const maxMarkdownChars = 100_000;

/**
 * How elements of Markdown are rendered. Images become links, so that the UI never requests a URL that an untrusted
 * text contains.
 */
const components: Components = {
  a: ({ href, children }) => {
    const address = toSafeLink(href);
    return address === undefined ? (
      <span>{children}</span>
    ) : (
      <a href={address} rel="noreferrer" target="_blank">
        {children}
      </a>
    );
  },
  img: ({ src, alt }) => {
    const address = toSafeLink(typeof src === "string" ? src : undefined);
    const text = `image: ${alt === undefined || alt === "" ? "untitled" : alt}`;
    return address === undefined ? (
      <span>[{text}]</span>
    ) : (
      <a href={address} rel="noreferrer" target="_blank">
        [{text}]
      </a>
    );
  },
  code: ({ className, children }) => {
    const [, language] = /^language-(\S+)$/.exec(className ?? "") ?? [];
    return language === undefined || typeof children !== "string" ? (
      <code>{children}</code>
    ) : (
      <ColoredCode code={children} language={language} />
    );
  },
  input: ({ checked }) => <span>{checked === true ? "☑" : "☐"}</span>,
  // Headings of the text must not become headings of the UI.
  h1: ({ children }) => <p className="markdown-h">{children}</p>,
  h2: ({ children }) => <p className="markdown-h">{children}</p>,
  h3: ({ children }) => <p className="markdown-h">{children}</p>,
  h4: ({ children }) => <p className="markdown-h">{children}</p>,
  h5: ({ children }) => <p className="markdown-h">{children}</p>,
  h6: ({ children }) => <p className="markdown-h">{children}</p>,
};

const plugins = [remarkGfm, limitMarkdown];

/**
 * Renders an untrusted text as Markdown. HTML in it is not rendered, and images are not loaded. A text that is too long
 * or too deeply nested is shown as plain text.
 */
export const Markdown = ({ text }: { readonly text: string }) => {
  const content = useMemo(() => renderMarkdown(text), [text]);
  return content === undefined ? (
    <>
      <p className="note">Shown as plain text: too long or too deeply nested for Markdown.</p>
      <LongText text={text} />
    </>
  ) : (
    <div className="markdown">{content}</div>
  );
};

/** Returns `undefined` if the text exceeds a limit. */
function renderMarkdown(text: string): ReactNode | undefined {
  if (text.length > maxMarkdownChars || !canParseMarkdown(text)) {
    return undefined;
  }
  try {
    // Call the component as a function: if it were rendered as an element, an error in it would replace the page.
    return ReactMarkdown({ remarkPlugins: plugins, components, children: toVisibleText(text) });
  } catch (cause) {
    // A RangeError means that the call stack is exhausted. The limits can't rule that out, because it also depends on
    // how much of the stack the callers use.
    if (cause instanceof MarkdownLimitError || cause instanceof RangeError) {
      return undefined;
    }
    throw cause;
  }
}
