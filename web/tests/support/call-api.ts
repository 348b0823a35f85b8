import { expect } from "vitest";

/** Calls the API of a server, and expects success. With a body the method is POST, unless another one is given. */
export async function callApi(
  url: string,
  body?: unknown,
  method = body === undefined ? "GET" : "POST",
): Promise<unknown> {
  const response = await fetch(url, {
    method,
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  expect(response.ok, `${url}: ${response.status} ${text}`).toBe(true);
  return text === "" ? undefined : JSON.parse(text);
}
