// The access log of AWS's Application Load Balancers, which send to pods directly where their targets
// are addresses. It has no word for why a target gave no answer, so that is the status that the
// client got.
import { LogFormat, type LogValues } from "./log-format.ts";

export const albFormat = new LogFormat({
  name: "AWS ALB",
  format:
    "$type $time_iso8601 $balancer $client $upstream_addr $request_processing_time " +
    "$target_processing_time $response_processing_time $status $target_status $received_bytes " +
    '$sent_bytes "$request" "$http_user_agent" $ssl_cipher $ssl_protocol $target_group ' +
    '"$trace_id" "$host" "$certificate" $rule_priority $start_time $rest',
});

/** Its values as nginx's: the tried endpoint answered, or did not. */
export function albValues(values: LogValues): LogValues {
  const status = values.get("status") ?? "";
  const answer = values.get("target_status") ?? "-";
  const isAnswered = answer !== "-";
  return new Map([
    ...values,
    ["upstream_status", isAnswered ? answer : status],
    // nginx's sign for a missing header.
    ["upstream_header_time", isAnswered ? (values.get("target_processing_time") ?? "0") : "-"],
    ["request", plainRequest(values.get("request") ?? "")],
  ]);
}

/** It writes a whole URL where a request has a path. */
function plainRequest(request: string): string {
  return request.replace(/ [a-z]+:\/\/[^/\s]*/, " ");
}
