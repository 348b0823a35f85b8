const hourMs = 3_600_000;

/** 240 root runs in the API's format, which started in the last 20 hours. They have tags, metadata and usage; some have errors. */
export function questionRuns(project: string): readonly object[] {
  const now = Date.now();
  return Array.from({ length: 240 }, (_, index) => {
    const id = `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`;
    const at = now - 20 * hourMs + index * 240_000;
    const stamp = new Date(at).toISOString().replaceAll(/[-:.]/g, "").slice(0, -1);
    return {
      id,
      trace_id: id,
      dotted_order: `${stamp}000Z${id}`,
      session_name: project,
      name: index % 7 === 0 ? "Refund request" : `Question ${index}`,
      run_type: index % 3 === 0 ? "llm" : "chain",
      start_time: new Date(at).toISOString(),
      end_time: new Date(at + 50 + index * 37).toISOString(),
      error: index % 11 === 0 ? "TimeoutError: the model did not answer within 30 s" : null,
      inputs: { question: `Where is my order ${index}?` },
      outputs: {
        answer: `It is on its way, number ${index}.`,
        usage_metadata: { input_tokens: 40 + index, output_tokens: 12 },
      },
      tags: ["prod", index % 2 === 0 ? "eu" : "us"],
      extra: { metadata: { user: `user-${index % 5}`, plan: index % 2 === 0 ? "pro" : "free" } },
    };
  });
}
