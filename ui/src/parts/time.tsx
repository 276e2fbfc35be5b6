// A time: relative first, the absolute one as title.
import { absolute, ago, clockTime } from "../format.ts";
import { useTimeText } from "../now.ts";

export function Ago({ at }: { readonly at: number }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={absolute(at)}>
      {useTimeText((now) => ago(at, now))}
    </time>
  );
}

/** `late since 13:24:58, 2 min ago`: for screenshots, which have no hover. */
export function Since({ at, word }: { readonly at: number; readonly word: string }) {
  return (
    <>
      {word} <span title={absolute(at)}>{clockTime(at)}</span>, <Ago at={at} />
    </>
  );
}
