import { expect, test } from "vitest";
import { AppError } from "./errors.ts";
import { writeMessage } from "./message.ts";

const message = [
  "The limit (",
  { count: 1_204 },
  ") is reached until ",
  { time: "2026-03-15T14:30:00Z" },
  ".",
];

test("a message is written in American English, with times in UTC", () => {
  expect(writeMessage(message)).toBe("The limit (1,204) is reached until March 15, 2026 at 2:30 PM UTC.");
});

test("an error keeps the pieces of its message", () => {
  const error = new AppError("CONFLICT", { message });
  expect(error.message).toBe(writeMessage(message));
  expect(error.pieces).toEqual(message);
  expect(new AppError("CONFLICT", { message: "In use" }).pieces).toBeUndefined();
});
