/** The result of a matcher of vitest. */
interface MatcherResult {
  pass: boolean;
  message: () => string;
}

/** Options of the matchers that count changed characters. */
export interface CloseToOptions {
  threshold?: number;
  algorithm?: "levenshtein";
}

/** How `toBeSemanticCloseTo` turns both texts into vectors, and how it compares them. */
export interface SemanticCloseToOptions {
  /** An object that turns a text into a vector, such as embeddings of LangChain. */
  embeddings: { embedQuery: (query: string) => number[] | Promise<number[]> };
  threshold?: number;
  algorithm?: "cosine" | "dot-product";
}

/** The Levenshtein distance: the number of characters to insert, remove or replace to turn one text into the other. */
function countEdits(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 0; row < left.length; row += 1) {
    const currentRow = [row + 1];
    for (let column = 0; column < right.length; column += 1) {
      const replacement = left.charCodeAt(row) === right.charCodeAt(column) ? 0 : 1;
      currentRow.push(
        Math.min(
          (previous[column + 1] ?? 0) + 1,
          (currentRow[column] ?? 0) + 1,
          (previous[column] ?? 0) + replacement,
        ),
      );
    }
    previous = currentRow;
  }
  return previous.at(-1) ?? 0;
}

const toMatcherResult = (pass: boolean, text: string): MatcherResult => ({
  pass,
  message: () => `Expected ${text}`.replace("to be", pass ? "not to be" : "to be"),
});

/** Whether the fraction of characters that differ is at most `threshold`. */
export async function toBeRelativeCloseTo(
  received: string,
  expected: string,
  { threshold = 0.1 }: CloseToOptions = {},
): Promise<MatcherResult> {
  if (threshold < 0 || threshold > 1) {
    throw new RangeError("toBeRelativeCloseTo: threshold must be a number from 0 to 1.");
  }
  const length = Math.max(received.length, expected.length);
  const distance = length === 0 ? 0 : countEdits(received, expected) / length;
  const names = `${JSON.stringify(received)} to be relatively close to ${JSON.stringify(expected)}`;
  return toMatcherResult(
    distance <= threshold,
    `${names} (threshold ${threshold}, distance ${distance})`,
  );
}

/** Whether the number of characters that differ is at most `threshold`. */
export async function toBeAbsoluteCloseTo(
  received: string,
  expected: string,
  { threshold = 3 }: CloseToOptions = {},
): Promise<MatcherResult> {
  const distance = countEdits(received, expected);
  const names = `${JSON.stringify(received)} to be absolutely close to ${JSON.stringify(expected)}`;
  return toMatcherResult(
    distance <= threshold,
    `${names} (threshold ${threshold}, distance ${distance})`,
  );
}

/** Whether the similarity of the vectors of two texts is at least `1 - threshold`. */
export async function toBeSemanticCloseTo(
  received: string,
  expected: string,
  { embeddings, threshold = 0.2, algorithm = "cosine" }: SemanticCloseToOptions,
): Promise<MatcherResult> {
  const [left, right] = await Promise.all([
    embeddings.embedQuery(received),
    embeddings.embedQuery(expected),
  ]);
  const product = multiply(left, right);
  const length = algorithm === "cosine" ? Math.hypot(...left) * Math.hypot(...right) : 1;
  const similarity = product / length;
  const names = `${JSON.stringify(received)} to be semantically close to ${JSON.stringify(expected)}`;
  return toMatcherResult(
    similarity >= 1 - threshold,
    `${names} (threshold ${threshold}, similarity ${similarity})`,
  );
}

const multiply = (left: readonly number[], right: readonly number[]): number =>
  left.reduce((sum, value, index) => sum + value * (right[index] ?? 0), 0);
