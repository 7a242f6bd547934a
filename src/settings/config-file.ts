/**
 * Finds, runs and checks the config file. It is the user's program: it may throw, export the wrong
 * thing or have a misspelt name, and each problem names the file. Problems are returned, so that
 * they are reported together with those of other sources.
 */
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { checkConfig, type CheckedConfig } from './check-config.ts'
import { importConfig } from './import-config.ts'
import { SettingsError } from './settings-error.ts'

/** The names that are looked for; only one of them may be there. */
export const configFileNames = ['holdfast.config.ts', 'holdfast.config.mts'] as const

export interface LoadedConfig extends CheckedConfig {
  /** Absolute; null when there is no file, or none that could be run. */
  readonly path: string | null
  readonly hint?: string | undefined
}

/** `named` is the path a person gave; without one the file may be missing. */
export async function loadConfigFile(cwd: string, named: string | null): Promise<LoadedConfig> {
  try {
    const path = named === null ? await findFile(cwd) : resolve(cwd, named)
    if (path === null) return { path, config: {}, problems: [] }
    if (named !== null) await isFile(path, true)
    return { path, ...checkConfig(await importDefault(path), path) }
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return { path: null, config: {}, problems: error.problems, hint: error.hint }
  }
}

async function findFile(cwd: string): Promise<string | null> {
  const found: string[] = []
  for (const name of configFileNames) {
    if (await isFile(resolve(cwd, name), false)) found.push(name)
  }
  if (found.length > 1) {
    throw new SettingsError([
      `Both ${found.join(' and ')} are in ${cwd}. Remove one of them, or name the right one with ` +
        '--config',
    ])
  }
  return found[0] === undefined ? null : resolve(cwd, found[0])
}

async function isFile(path: string, required: boolean): Promise<boolean> {
  try {
    if ((await stat(path)).isFile()) return true
    throw new SettingsError([`The config file ${path} is not a file`])
  } catch (error) {
    if (error instanceof SettingsError) throw error
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'ENOENT' && !required) return false
    const why = code === 'ENOENT' ? 'does not exist' : `cannot be read (${String(code)})`
    throw new SettingsError([`The config file ${path} ${why}`])
  }
}

async function importDefault(path: string): Promise<unknown> {
  const module = await importConfig(path)
  if (module.default === undefined) {
    throw new SettingsError([`The config file ${path} has no default export`], {
      hint: 'Write: export default defineConfig({ ... })',
    })
  }
  return module.default
}
