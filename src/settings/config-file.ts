/**
 * Finds, runs and checks the config file. It is the user's program: it may throw, export the
 * wrong thing or be misspelt, and each of that is told with the file's path.
 */
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import { configSchema } from './config-schema.ts'
import { importConfig, importFailure } from './import-config.ts'
import { SettingsError } from './settings-error.ts'

/** The names that are looked for; only one of them may be there. */
export const configFileNames = ['holdfast.config.ts', 'holdfast.config.mts'] as const

export interface LoadedConfig {
  /** Absolute; null when there is no file. */
  readonly path: string | null
  readonly config: Config
}

/** `named` is the path a person gave; without one the file may be missing. */
export async function loadConfigFile(cwd: string, named: string | null): Promise<LoadedConfig> {
  const path = named === null ? await findFile(cwd) : resolve(cwd, named)
  if (path === null) return { path: null, config: {} }
  if (named !== null) await isFile(path, true)
  return { path, config: checkConfig(await importDefault(path), path) }
}

async function findFile(cwd: string): Promise<string | null> {
  const found: string[] = []
  for (const name of configFileNames) {
    if (await isFile(resolve(cwd, name), false)) found.push(name)
  }
  if (found.length > 1) {
    throw new SettingsError([
      `${found.join(' and ')} are both in ${cwd}; remove one of them, or name the right one with ` +
        '--config',
    ])
  }
  return found[0] === undefined ? null : resolve(cwd, found[0])
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
  const module = await importConfig(path).catch((error: unknown) => {
    throw new SettingsError([
      `The config file ${path} could not be run: ${importFailure(error, path)}`,
    ])
  })
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
