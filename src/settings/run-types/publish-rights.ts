/** What the runs of a type may publish, by the configuration, and the problems of that part. */
import type { PublishConfig } from '../../config.ts'
import { defaultRights } from '../../channels/github-channels.ts'
import { contextKey, isReserved } from '../../domain/outbox/publish-rights.ts'
import type { PublishRights } from '../../domain/outbox/publish-rights.ts'
import type { PublishSettings, RunTypeSettings, Settings } from '../settings.ts'

/**
 * Contexts and labels in the configuration also allow the channels that publish them, so that one
 * line is enough. If `channels` is given, it is the whole list.
 */
export function publishSettings(config: PublishConfig = {}): PublishSettings {
  const { contexts = [], labels = [], approve = false } = config
  const named: string[] = [
    ...defaultRights.channels,
    ...(contexts.length > 0 ? (['github-status', 'github-check'] as const) : []),
    ...(labels.length > 0 ? (['github-label'] as const) : []),
  ]
  return { channels: config.channels ?? named, contexts, labels, approve }
}

/** A type that is not configured has the default rights. */
export function publishRights(settings: Pick<Settings, 'runs'>): (type: string) => PublishRights {
  const reserved = contextsOf(settings.runs)
  return (type) => {
    const configured = Object.hasOwn(settings.runs, type) ? settings.runs[type] : undefined
    return { ...defaultRights, ...configured?.publish, reserved }
  }
}

export function contextsOf(runs: Readonly<Record<string, RunTypeSettings>>): readonly string[] {
  return Object.values(runs).flatMap(({ statusContext }) => statusContext ?? [])
}

/** `where` names the source of the configuration. */
export function contextProblems(
  runs: Readonly<Record<string, RunTypeSettings>>,
  where: string,
): string[] {
  return [
    ...sharedContexts(runs, where),
    ...contextsOfOthers(runs, where),
    ...reservedContexts(runs, where),
  ]
}

/** Contexts that differ only in case or in invisible characters count as the same. */
function sharedContexts(runs: Readonly<Record<string, RunTypeSettings>>, where: string): string[] {
  const owners = new Map<string, string>()
  const problems: string[] = []
  for (const [name, { statusContext }] of Object.entries(runs)) {
    if (statusContext === null) continue
    const owner = owners.get(contextKey(statusContext))
    if (owner === undefined) owners.set(contextKey(statusContext), name)
    else {
      problems.push(
        `${where}: runs.${name}.status.context is ${JSON.stringify(statusContext)}, ` +
          `which runs.${owner} has too. Every run type needs its own`,
      )
    }
  }
  return problems
}

/**
 * A type that is not in the configuration can start, too, and would show its result there. Contexts
 * of declared types are compared as they are.
 */
function contextsOfOthers(
  runs: Readonly<Record<string, RunTypeSettings>>,
  where: string,
): string[] {
  const declared = new Set(Object.keys(runs).map(contextKey))
  return Object.entries(runs).flatMap(([name, { statusContext }]) => {
    const [, other] = /^holdfast\/(.+)$/.exec(contextKey(statusContext ?? '')) ?? []
    if (other === undefined || declared.has(other)) return []
    return [
      `${where}: runs.${name}.status.context is ${JSON.stringify(statusContext)}, which is ` +
        `reserved for the run type ${JSON.stringify(other)}. Choose another name`,
    ]
  })
}

function reservedContexts(
  runs: Readonly<Record<string, RunTypeSettings>>,
  where: string,
): string[] {
  const reserved = contextsOf(runs)
  return Object.entries(runs).flatMap(([name, { publish }]) =>
    publish.contexts
      .filter((context) => isReserved(context, reserved))
      .map(
        (context) =>
          `${where}: runs.${name}.publish.contexts has ${JSON.stringify(context)}, which is ` +
          'reserved for the result of a run type. Choose another name',
      ),
  )
}
