import { Button, NativeSelect, Textarea } from "@mantine/core";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { draftRoles, placeholderRole } from "./manifest-edit.ts";
import type { DraftMessage, PromptDraft } from "./manifest-edit.ts";

interface EditorProps {
  readonly draft: PromptDraft;
  readonly onDraft: (draft: PromptDraft) => void;
}

/** The messages of a prompt, to write. */
export const MessageEditor = ({ draft, onDraft }: EditorProps) => {
  const { messages, format, kind } = draft;
  const replace = (id: string, changes: Partial<DraftMessage>): void =>
    onDraft({
      ...draft,
      messages: messages.map((one) => (one.id === id ? { ...one, ...changes } : one)),
    });
  return (
    <div className="hub-editor">
      {messages.map((message, index) => (
        <fieldset key={message.id} className="hub-draft" aria-label={`Message ${index + 1}`}>
          {kind !== "text" && (
            <div className="hub-draft-head">
              <NativeSelect
                size="xs"
                aria-label="Role"
                value={message.role}
                data={[...draftRoles]}
                onChange={({ currentTarget }) => replace(message.id, { role: currentTarget.value })}
              />
              <MessageMoves index={index} draft={draft} onDraft={onDraft} />
            </div>
          )}
          <Textarea
            aria-label={message.role === placeholderRole ? "Variable of the messages" : "Text"}
            rows={Math.min(12, Math.max(2, message.text.split("\n").length + 1))}
            value={message.text}
            onChange={({ currentTarget }) => replace(message.id, { text: currentTarget.value })}
          />
        </fieldset>
      ))}
      <div className="hub-draft-head">
        {kind !== "text" && (
          <Button
            size="xs"
            variant="default"
            onClick={() =>
              onDraft({
                ...draft,
                messages: [...messages, { id: crypto.randomUUID(), role: "human", text: "" }],
              })
            }
          >
            Add a message
          </Button>
        )}
        <NativeSelect
          size="xs"
          aria-label="How variables are written"
          value={format}
          data={[
            { value: "f-string", label: "{variable}" },
            { value: "mustache", label: "{{variable}}" },
            ...(format === "jinja2" ? [{ value: "jinja2", label: "Jinja2" }] : []),
          ]}
          disabled={format === "jinja2"}
          onChange={({ currentTarget }) =>
            onDraft({
              ...draft,
              format: currentTarget.value === "mustache" ? "mustache" : "f-string",
            })
          }
        />
      </div>
    </div>
  );
};

const MessageMoves = ({ index, draft, onDraft }: EditorProps & { readonly index: number }) => {
  const { messages } = draft;
  const role = toVisibleText(messages[index]?.role ?? "");
  const move = (to: number): void => {
    const moved = messages.filter((_, address) => address !== index);
    const [one] = messages.slice(index, index + 1);
    onDraft({
      ...draft,
      messages: one === undefined ? moved : [...moved.slice(0, to), one, ...moved.slice(to)],
    });
  };
  return (
    <span className="hub-moves">
      <Button
        size="compact-xs"
        variant="subtle"
        disabled={index === 0}
        aria-label={`Move message ${index + 1}, ${role}, up`}
        onClick={() => move(index - 1)}
      >
        ↑
      </Button>
      <Button
        size="compact-xs"
        variant="subtle"
        disabled={index === messages.length - 1}
        aria-label={`Move message ${index + 1}, ${role}, down`}
        onClick={() => move(index + 1)}
      >
        ↓
      </Button>
      <Button
        size="compact-xs"
        variant="subtle"
        color="red"
        disabled={messages.length === 1}
        aria-label={`Remove message ${index + 1}, ${role}`}
        onClick={() =>
          onDraft({ ...draft, messages: messages.filter((_, address) => address !== index) })
        }
      >
        Remove
      </Button>
    </span>
  );
};
