// A time: relative first, the absolute one as title.
import { absolute, ago, clockTime } from "../format.ts";
import { useNow } from "../now.ts";

export function Ago({ at }: { readonly at: number }) {
  const now = useNow(1_000);
  return (
    <time dateTime={new Date(at).toISOString()} title={absolute(at)}>
      {ago(at, now)}
    </time>
  );
}

/** `since 13:24:58, 2 min 10 s ago`: for screenshots, which have no hover. */
export function Since({ at }: { readonly at: number }) {
  return (
    <>
      since <span title={absolute(at)}>{clockTime(at)}</span>, <Ago at={at} />
    </>
  );
}
