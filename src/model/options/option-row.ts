interface Common {
  /** Names of variables, the first that is set counts. */
  readonly env: readonly string[];
  /** What the option is for: feeds the documentation. */
  readonly doc: string;
  /**
   * What a bad variable leads to, where the default would leak a payload or reach the wrong server.
   * Without it the default holds.
   */
  readonly failClosed?: "withhold" | "sendNothing";
  /** Whether its value may appear in no message. */
  readonly isSecret?: true;
}

/** One option: its kind, default, range, variables and sentence. */
export type OptionRow =
  | (Common & {
      readonly kind: "number";
      readonly fallback: number;
      readonly min: number;
      readonly max: number;
      /** Whether fractions are allowed. */
      readonly fraction?: true;
    })
  | (Common & {
      readonly kind: "text";
      readonly fallback: string | undefined;
      /** @defaultValue any text that is not empty */
      readonly format?: TextFormat;
    })
  | (Common & { readonly kind: "switch"; readonly fallback: boolean })
  | (Common & { readonly kind: "hide"; readonly fallback: false })
  | (Common & { readonly kind: "rules"; readonly fallback: readonly [] })
  | (Common & {
      readonly kind: "choice";
      readonly fallback: string;
      readonly choices: readonly string[];
    });

/** An address of a server; what can stand in a header; certificates or a private key as PEM text. */
export type TextFormat = "address" | "token" | "certificates" | "privateKey";

/** The variable of an option that is only ours. */
export const own = (name: string): readonly string[] => [`MILLRACE_${name}`];
/** Where `MILLRACE_X` is unset, the variables that instrumented code already has are read. */
export const shared = (name: string): readonly string[] => [
  `MILLRACE_${name}`,
  `LANGSMITH_${name}`,
  `LANGCHAIN_${name}`,
];
