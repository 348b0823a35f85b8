import { useCallback, useMemo, useState } from "react";
import { formatJson } from "../text/json-text.ts";
import { LongText } from "../text/long-text.tsx";
import { Markdown } from "../markdown/markdown.tsx";
import { isSafeImage, toImageFile, toSafeLink } from "../text/safe-link.ts";
import { toVisibleText } from "../text/visible-text.ts";
import type { ChatMessage, ChatPart } from "./chat-messages.ts";
import { JsonView } from "./json-view.tsx";
import { RoleIcon } from "./role-icon.tsx";
import { placeToolResults } from "./tool-results.ts";
import type { ShownPart } from "./tool-results.ts";
import "./chat.css";

/** The number of messages shown at first, and added by each click on "Show more". */
const pageSize = 50;

/** The maximum number of characters of an image's type that are shown. */
const maxTypeChars = 60;

/** In pixels. */
const maxToolValueHeight = 240;
/**
 * The maximum length of a tool's text that is parsed. Parsing a longer text could freeze the UI, so it is shown
 * unchanged.
 */
const maxParsedChars = 1_000_000;

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
            <RoleIcon role={message.role} />
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
            Show more messages ({hiddenCount.toLocaleString("en")} hidden)
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
          <ToolValue value={part.args} label={`Arguments of ${part.name}`} />
          {"results" in part &&
            part.results.map((value, index) => (
              <div key={index} className="chat-tool-result">
                <p>Tool result</p>
                <ToolValue value={value} label={`Result of ${part.name}`} />
              </div>
            ))}
        </div>
      );
    case "toolResult":
      return (
        <div className="chat-tool">
          <p>Tool result{part.id !== "" && <small>{toVisibleText(part.id)}</small>}</p>
          <ToolValue value={part.value} label="Tool result" />
        </div>
      );
    case "other":
      return <LongText text={formatJson(part.value)} />;
  }
};

/** Explains why the `data:` URL of an image is not shown. */
function describeHiddenImage(mimeType: string): string {
  const type = toVisibleText(mimeType.slice(0, maxTypeChars));
  return isSafeImage(mimeType)
    ? `can't be shown: the data is not ${type}`
    : `can't be shown: ${type === "" ? "data without a type" : type}. Only PNG, JPEG, GIF, WebP and AVIF images are shown`;
}

/**
 * Shows the arguments or the result of a tool. Objects and arrays are shown as a colored tree, even if they were
 * recorded as JSON text.
 */
const ToolValue = ({ value, label }: { readonly value: unknown; readonly label: string }) => {
  const tree = useMemo(() => (typeof value === "string" ? parseJsonTree(value) : value), [value]);
  if (typeof tree === "object" && tree !== null && Object.keys(tree).length > 0) {
    return <JsonView value={tree} label={toVisibleText(label)} maxHeight={maxToolValueHeight} />;
  }
  return <LongText text={typeof value === "string" ? value : formatJson(value)} />;
};

/**
 * Returns `undefined` for a text that is not a JSON object or array, that takes noticeably long to parse, or that may
 * contain a number with more digits than a JavaScript number can represent.
 */
function parseJsonTree(text: string): unknown {
  if (text.length > maxParsedChars || !/^\s*[[{]/.test(text) || /\d{16}/.test(text)) {
    return undefined;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // A text that only begins like JSON is shown as it is.
  }
}

/**
 * Shows an image that the run contains as a `data:` URL. For any other URL it shows a link and loads nothing. If a
 * `data:` URL can't be shown, it explains why.
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
