/** The members of a node of Markdown's syntax tree that this file reads. */
interface MarkdownNode {
  readonly type: string;
  readonly children?: readonly MarkdownNode[];
  /** The columns of a table: one entry for each. */
  readonly align?: readonly unknown[] | null;
}

/**
 * The maximum number of nested quotes and lists at the beginning of a line. Each of them adds one or two levels to the
 * rendered page.
 */
const maxContainersPerLine = 40;
/**
 * The maximum depth of the syntax tree. Rendering and the browser's layout are recursive, and a page with some thousand
 * levels would crash its process.
 */
const maxLevels = 100;
/**
 * The maximum number of nodes of the syntax tree. Cells that are missing in short rows of a table also count, because
 * they are rendered.
 */
const maxNodes = 20_000;
/**
 * The parser compares the inline marks of a paragraph, such as `*` and `[`, with each other. This limits the sum, over
 * all paragraphs, of the square of the number of marks: one paragraph can have 2,000 marks, or ten can have 600 each.
 */
const maxComparedMarks = 2_000 ** 2;

const containerMark = /[ \t]*(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$)|\[\^[^\]]{1,100}\]:)/y;
const inlineMarks = /[*_~]+|!?\[/g;
const paragraphEnd = /\n[ \t]*\n/;

/** Whether a text can be parsed as Markdown in a short time. It is checked first, because the parser has no limits. */
export const canParseMarkdown = (text: string): boolean =>
  text.split("\n").every((line) => countContainers(line) <= maxContainersPerLine) &&
  countComparedMarks(text) <= maxComparedMarks;

/** Counts up to one more than {@link maxContainersPerLine}. */
function countContainers(line: string): number {
  let count = 0;
  containerMark.lastIndex = 0;
  while (count <= maxContainersPerLine && containerMark.test(line)) {
    count += 1;
  }
  return count;
}

const countComparedMarks = (text: string): number =>
  text
    .split(paragraphEnd)
    .reduce((sum, paragraph) => sum + (paragraph.match(inlineMarks)?.length ?? 0) ** 2, 0);

/**
 * A remark plugin that rejects texts that would take too long to render.
 *
 * @throws MarkdownLimitError the syntax tree is too deep or too large.
 */
export const limitMarkdown =
  () =>
  (root: MarkdownNode): void => {
    const open: { readonly node: MarkdownNode; readonly level: number }[] = [
      { node: root, level: 1 },
    ];
    let count = 0;
    for (let item = open.pop(); item !== undefined; item = open.pop()) {
      const { node, level } = item;
      const children = node.children ?? [];
      count += node.type === "table" ? 1 + children.length * (node.align?.length ?? 0) : 1;
      if (level > maxLevels || count > maxNodes) {
        throw new MarkdownLimitError();
      }
      for (const child of children) {
        open.push({ node: child, level: level + 1 });
      }
    }
  };

/** A text is too deeply nested or too large to be rendered as Markdown. */
export class MarkdownLimitError extends Error {}
