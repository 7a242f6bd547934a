/** The rules of the outbox that the settings decide: retries per channel, and write budgets. */
import type { ChannelConfig, RetryConfig } from '../../config.ts'
import { githubChannels } from '../../channels/github-channels.ts'
import {
  defaultPublishing,
  type PublishingRules,
  type RetryRules,
} from '../../domain/outbox/schedule.ts'
import type { BudgetLimits } from '../../domain/outbox/budget.ts'
import type { Settings } from '../settings.ts'

const defaults = { initialMs: 1000, factor: 2, maxMs: 900_000 }
/** If `maxRetries` is not set: as many quick retries as by default, then the background ones. */
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
    // A failed look is repeated too, even if the delivery may not be sent again.
    backgroundMs: slower.length > 0 ? slower : [last],
    retriesMax: maxRetries ?? null,
  }
}

/** How often one identity may write to GitHub. */
export function budgetLimits(
  settings: Pick<Settings, 'writeSpacingMs' | 'writesPerMinute' | 'writesPerHour'>,
): BudgetLimits {
  const { writeSpacingMs, writesPerMinute, writesPerHour } = settings
  return { spacingMs: writeSpacingMs, perMinute: writesPerMinute, perHour: writesPerHour }
}
