import { FilterError } from "./filter-error.ts";
import type { Span } from "./filter-error.ts";
import type { PunctuationMark } from "./lexer.ts";

/** The tokens that both forms of filters have. */
export type CommonToken = Span &
  (
    | { readonly kind: "mark"; readonly mark: PunctuationMark }
    /** A text in quotes. */
    | { readonly kind: "text"; readonly text: string }
    | { readonly kind: "end" }
  );

/** Reads the tokens of a filter from left to right. Each form of filters has a parser that extends this class. */
export abstract class TokenReader<Token extends Span & { readonly kind: string }> {
  protected readonly text: string;
  /** Index of the next token. */
  protected next = 0;
  readonly #tokens: readonly (Token | CommonToken)[];

  constructor(text: string, tokens: readonly (Token | CommonToken)[]) {
    this.text = text;
    this.#tokens = tokens;
  }

  /** Describes a token in an error. */
  protected abstract describe(token: Token | CommonToken): string;

  /**
   * Returns the next token, or the token `ahead` positions after it (before it if negative). Beyond the last token,
   * returns the end.
   */
  protected peek(ahead = 0): Token | CommonToken {
    return this.#tokens[this.next + ahead] ?? { kind: "end", offset: this.text.length, length: 1 };
  }

  protected isMark(mark: PunctuationMark, ahead = 0): boolean {
    const token = this.peek(ahead);
    return token.kind === "mark" && "mark" in token && token.mark === mark;
  }

  /** @throws FilterError the next token is not this mark. */
  protected expectMark(mark: PunctuationMark, location: string): void {
    if (!this.isMark(mark)) {
      const token = this.peek();
      throw this.createError(token, `expected ${mark} ${location}, found ${this.describe(token)}`);
    }
    this.next += 1;
  }

  /** @throws FilterError the filter does not end here. */
  protected expectEnd(): void {
    const token = this.peek();
    if (token.kind !== "end") {
      throw this.createError(
        token,
        `expected the end of the filter, found ${this.describe(token)}`,
      );
    }
  }

  protected createError({ offset, length }: Span, reason: string): FilterError {
    return new FilterError(this.text, { reason, offset, length });
  }
}
