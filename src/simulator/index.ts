/**
 * What `import … from 'holdfast/simulator'` gives: a simulated GitHub, to test a whole bot without
 * the network.
 */
import {
  sendWebhooks as sendWebhooksOver,
  type WebhookOptions as ConnectedOptions,
  type WebhookSender,
  type WebhookSource,
} from './github/webhooks/send-webhooks.ts'

export { createGitHubSimulator, serveSimulator } from './github/simulator.ts'
export type { GitHubSimulator } from './github/simulator.ts'
export type { GitHubSimulatorOptions, SimulatedAppOptions } from './github/options.ts'
export type { ServedSimulator, ServeOptions } from './github/server.ts'
export type { GitHubAnswer, GitHubRequest, ReceivedRequest } from './github/request.ts'
export type { Exchange, Fault, Outcome } from './github/faults/fault.ts'
export type { FaultHandle, FaultScript, FaultTarget } from './github/faults/script.ts'
export type { ContentLimits, LimitForm } from './github/rate-limit.ts'
export type { GitHubEvent } from './github/state/events.ts'
export type {
  SimulatedCheckRun,
  SimulatedComment,
  SimulatedRepository,
  SimulatedReview,
  SimulatedStatus,
  SimulatedThread,
} from './github/inspection.ts'
export type {
  WebhookFault as Disorder,
  WebhookFaultRule as DisorderRule,
} from './github/webhooks/webhook-faults.ts'
export type { HookDelivery } from './github/webhooks/delivery-log.ts'
export type { WebhookSender } from './github/webhooks/send-webhooks.ts'

export interface WebhookOptions extends Omit<ConnectedOptions, 'fetch'> {
  /** The real network when not given. */
  readonly fetch?: typeof globalThis.fetch
}

/** Sends the webhooks of the simulated GitHub to a receiver. */
export function sendWebhooks(github: WebhookSource, options: WebhookOptions): WebhookSender {
  return sendWebhooksOver(github, { fetch, ...options })
}
