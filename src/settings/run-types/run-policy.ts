/**
 * The policy of a run, by its type. A type that is not configured has the defaults and is executed
 * by remote workers, so that a caller can use a new type without changing the server.
 */
import type { Announcement, RunPolicy } from '../../domain/run.ts'
import { contextKey } from '../../domain/outbox/publish-rights.ts'
import { contextsOf } from './publish-rights.ts'
import type { RunTypeSettings, Settings } from '../settings.ts'
import { executionLimits } from './type-defaults.ts'

export function runPolicy(
  settings: Pick<Settings, 'runs' | 'locale' | 'githubAppId'>,
  type: string,
  kind: 'pull_request' | 'job',
): RunPolicy {
  // A caller chooses the name, so it can be one that every object inherits, such as `toString`.
  const configured = Object.hasOwn(settings.runs, type) ? settings.runs[type] : undefined
  return {
    ...executionLimits({
      ...(configured && {
        timeoutMs: configured.timeoutMs,
        pendingTimeoutMs: configured.pendingTimeoutMs,
        attempts: configured.attempts,
      }),
    }),
    onNewer: configured?.onNewer ?? (kind === 'pull_request' ? 'supersede' : 'queue'),
    announcement: announcementOf(settings, configured ?? defaultOutputs(settings, type), kind),
  }
}

type OutputSettings = Pick<RunTypeSettings, 'anchor' | 'statusContext' | 'check'>

/** A type that a caller made up must not publish under the context of a configured type. */
function defaultOutputs({ runs }: Pick<Settings, 'runs'>, type: string): OutputSettings {
  const context = `holdfast/${type}`
  const taken = contextsOf(runs).some((other) => contextKey(other) === contextKey(context))
  return { anchor: { per: 'subject' }, statusContext: taken ? null : context, check: !taken }
}

/** Only an App may write check runs. */
function announcementOf(
  { locale, githubAppId }: Pick<Settings, 'locale' | 'githubAppId'>,
  { anchor, statusContext, check }: OutputSettings,
  kind: 'pull_request' | 'job',
): Announcement {
  return {
    anchorPer: anchor === false || kind === 'job' ? null : anchor.per,
    statusContext,
    checkName: check && githubAppId !== null ? statusContext : null,
    locale,
  }
}
