import { useCallback, useMemo, useState } from "react";
import { formatJson } from "../text/json-text.ts";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../text/markdown.tsx";
import { toImageFile, toSafeLink } from "../text/safe-link.ts";
import { toVisibleText } from "../text/visible-text.ts";
import type { ChatMessage, ChatPart } from "./chat-messages.ts";
import "./chat.css";

/** Messages shown at first; a page of them more with each press. */
const pageSize = 50;

/** Messages between a person, a model and its tools. */
export const Chat = ({ messages }: { readonly messages: readonly ChatMessage[] }) => {
  const [shown, setShown] = useState(pageSize);
  const rest = messages.length - shown;
  return (
    <ol className="chat">
      {messages.slice(0, shown).map((message, index) => (
        // Messages don't move.
        <li key={index} className="chat-message" data-role={message.role}>
          <p className="chat-role">
            <bdi>{toVisibleText(message.role)}</bdi>
            {message.name !== undefined && <bdi>{toVisibleText(message.name)}</bdi>}
          </p>
          {message.parts.length === 0 && <p className="chat-none">no content</p>}
          {message.parts.map((part, partIndex) => (
            <Part key={partIndex} part={part} />
          ))}
        </li>
      ))}
      {rest > 0 && (
        <li>
          <button type="button" className="chat-more" onClick={() => setShown(shown + pageSize)}>
            Show more: {rest.toLocaleString()} messages
          </button>
        </li>
      )}
    </ol>
  );
};

const Part = ({ part }: { readonly part: ChatPart }) => {
  switch (part.kind) {
    case "text":
      return <Markdown text={part.text} />;
    case "thinking":
      return (
        <details className="chat-thinking">
          <summary>Reasoning</summary>
          <LongText text={part.text} />
        </details>
      );
    case "image":
      return <Image address={part.address} />;
    case "toolCall":
      return (
        <div className="chat-tool">
          <p>
            calls <code>{toVisibleText(part.name)}</code>
            {part.id !== "" && <small>{toVisibleText(part.id)}</small>}
          </p>
          <LongText text={textOf(part.args)} />
        </div>
      );
    case "toolResult":
      return (
        <div className="chat-tool">
          <p>result{part.id !== "" && <small>{toVisibleText(part.id)}</small>}</p>
          <LongText text={textOf(part.value)} />
        </div>
      );
    case "other":
      return <LongText text={formatJson(part.value)} />;
  }
};

const textOf = (value: unknown): string => (typeof value === "string" ? value : formatJson(value));

/** An image that came within the run; one from elsewhere is named, not fetched. */
const Image = ({ address }: { readonly address: string }) => {
  const file = useMemo(() => toImageFile(address), [address]);
  const show = useCallback(
    (image: HTMLImageElement | null) => {
      if (image === null || file === undefined) {
        return undefined;
      }
      const made = URL.createObjectURL(file);
      image.src = made;
      return () => URL.revokeObjectURL(made);
    },
    [file],
  );
  if (file !== undefined) {
    return <img ref={show} className="chat-image" alt="of the message" />;
  }
  const link = toSafeLink(address);
  const name = `[image: ${toVisibleText(address.slice(0, 100))}]`;
  return link === undefined ? (
    <p>{name}</p>
  ) : (
    <p>
      <a href={link} rel="noreferrer" target="_blank">
        {name}
      </a>
    </p>
  );
};
