/**
 * What run types and task types are when the config file leaves something out, or is not there.
 */
import type { Config, PhaseConfig, RunTypeConfig, TaskTypeConfig } from '../config.ts'
import { publishSettings } from './publish-rights.ts'
import type {
  ExecutionSettings,
  PhaseSettings,
  RunTypeSettings,
  Settings,
  TaskTypeSettings,
} from './settings.ts'

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

const labelledIssue: TaskTypeConfig = {
  on: { issues: ['labeled'] },
  when: (event) => {
    const { label } = event.payload as { readonly label?: { readonly name: string } }
    return label?.name === 'holdfast' || 'another label'
  },
}

const defaultPhases: readonly PhaseConfig[] = [
  { name: 'plan' },
  { name: 'deliver' },
  { name: 'compound' },
]

export type TypeSettings = Pick<Settings, 'runs' | 'tasks' | 'notify' | 'channels' | 'retention'>

export function withTypeDefaults(config: Config): TypeSettings {
  return {
    runs: mapValues(config.runs ?? { review: reviewType }, runType),
    tasks: mapValues(config.tasks ?? { agent: labelledIssue }, taskType),
    notify: config.notify ?? [],
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
    run: config.run ?? 'remote',
    concurrency: config.concurrency ?? 4,
    onNewer: config.onNewer ?? null,
    anchor: config.anchor ?? { per: 'subject' },
    statusContext: config.status === false ? null : (config.status?.context ?? `holdfast/${name}`),
    check: config.status === false ? false : (config.status?.check ?? true),
    publish: publishSettings(config.publish),
  }
}

function taskType(config: TaskTypeConfig): TaskTypeSettings {
  return {
    ...trigger(config),
    phases: (config.phases ?? defaultPhases).map(phase),
    hooks: config.hooks ?? {},
  }
}

function phase(config: PhaseConfig): PhaseSettings {
  return {
    ...executionLimits(config),
    name: config.name,
    run: config.run ?? 'remote',
    approval: config.approval ?? null,
  }
}

function trigger(config: RunTypeConfig | TaskTypeConfig) {
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
