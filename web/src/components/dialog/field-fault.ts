import { useState } from "react";

/** Why the server rejected a form. */
export interface FieldFault {
  /** The member of the request's body that is wrong, such as `url` or `action.template`, if there is one. */
  readonly path: string | undefined;
  /** The reason as a sentence, without the path. */
  readonly text: string;
}

/** The status and the path that some messages of the server begin with: `422: action.template: …`. */
const messageStart = /^(?:4\d\d: )?(?:([a-z_]+(?:\.[a-z_]+)*): )?/;

/**
 * Converts the error of a request. The server names the wrong member of the body in front of the reason. If the body
 * does not match its schema, the server sends a list of `{ loc, msg }`.
 */
export function toFieldFault(cause: unknown): FieldFault {
  const message = cause instanceof Error ? cause.message : String(cause);
  const violation = readViolation(message);
  if (violation !== undefined) {
    return violation;
  }
  const [start = "", path] = messageStart.exec(message) ?? [];
  return { path, text: toSentence(message.slice(start.length)) };
}

function readViolation(message: string): FieldFault | undefined {
  const start = message.indexOf("[");
  if (!/^4\d\d: \[/.test(message)) {
    return undefined;
  }
  try {
    const [violation] = JSON.parse(message.slice(start)) as readonly {
      readonly loc: readonly string[];
      readonly msg: string;
    }[];
    return (
      violation && {
        path: violation.loc.slice(1).join("."),
        text: toSentence(violation.msg.replace("must NOT", "must not")),
      }
    );
  } catch {
    return undefined;
  }
}

const toSentence = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

/** The message that a form shows next to its buttons if the reason is shown at a field. */
export const fieldHint = "Check the marked field.";

/**
 * Shows the reason why the server rejected a form at the field that caused it.
 *
 * @param paths - the members of the request's body that have a field in the form
 */
export function useFieldFaults<Path extends string>(
  paths: readonly Path[],
): {
  /** The reason to show at a field. */
  readonly faults: { readonly [Key in Path]?: string };
  /**
   * Sends the form.
   *
   * @throws Error if the form was rejected. The caller shows its message next to the buttons: {@link fieldHint} if the
   * reason is shown at a field.
   */
  readonly submit: (send: () => Promise<unknown>) => Promise<void>;
} {
  const [fault, setFault] = useState<FieldFault>();
  const path = paths.find((knownPath) => knownPath === fault?.path);
  return {
    faults: path === undefined ? {} : ({ [path]: fault?.text } as { [Key in Path]?: string }),
    submit: async (send) => {
      setFault(undefined);
      try {
        await send();
      } catch (cause) {
        const newFault = toFieldFault(cause);
        setFault(newFault);
        const hasField = paths.some((knownPath) => knownPath === newFault.path);
        throw new Error(hasField ? fieldHint : newFault.text, { cause });
      }
    },
  };
}
