import { useMemo } from "react";
import ReactMarkdown from "react-markdown";
import type { Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { LongText } from "./long-text.tsx";
import { toSafeLink } from "./safe-link.ts";
import { toVisibleText } from "./visible-text.ts";
import "./markdown.css";

/** Characters beyond which a text is shown as it is: to lay out its Markdown would be felt. */
const limit = 100_000;

/** Where a link leads, and what an image shows, is never asked for by the page itself. */
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
    const text = `image: ${alt === undefined || alt === "" ? "without a name" : alt}`;
    return address === undefined ? (
      <span>[{text}]</span>
    ) : (
      <a href={address} rel="noreferrer" target="_blank">
        [{text}]
      </a>
    );
  },
  input: ({ checked }) => <span>{checked === true ? "☑" : "☐"}</span>,
  // A value's headings are none of the page's.
  h1: ({ children }) => <p className="markdown-h">{children}</p>,
  h2: ({ children }) => <p className="markdown-h">{children}</p>,
  h3: ({ children }) => <p className="markdown-h">{children}</p>,
  h4: ({ children }) => <p className="markdown-h">{children}</p>,
  h5: ({ children }) => <p className="markdown-h">{children}</p>,
  h6: ({ children }) => <p className="markdown-h">{children}</p>,
};

const plugins = [remarkGfm];

/** A text of a run, a dataset or a prompt as Markdown: no HTML of its own, no image of elsewhere. */
export const Markdown = ({ text }: { readonly text: string }) => {
  const visible = useMemo(() => (text.length > limit ? "" : toVisibleText(text)), [text]);
  return text.length > limit ? (
    <LongText text={text} />
  ) : (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={plugins} components={components}>
        {visible}
      </ReactMarkdown>
    </div>
  );
};
