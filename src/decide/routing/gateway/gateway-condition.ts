// One condition of the status of an object of the Gateway API, without the time of its last change.

export interface GatewayCondition {
  readonly type: string;
  readonly isTrue: boolean;
  readonly reason: string;
  readonly message: string;
}

export function condition(
  type: string,
  isTrue: boolean,
  reason: string,
  message = "",
): GatewayCondition {
  return { type, isTrue, reason, message };
}
