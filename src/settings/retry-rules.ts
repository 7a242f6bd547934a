/** From the retries that a config file sets per channel to the rules the outbox goes by. */
import type { ChannelConfig, RetryConfig } from '../config.ts'
import { githubChannels } from '../channels/github-channels.ts'
import {
  defaultPublishing,
  type PublishingRules,
  type RetryRules,
} from '../domain/outbox/schedule.ts'

const defaults = { initialMs: 1000, factor: 2, maxMs: 900_000 }
/** Without a number of retries: as many exact ones as the default has, then the background's. */
const quickDefault = defaultPublishing.retry.quickMs.length

export function retryRules(
  channels: Readonly<Record<string, ChannelConfig>>,
): PublishingRules['retryOf'] {
  return Object.fromEntries(
    githubChannels.flatMap((name) => {
      const retry = channels[name]?.retry
      return retry === undefined ? [] : [[name, rulesOf(retry)]]
    }),
  )
}

function rulesOf(retry: RetryConfig): RetryRules {
  const { maxRetries, initialMs, factor, maxMs } = { ...defaults, ...retry }
  const waits = Array.from({ length: maxRetries ?? quickDefault }, (_, i) =>
    Math.round(Math.min(maxMs, initialMs * factor ** i)),
  )
  const last = waits.at(-1) ?? initialMs
  const slower = defaultPublishing.retry.backgroundMs.filter((ms) => ms > last && ms <= maxMs)
  return {
    quickMs: waits,
    // A look that fails is repeated too, however often it may be sent.
    backgroundMs: slower.length > 0 ? slower : [last],
    retriesMax: maxRetries ?? null,
  }
}
