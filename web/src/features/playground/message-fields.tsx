import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { LongText } from "../../components/text/long-text.tsx";
import { formatBytes, pluralize } from "../../components/text/quantity.ts";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { createMessage, messageRoles } from "./playground-state.ts";
import type { PlaygroundMessage, PlaygroundState, VariableFormat } from "./playground-state.ts";

/**
 * The maximum length of a text that can be edited. A longer text is only shown, because a browser would take seconds to
 * lay out a field with it.
 */
const maxEditedChars = 100_000;
/** The maximum number of messages that are shown. Earlier messages are sent, but not shown. */
const maxShownMessages = 200;
const maxRows = 16;

interface FieldsProps {
  readonly state: PlaygroundState;
  readonly onChange: (changes: Partial<PlaygroundState>) => void;
}

/** Fields to edit the messages that are sent. */
export const MessageFields = ({ state: { messages, format }, onChange }: FieldsProps) => {
  const changeMessage = (id: string, changes: Partial<PlaygroundMessage>): void =>
    onChange({
      messages: messages.map((message) =>
        message.id === id ? { ...message, ...changes } : message,
      ),
    });
  const hiddenCount = Math.max(0, messages.length - maxShownMessages);
  return (
    <section className="playground-section" aria-label="Messages">
      <div className="playground-head">
        <h2>Messages</h2>
        <NativeSelect
          size="xs"
          aria-label="Variable syntax"
          value={format}
          data={[
            { value: "none", label: "No variables" },
            { value: "f-string", label: "{variable}" },
            { value: "mustache", label: "{{variable}}" },
            ...(format === "jinja2" ? [{ value: "jinja2", label: "Jinja2" }] : []),
          ]}
          onChange={({ currentTarget }) =>
            onChange({ format: currentTarget.value as VariableFormat })
          }
        />
      </div>
      {hiddenCount > 0 && (
        <p className="note">Sent, but not shown: {pluralize(hiddenCount, "earlier message")}.</p>
      )}
      {messages.slice(hiddenCount).map((message, position) => {
        const index = hiddenCount + position;
        return (
          <fieldset
            key={message.id}
            className="playground-message"
            aria-label={`Message ${index + 1}`}
          >
            <div className="playground-head">
              <NativeSelect
                size="xs"
                aria-label="Role"
                value={message.role}
                data={messageRoles.map((role) => ({
                  value: role,
                  label: role === "placeholder" ? "message list" : role,
                }))}
                onChange={({ currentTarget }) => {
                  const role = messageRoles.find((name) => name === currentTarget.value);
                  changeMessage(message.id, { role: role ?? message.role });
                }}
              />
              <MessageButtons index={index} messages={messages} onChange={onChange} />
            </div>
            {message.role === "tool" && (
              <TextInput
                size="xs"
                label="Tool call ID"
                value={message.toolCallId}
                onChange={({ currentTarget }) =>
                  changeMessage(message.id, { toolCallId: currentTarget.value })
                }
              />
            )}
            <MessageText message={message} onChange={changeMessage} />
            <MessageExtras message={message} onChange={changeMessage} />
          </fieldset>
        );
      })}
      <div>
        <Button
          type="button"
          size="xs"
          variant="default"
          onClick={() => onChange({ messages: [...messages, createMessage("user", "")] })}
        >
          Add message
        </Button>
      </div>
    </section>
  );
};

interface MessageProps {
  readonly message: PlaygroundMessage;
  readonly onChange: (id: string, changes: Partial<PlaygroundMessage>) => void;
}

const MessageText = ({ message: { id, role, text }, onChange }: MessageProps) =>
  text.length > maxEditedChars ? (
    <>
      <p className="note">
        This text ({formatBytes(text.length)}) is too long to edit here. It is sent unchanged.
      </p>
      <LongText text={text} />
    </>
  ) : (
    <Textarea
      aria-label={role === "placeholder" ? "Name of the variable with the messages" : "Text"}
      rows={Math.min(maxRows, Math.max(2, text.split("\n").length + 1))}
      value={text}
      onChange={({ currentTarget }) => onChange(id, { text: currentTarget.value })}
    />
  );

/** The images and the tool calls of a message. They can be removed, and the arguments of the calls edited. */
const MessageExtras = ({ message: { id, images, toolCalls }, onChange }: MessageProps) => (
  <>
    {images.map((image, index) => (
      <p key={index} className="playground-head">
        <span className="note">Image: {toVisibleText(image.slice(0, 60))}</span>
        <Button
          type="button"
          size="compact-xs"
          variant="subtle"
          color="gray"
          aria-label={`Remove image ${index + 1}`}
          onClick={() =>
            onChange(id, { images: images.filter((_, position) => position !== index) })
          }
        >
          Remove
        </Button>
      </p>
    ))}
    {toolCalls.map((call, index) => (
      <div key={index} className="playground-call">
        <p className="playground-head">
          <span>
            Tool call <code>{toVisibleText(call.name)}</code>{" "}
            <small>{toVisibleText(call.id)}</small>
          </span>
          <Button
            type="button"
            size="compact-xs"
            variant="subtle"
            color="gray"
            aria-label={`Remove tool call ${index + 1} (${toVisibleText(call.name)})`}
            onClick={() =>
              onChange(id, { toolCalls: toolCalls.filter((_, position) => position !== index) })
            }
          >
            Remove
          </Button>
        </p>
        <Textarea
          aria-label={`Arguments of ${toVisibleText(call.name)}`}
          rows={2}
          value={call.arguments}
          onChange={({ currentTarget }) =>
            onChange(id, {
              toolCalls: toolCalls.map((other, position) =>
                position === index ? { ...other, arguments: currentTarget.value } : other,
              ),
            })
          }
        />
      </div>
    ))}
  </>
);

const MessageButtons = ({
  index,
  messages,
  onChange,
}: {
  readonly index: number;
  readonly messages: readonly PlaygroundMessage[];
  readonly onChange: FieldsProps["onChange"];
}) => {
  const name = `message ${index + 1} (${messages[index]?.role ?? ""})`;
  const moveTo = (to: number): void => {
    const others = messages.filter((_, position) => position !== index);
    onChange({
      messages: [...others.slice(0, to), ...messages.slice(index, index + 1), ...others.slice(to)],
    });
  };
  return (
    <span>
      <Button
        type="button"
        size="compact-xs"
        variant="subtle"
        disabled={index === 0}
        aria-label={`Move ${name} up`}
        onClick={() => moveTo(index - 1)}
      >
        ↑
      </Button>
      <Button
        type="button"
        size="compact-xs"
        variant="subtle"
        disabled={index === messages.length - 1}
        aria-label={`Move ${name} down`}
        onClick={() => moveTo(index + 1)}
      >
        ↓
      </Button>
      <Button
        type="button"
        size="compact-xs"
        variant="subtle"
        color="gray"
        disabled={messages.length === 1}
        aria-label={`Remove ${name}`}
        onClick={() => onChange({ messages: messages.filter((_, position) => position !== index) })}
      >
        Remove
      </Button>
    </span>
  );
};
