// A whole number within bounds on the command line; the message says which would be right.
import { InvalidArgumentError } from "commander";

export function wholeNumber(from: number, to: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= from && value <= to) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${from} to ${to}.`);
  };
}
