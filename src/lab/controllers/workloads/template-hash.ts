// The hash that tells the pods of one revision from those of another. Kubernetes hashes Go's own
// picture of the template with FNV-1a; this is the same function over JSON with sorted fields, so
// equal templates have equal hashes, though not the real ones.

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** No vowels and no letters that look alike: names should not spell words. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

export function templateHash(template: unknown, collisions: number): string {
  let hash = offsetBasis;
  for (const byte of Buffer.from(`${canonical(template)}${collisions === 0 ? "" : collisions}`)) {
    hash = Math.imul(hash ^ byte, prime) >>> 0;
  }
  return Array.from(String(hash), safeLetter).join("");
}

function safeLetter(digit: string): string {
  return alphabet[digit.charCodeAt(0) % alphabet.length] ?? "";
}

/** JSON that does not depend on the order in which fields were written. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
