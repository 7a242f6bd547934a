/** The executors of the run types that this process executes itself, by type. */
import type { RunTypeSettings } from '../settings/settings.ts'
import type { WorkType } from '../work/work-loop.ts'
import { commandExecutor, type CommandOptions } from './command/command-executor.ts'
import { handlerExecutor, type HandlerOptions } from './handler/handler-executor.ts'

export type ExecutorOptions = HandlerOptions & CommandOptions

/** Types that remote workers execute are left out. */
export function openExecutors(
  types: Readonly<Record<string, RunTypeSettings>>,
  options: ExecutorOptions,
): ReadonlyMap<string, WorkType> {
  const opened = new Map<string, WorkType>()
  for (const [type, { run, concurrency }] of Object.entries(types)) {
    if (run === 'remote') continue
    const executor =
      typeof run === 'function' ? handlerExecutor(run, options) : commandExecutor(run, options)
    opened.set(type, { executor, concurrency })
  }
  return opened
}
