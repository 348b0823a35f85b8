/** The part of an option's description that all kinds of options have. */
interface OptionRowBase {
  /** Names of environment variables. The first one that is set is used. */
  readonly env: readonly string[];
  /** Description of the option, from which the documentation is generated. */
  readonly doc: string;
  /**
   * What happens if the environment variable is invalid and the default would leak a payload or use the wrong server:
   * payloads are withheld, or nothing is sent. If absent, the default is used.
   */
  readonly failClosed?: "withhold" | "sendNothing";
  /** Set if messages must not contain the value. */
  readonly isSecret?: true;
}

/** One option: its kind, default, range, environment variables and description. */
export type OptionRow =
  | (OptionRowBase & {
      readonly kind: "number";
      readonly fallback: number;
      readonly min: number;
      readonly max: number;
      /** Whether fractions are allowed. */
      readonly fraction?: true;
    })
  | (OptionRowBase & {
      readonly kind: "text";
      readonly fallback: string | undefined;
      /**
       * Required format.
       * @defaultValue any non-empty text
       */
      readonly format?: TextFormat;
    })
  | (OptionRowBase & { readonly kind: "switch"; readonly fallback: boolean })
  | (OptionRowBase & { readonly kind: "hide"; readonly fallback: false })
  | (OptionRowBase & { readonly kind: "rules"; readonly fallback: readonly [] })
  | (OptionRowBase & {
      readonly kind: "choice";
      readonly fallback: string;
      readonly choices: readonly string[];
    });

/**
 * Formats of texts: the URL of a server, a token for a header, or certificates or a private key as
 * PEM text.
 */
export type TextFormat = "address" | "token" | "certificates" | "privateKey";

/** Returns the environment variables of an option that exists only in Millrace. */
export const toMillraceVariables = (name: string): readonly string[] => [`MILLRACE_${name}`];
/**
 * Returns the environment variables of an option that LangSmith's SDK has too. If `MILLRACE_X` is unset, LangSmith's
 * variables are used, which existing programs set.
 */
export const toLangsmithVariables = (name: string): readonly string[] => [
  `MILLRACE_${name}`,
  `LANGSMITH_${name}`,
  `LANGCHAIN_${name}`,
];
