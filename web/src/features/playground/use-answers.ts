import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import type { ToolCall } from "./playground-state.ts";
import { modelEndpointsQuery } from "../models/model-endpoints.ts";
import { streamAnswer } from "./queries.ts";
import type { AnswerEnd, AnswerEvent, CallBody } from "./queries.ts";

/** The part of a model's answer that has arrived so far. */
export interface Answer {
  readonly label: string;
  readonly isRunning: boolean;
  /** Whether the user stopped the call. */
  readonly isStopped: boolean;
  readonly text: string;
  readonly thinking: string;
  readonly toolCalls: readonly ToolCall[];
  readonly end: AnswerEnd;
}

/**
 * The milliseconds between two updates of a text that is arriving. More frequent updates would be slow, because each
 * one lays out the whole text.
 */
const showIntervalMs = 60;

/** Calls models, and keeps the answer of each target. Leaving the page aborts the calls. */
export function useAnswers() {
  const client = useQueryClient();
  const [answers, setAnswers] = useState<Readonly<Record<string, Answer>>>({});
  const running = useRef(new Map<string, AbortController>());
  useEffect(() => {
    const { current } = running;
    return () => current.forEach((controller) => controller.abort());
  }, []);
  const stop = useCallback(
    (targetId?: string) =>
      running.current.forEach((controller, id) => {
        if (targetId === undefined || targetId === id) {
          controller.abort();
        }
      }),
    [],
  );
  const run = useCallback(
    async (targetId: string, label: string, body: CallBody): Promise<void> => {
      running.current.get(targetId)?.abort();
      const controller = new AbortController();
      running.current.set(targetId, controller);
      let answer: Answer = {
        label,
        isRunning: true,
        isStopped: false,
        text: "",
        thinking: "",
        toolCalls: [],
        end: {},
      };
      let timer: ReturnType<typeof setTimeout> | undefined;
      const show = (): void => {
        clearTimeout(timer);
        timer = undefined;
        if (running.current.get(targetId) === controller) {
          const shownAnswer = answer;
          setAnswers((current) => ({ ...current, [targetId]: shownAnswer }));
        }
      };
      show();
      try {
        for await (const event of streamAnswer(body, controller.signal)) {
          answer = addEvent(answer, event);
          timer ??= setTimeout(show, showIntervalMs);
        }
      } catch (cause) {
        const message = cause instanceof Error ? cause.message : String(cause);
        answer = controller.signal.aborted
          ? { ...answer, isStopped: true }
          : { ...answer, end: { ...answer.end, failure: message } };
      }
      answer = { ...answer, isRunning: false };
      show();
      if (running.current.get(targetId) === controller) {
        running.current.delete(targetId);
      }
      await client.invalidateQueries({ queryKey: modelEndpointsQuery.queryKey });
    },
    [client],
  );
  return { answers, run, stop };
}

function addEvent(answer: Answer, event: AnswerEvent): Answer {
  switch (event.kind) {
    case "text":
    case "thinking":
      return { ...answer, [event.kind]: answer[event.kind] + event.text };
    case "toolCall": {
      const { id, name } = event;
      return { ...answer, toolCalls: [...answer.toolCalls, { id, name, arguments: "" }] };
    }
    case "arguments":
      return {
        ...answer,
        toolCalls: answer.toolCalls.map((call, index) =>
          index === event.index ? { ...call, arguments: call.arguments + event.text } : call,
        ),
      };
    case "end":
      return { ...answer, end: event.end };
  }
}
