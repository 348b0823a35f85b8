import { Button, Textarea, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import type { KeyboardEvent, ReactNode } from "react";
import { usePersonName, validatePersonName } from "../../components/text/person-name.ts";
import { FormError } from "../../components/dialog/form.tsx";
import { toVisibleText } from "../../components/text/visible-text.ts";
import { maxCommentChars, validateComment } from "./comment.ts";

interface FormState {
  readonly isBusy: boolean;
  readonly error?: string;
}

/** A form for the text of a comment. The entered text stays in the form until it is saved. */
export const CommentForm = ({
  label,
  action,
  initialText = "",
  hasInitialFocus = false,
  check,
  onChange,
  onSave,
  onCancel,
  children,
}: {
  readonly label: string;
  /** Label of the submit button. */
  readonly action: string;
  readonly initialText?: string;
  readonly hasInitialFocus?: boolean;
  /** Returns an error message if something other than the text prevents saving. */
  readonly check?: () => string | undefined;
  readonly onChange?: (text: string) => void;
  /** Saves the text. If it throws, the form shows the error and keeps the text. */
  readonly onSave: (text: string) => Promise<void>;
  readonly onCancel?: () => void;
  readonly children?: ReactNode;
}) => {
  const [text, setText] = useState(initialText);
  const [state, setState] = useState<FormState>({ isBusy: false });
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    if (!hasInitialFocus) {
      return undefined;
    }
    // Wait a frame, because the menu that opened the form first returns the focus to its button.
    const frame = requestAnimationFrame(() => field.current?.focus());
    return () => cancelAnimationFrame(frame);
  }, [hasInitialFocus]);
  const change = (newText: string): void => {
    setText(newText);
    onChange?.(newText);
  };
  const save = async (): Promise<void> => {
    const error = check?.() ?? validateComment(text);
    if (error !== undefined) {
      setState({ isBusy: false, error });
      return;
    }
    setState({ isBusy: true });
    try {
      await onSave(text);
      change("");
      setState({ isBusy: false });
    } catch (cause) {
      setState({ isBusy: false, error: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !state.isBusy) {
      event.preventDefault();
      void save();
    } else if (event.key === "Escape" && onCancel !== undefined) {
      event.stopPropagation();
      onCancel();
    }
  };
  return (
    <form
      className="comment-form"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {children}
      <Textarea
        size="xs"
        label={label}
        description={`Markdown, up to ${maxCommentChars.toLocaleString("en")} characters. Ctrl+Enter saves.`}
        autosize
        minRows={2}
        maxRows={12}
        ref={field}
        value={text}
        onChange={({ currentTarget }) => change(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <FormError error={state.error} />
      <div className="comment-buttons">
        {onCancel !== undefined && (
          <Button size="xs" variant="default" onClick={onCancel}>
            Cancel
          </Button>
        )}
        <Button size="xs" variant="default" type="submit" loading={state.isBusy}>
          {action}
        </Button>
      </div>
    </form>
  );
};

/** Texts that were entered but not saved, by `draftKey`. They are kept until the tab is closed or reloaded. */
const drafts = new Map<string, string>();

/** The form for a new comment. It asks for the person's name if neither the browser nor the API key provides a name. */
export const NewComment = ({
  draftKey,
  keyName,
  onSave,
}: {
  /** Identifies the unsent text, which is kept when the form is closed. */
  readonly draftKey: string;
  readonly keyName: string | undefined;
  readonly onSave: (text: string) => Promise<void>;
}) => {
  const [name, setName] = usePersonName();
  const [nameText, setNameText] = useState(name);
  const [isEditingName, setIsEditingName] = useState(false);
  const isNameNeeded = name === "" && keyName === undefined;
  const hasNameField = isEditingName || isNameNeeded;
  const isNameUnchanged = nameText.trim() === "" && !isNameNeeded;
  return (
    <CommentForm
      label="New comment"
      action="Comment"
      initialText={drafts.get(draftKey) ?? ""}
      check={() => (hasNameField && !isNameUnchanged ? validatePersonName(nameText) : undefined)}
      onChange={(text) => (text === "" ? drafts.delete(draftKey) : drafts.set(draftKey, text))}
      onSave={async (text) => {
        if (hasNameField && !isNameUnchanged) {
          setName(nameText.trim());
        }
        setIsEditingName(false);
        await onSave(text);
      }}
    >
      {hasNameField ? (
        <TextInput
          size="xs"
          label="Your name"
          description="This name is shown with your comments and reviews. This browser remembers it."
          autoComplete="nickname"
          value={nameText}
          onChange={({ currentTarget }) => setNameText(currentTarget.value)}
        />
      ) : (
        <p className="comment-as">
          Commenting as <bdi>{toVisibleText(name === "" ? (keyName ?? "") : name)}</bdi>{" "}
          <Button
            size="compact-xs"
            variant="subtle"
            onClick={() => {
              setNameText(name);
              setIsEditingName(true);
            }}
          >
            Change name
          </Button>
        </p>
      )}
    </CommentForm>
  );
};
