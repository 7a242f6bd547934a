/**
 * The rules a run of a type lives by. A type nobody configured is executed by remote workers and
 * has the defaults, so that a caller can invent one without touching the server.
 */
import type { Announcement, RunPolicy } from '../domain/run.ts'
import { contextKey } from '../domain/outbox/publish-rights.ts'
import { contextsOf } from './publish-rights.ts'
import type { RunTypeSettings, Settings } from './settings.ts'
import { executionLimits } from './type-defaults.ts'

export function runPolicy(
  settings: Pick<Settings, 'runs' | 'locale' | 'githubAppId'>,
  type: string,
  kind: 'pull_request' | 'job',
): RunPolicy {
  // A type may be called anything a caller likes, also what every object inherits.
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
    announcement: announcementOf(settings, configured ?? defaultsOf(settings, type), kind),
  }
}

type Shown = Pick<RunTypeSettings, 'anchor' | 'statusContext' | 'check'>

/** A caller can invent any type; none of them may show under the context of a configured one. */
function defaultsOf({ runs }: Pick<Settings, 'runs'>, type: string): Shown {
  const context = `holdfast/${type}`
  const taken = contextsOf(runs).some((other) => contextKey(other) === contextKey(context))
  return { anchor: { per: 'subject' }, statusContext: taken ? null : context, check: !taken }
}

/** Only an App may write check runs. */
function announcementOf(
  { locale, githubAppId }: Pick<Settings, 'locale' | 'githubAppId'>,
  { anchor, statusContext, check }: Shown,
  kind: 'pull_request' | 'job',
): Announcement {
  return {
    anchorPer: anchor === false || kind === 'job' ? null : anchor.per,
    statusContext,
    checkName: check && githubAppId !== null ? statusContext : null,
    locale,
  }
}
