import { useCallback, useMemo, useState } from "react";
import { formatJson } from "../text/json-text.ts";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../text/markdown.tsx";
import { isSafeImage, toImageFile, toSafeLink } from "../text/safe-link.ts";
import { toVisibleText } from "../text/visible-text.ts";
import type { ChatMessage, ChatPart } from "./chat-messages.ts";
import { placeToolResults } from "./tool-results.ts";
import type { ShownPart } from "./tool-results.ts";
import "./chat.css";

/** The number of messages shown at first, and added by each click on "Show more". */
const pageSize = 50;

/** The maximum number of characters of an image's type that are shown. */
const maxTypeChars = 60;

/** The SVG paths of the icons of the usual roles, drawn in a box of 16 by 16 units. */
const roleIcons: Readonly<Record<string, string>> = {
  system: "M2 4.5h6M12 4.5h2M10 2.5v4M2 11.5h2M8 11.5h6M6 9.5v4",
  user: "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8ZM3 13.5c.6-5 9.4-5 10 0",
  assistant: "M8 2v2.5M3.5 4.5h9v8h-9ZM6 8v1M10 8v1M1.5 8v2M14.5 8v2",
  tool: "M10 2.5a3.5 3.5 0 0 0-3 5L2.5 12l1.5 1.5L8.5 9a3.5 3.5 0 0 0 4.6-4.6L11 6.5 9.5 5l2-2.2A3.5 3.5 0 0 0 10 2.5Z",
};
const defaultRoleIcon = "M2.5 3h11v8H7l-3 2.5V11H2.5Z";

/** Shows the messages between a user, a model and its tools. The result of a tool is shown below its call. */
export const Chat = ({
  messages: recordedMessages,
}: {
  readonly messages: readonly ChatMessage[];
}) => {
  const [shownCount, setShownCount] = useState(pageSize);
  const messages = useMemo(() => placeToolResults(recordedMessages), [recordedMessages]);
  const hiddenCount = messages.length - shownCount;
  return (
    <ol className="chat">
      {messages.slice(0, shownCount).map((message, index) => (
        // The index is a stable React key, because the order of messages does not change.
        <li key={index} className="chat-message" data-role={message.role}>
          <p className="chat-role">
            <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
              <path d={roleIcons[message.role] ?? defaultRoleIcon} />
            </svg>
            <bdi>{toVisibleText(message.role)}</bdi>
            {message.name !== undefined && <bdi>{toVisibleText(message.name)}</bdi>}
          </p>
          {message.parts.length === 0 && <p className="chat-none">No content</p>}
          {message.parts.map((part, partIndex) => (
            <MessagePart key={partIndex} part={part} />
          ))}
        </li>
      ))}
      {hiddenCount > 0 && (
        <li>
          <button
            type="button"
            className="chat-more"
            onClick={() => setShownCount(shownCount + pageSize)}
          >
            Show more messages ({hiddenCount.toLocaleString()} hidden)
          </button>
        </li>
      )}
    </ol>
  );
};

const MessagePart = ({ part }: { readonly part: ChatPart | ShownPart }) => {
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
            Tool call <code>{toVisibleText(part.name)}</code>
            {part.id !== "" && <small>{toVisibleText(part.id)}</small>}
          </p>
          <LongText text={toDisplayText(part.args)} />
          {"results" in part &&
            part.results.map((value, index) => (
              <div key={index} className="chat-tool-result">
                <p>Tool result</p>
                <LongText text={toDisplayText(value)} />
              </div>
            ))}
        </div>
      );
    case "toolResult":
      return (
        <div className="chat-tool">
          <p>Tool result{part.id !== "" && <small>{toVisibleText(part.id)}</small>}</p>
          <LongText text={toDisplayText(part.value)} />
        </div>
      );
    case "other":
      return <LongText text={formatJson(part.value)} />;
  }
};

/** Says why the `data:` URL of an image is not shown. */
function describeHiddenImage(mimeType: string): string {
  const type = toVisibleText(mimeType.slice(0, maxTypeChars));
  return isSafeImage(mimeType)
    ? `not an image: the data are not ${type}`
    : `not shown: ${type === "" ? "data without a type" : type}. PNG, JPEG, GIF, WebP and AVIF images are shown`;
}

const toDisplayText = (value: unknown): string =>
  typeof value === "string" ? value : formatJson(value);

/**
 * Shows an image that the run contains as a `data:` URL. For any other URL it shows a link and loads nothing. If a
 * `data:` URL can't be shown, it says why.
 */
const Image = ({ address }: { readonly address: string }) => {
  const [isBroken, setIsBroken] = useState(false);
  const file = useMemo(() => toImageFile(address), [address]);
  const showImage = useCallback(
    (image: HTMLImageElement | null) => {
      if (image === null || file === undefined) {
        return undefined;
      }
      const url = URL.createObjectURL(file);
      image.src = url;
      return () => URL.revokeObjectURL(url);
    },
    [file],
  );
  if (file !== undefined && !isBroken) {
    return (
      <img
        ref={showImage}
        className="chat-image"
        alt="in the message"
        onError={() => setIsBroken(true)}
      />
    );
  }
  const [, mimeType] = /^data:([^;,]*)/i.exec(address) ?? [];
  if (mimeType !== undefined) {
    return <p className="quiet">[{describeHiddenImage(mimeType)}]</p>;
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
