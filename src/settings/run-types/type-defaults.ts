/** The defaults of run types, channels and retention. */
import type { Config, RunTypeConfig } from '../../config.ts'
import { permissionSettings } from './permissions.ts'
import { publishSettings } from './publish-rights.ts'
import type { ExecutionSettings, RunTypeSettings, Settings } from '../settings.ts'

const hourMs = 3_600_000

const reviewType: RunTypeConfig = {
  on: { pull_request: ['opened', 'reopened', 'ready_for_review', 'synchronize', 'edited'] },
  rerunOn: { pull_request: ['review_requested'], check_run: ['rerequested'] },
  when: (event) => {
    const { pull_request: pullRequest } = event.payload as {
      readonly pull_request?: { readonly user?: { readonly type?: string } | null }
    }
    return pullRequest?.user?.type !== 'Bot' || 'bot author'
  },
}

export type TypeSettings = Pick<Settings, 'runs' | 'channels' | 'retention'>

export function withTypeDefaults(config: Config): TypeSettings {
  return {
    runs: mapValues(config.runs ?? { review: {} }, (given, name) =>
      // The built-in type keeps its defaults for what the file leaves out.
      runType(name === 'review' ? { ...reviewType, ...given } : given, name),
    ),
    channels: config.channels ?? {},
    retention: {
      finishedDays: config.retention?.finishedDays ?? 30,
      supersededDays: config.retention?.supersededDays ?? 7,
      inboxDays: config.retention?.inboxDays ?? 7,
      auditDays: config.retention?.auditDays ?? 90,
    },
  }
}

function runType(config: RunTypeConfig, name: string): RunTypeSettings {
  return {
    ...trigger(config),
    ...executionLimits(config),
    run: execution(config.run),
    concurrency: config.concurrency ?? 4,
    onNewer: config.onNewer ?? null,
    anchor: config.anchor ?? { per: 'subject' },
    statusContext: config.status === false ? null : (config.status?.context ?? `holdfast/${name}`),
    check: config.status === false ? false : (config.status?.check ?? true),
    publish: publishSettings(config.publish),
    permissions: permissionSettings(config.permissions),
  }
}

function execution(run: RunTypeConfig['run'] = 'remote'): RunTypeSettings['run'] {
  return typeof run === 'object' ? { env: [], ...run } : run
}

function trigger(config: RunTypeConfig) {
  return {
    on: config.on ?? {},
    rerunOn: config.rerunOn ?? {},
    when: config.when ?? null,
    by: config.by ?? null,
    own: config.own ?? false,
  }
}

export function executionLimits(config: Partial<ExecutionSettings>): ExecutionSettings {
  return {
    timeoutMs: config.timeoutMs ?? hourMs,
    pendingTimeoutMs: config.pendingTimeoutMs ?? hourMs,
    attempts: config.attempts ?? 3,
  }
}

function mapValues<A, B>(
  values: Readonly<Record<string, A>>,
  change: (value: A, name: string) => B,
): Readonly<Record<string, B>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, change(value, name)]),
  )
}
