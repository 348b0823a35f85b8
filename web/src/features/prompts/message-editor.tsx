import { Button, NativeSelect, Textarea } from "@mantine/core";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { draftRoles, placeholderRole } from "./manifest/manifest-edit.ts";
import type { DraftMessage, PromptDraft } from "./manifest/manifest-edit.ts";

interface EditorProps {
  readonly draft: PromptDraft;
  readonly onDraft: (draft: PromptDraft) => void;
}

/** Edits the messages of a prompt and the syntax of its variables. */
export const MessageEditor = ({ draft, onDraft }: EditorProps) => {
  const { messages, format, kind } = draft;
  const changeMessage = (id: string, changes: Partial<DraftMessage>): void =>
    onDraft({
      ...draft,
      messages: messages.map((message) =>
        message.id === id ? { ...message, ...changes } : message,
      ),
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
                onChange={({ currentTarget }) =>
                  changeMessage(message.id, { role: currentTarget.value })
                }
              />
              <MessageButtons index={index} draft={draft} onDraft={onDraft} />
            </div>
          )}
          <Textarea
            aria-label={
              message.role === placeholderRole ? "Name of the variable with the messages" : "Text"
            }
            rows={Math.min(12, Math.max(2, message.text.split("\n").length + 1))}
            value={message.text}
            onChange={({ currentTarget }) =>
              changeMessage(message.id, { text: currentTarget.value })
            }
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
            Add message
          </Button>
        )}
        <NativeSelect
          size="xs"
          aria-label="Variable syntax"
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

const MessageButtons = ({ index, draft, onDraft }: EditorProps & { readonly index: number }) => {
  const { messages } = draft;
  const role = toVisibleText(messages[index]?.role ?? "");
  const moveTo = (to: number): void => {
    const others = messages.filter((_, position) => position !== index);
    const [moved] = messages.slice(index, index + 1);
    onDraft({
      ...draft,
      messages: moved === undefined ? others : [...others.slice(0, to), moved, ...others.slice(to)],
    });
  };
  return (
    <span className="hub-moves">
      <Button
        size="compact-xs"
        variant="subtle"
        disabled={index === 0}
        aria-label={`Move message ${index + 1} (${role}) up`}
        onClick={() => moveTo(index - 1)}
      >
        ↑
      </Button>
      <Button
        size="compact-xs"
        variant="subtle"
        disabled={index === messages.length - 1}
        aria-label={`Move message ${index + 1} (${role}) down`}
        onClick={() => moveTo(index + 1)}
      >
        ↓
      </Button>
      <Button
        size="compact-xs"
        variant="subtle"
        color="gray"
        disabled={messages.length === 1}
        aria-label={`Remove message ${index + 1} (${role})`}
        onClick={() =>
          onDraft({ ...draft, messages: messages.filter((_, position) => position !== index) })
        }
      >
        Remove
      </Button>
    </span>
  );
};
