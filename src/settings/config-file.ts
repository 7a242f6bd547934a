/**
 * Finds, runs and checks `holdfast.config.ts`. It is the user's program: it may throw, export the
 * wrong thing or be misspelt, and each of that is told with the file's path.
 */
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Config } from '../config.ts'
import { configSchema } from './config-schema.ts'
import { SettingsError } from './settings-error.ts'

export const configFileName = 'holdfast.config.ts'

export interface LoadedConfig {
  /** Absolute; null when there is no file. */
  readonly path: string | null
  readonly config: Config
}

/** `named` is the path a person gave; without one the default name may be missing. */
export async function loadConfigFile(cwd: string, named: string | null): Promise<LoadedConfig> {
  const path = resolve(cwd, named ?? configFileName)
  if (!(await isFile(path, named !== null))) return { path: null, config: {} }
  return { path, config: checkConfig(await importDefault(path), path) }
}

/**
 * `where` names the source in errors: the file's path, or the call that was given the object;
 * `what` is the object itself.
 */
export function checkConfig(given: unknown, where: string, what = 'the default export'): Config {
  const parsed = configSchema.safeParse(given)
  if (parsed.success) return parsed.data
  throw new SettingsError(
    parsed.error.issues.map((issue) => `${where}: ${pathText(issue.path, what)}${issue.message}`),
  )
}

async function isFile(path: string, required: boolean): Promise<boolean> {
  try {
    if ((await stat(path)).isFile()) return true
    throw new SettingsError([`The config file ${path} is no file`])
  } catch (error) {
    if (error instanceof SettingsError) throw error
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' && !required) return false
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${String(code)})`
    throw new SettingsError([`The config file ${path} ${why}`])
  }
}

async function importDefault(path: string): Promise<unknown> {
  let module: { readonly default?: unknown }
  try {
    module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown }
  } catch (error) {
    const why = error instanceof Error ? `${error.name}: ${error.message}` : 'it threw no error'
    throw new SettingsError([`The config file ${path} could not be run: ${why}`])
  }
  if (module.default === undefined) {
    throw new SettingsError([`The config file ${path} has no default export`], {
      hint: 'It has to say: export default defineConfig({ ... })',
    })
  }
  return module.default
}

function pathText(path: readonly PropertyKey[], whole: string): string {
  if (path.length === 0) return `${whole} `
  return `${path
    .map(String)
    .join('.')
    .replace(/\.(\d+)(?=\.|$)/g, '[$1]')} `
}
