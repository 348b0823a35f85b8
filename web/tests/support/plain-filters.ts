/** Filters as functions, and as one types them. */
export const plainFilters: readonly (readonly [functions: string, plain: string])[] = [
  ['and(eq(model, "gpt-5"), gt(latency, "5s"))', "model = gpt-5 and latency > 5s"],
  ["gte(total_tokens, 5)", "total_tokens >= 5"],
  ['eq(metadata.a, "5")', 'metadata.a = "5"'],
  ['neq(name, "two words")', 'name != "two words"'],
  ['eq(name, "null")', 'name = "null"'],
  ["eq(error, null)", "error = null"],
  ["eq(is_root, true)", "is_root = true"],
  ['has(tags, "prod")', 'tags has "prod"'],
  ['search(error, "429")', 'error contains "429"'],
  ['like(name, "%a")', 'name like "%a"'],
  ['search("refund")', '"refund"'],
  ['in(run_type, ["llm", "embedding"])', "run_type in [llm, embedding]"],
  ['in(name, ["two words", "a,b", "5"])', 'name in ["two words", "a,b", "5"]'],
  ["in(metadata.n, [1, 2.5])", "metadata.n in [1, 2.5]"],
  ['not(eq(name, "a"))', "not name = a"],
  ['not(or(eq(name, "a"), has(tags, "c")))', 'not (name = a or tags has "c")'],
  ["exists(metadata.a)", "exists(metadata.a)"],
  [
    'and(exists(metadata, "ls_model_name"), not(eq(model, "gpt-5")))',
    'exists(metadata, "ls_model_name") and not model = gpt-5',
  ],
  [
    'and(or(eq(name, "a, (b"), has(tags, "c")), gt(latency, 5))',
    '(name = "a, (b" or tags has "c") and latency > 5',
  ],
  [
    'or(and(eq(feedback_key, "a"), gt(feedback_score, 0.5)), eq(status, "error"))',
    "(feedback_key = a and feedback_score > 0.5) or status = error",
  ],
  [
    'and(and(eq(feedback_key, "a"), gt(feedback_score, -1)), search("x"))',
    '(feedback_key = a and feedback_score > -1) and "x"',
  ],
  [
    'and(eq(name, "support-agent"), or(eq(status, "error"), gt(latency, "6s")))',
    "name = support-agent and (status = error or latency > 6s)",
  ],
  [
    'or(and(eq(name, "a"), gt(latency, 5)), not(and(eq(name, "b"), not(or(search("c"), eq(name, "AND"))))))',
    '(name = a and latency > 5) or not (name = b and not ("c" or name = AND))',
  ],
  [String.raw`eq(name, "say \"hi\"")`, String.raw`name = "say \"hi\""`],
  [String.raw`has(metadata, '{"a": "\n"}')`, String.raw`has(metadata, '{"a": "\n"}')`],
];
