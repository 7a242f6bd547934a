/**
 * Finds, runs and checks the config file. It is the user's program: it may throw, export the wrong
 * thing or contain a misspelt name. Each problem names the file. Problems are returned, not thrown,
 * so that they are reported together with those of other sources.
 */
import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { SettingsError } from '../settings-error.ts'
import { checkConfig, type CheckedConfig } from './check-config.ts'

/** Only one of these may exist. */
export const configFileNames = ['holdfast.config.ts', 'holdfast.config.mts'] as const
/** Names of other tools. Left alone, such a file would be ignored without a word. */
const otherNames = ['js', 'mjs', 'cjs', 'cts', 'json'].map((ending) => `holdfast.config.${ending}`)

export interface LoadedConfig extends CheckedConfig {
  /** Absolute. Null if there is no file, or the file could not be run. */
  readonly path: string | null
  readonly hint?: string | undefined
}

/** `named` is the path that a person gave. If it is null, the file may be missing. */
export async function loadConfigFile(cwd: string, named: string | null): Promise<LoadedConfig> {
  try {
    const path = named === null ? await findFile(cwd) : resolve(cwd, named)
    if (path === null) return { path, config: {}, problems: [] }
    if (named !== null) await isFile(path, true)
    return { path, ...checkConfig(defaultOf(await importConfig(path), path), path) }
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
  if (found[0] !== undefined) return resolve(cwd, found[0])
  refuseOtherNames(cwd)
  return null
}

function refuseOtherNames(cwd: string): void {
  for (const name of otherNames) {
    if (!existsSync(resolve(cwd, name))) continue
    const [right] = configFileNames
    throw new SettingsError([`${resolve(cwd, name)} is not read: the config file is ${right}`], {
      hint: `Rename it to ${right}. It is an ES module: export default { ... }`,
    })
  }
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

/** Not async: a promise as the default export must be refused, not awaited. */
function defaultOf(module: ConfigModule, path: string): unknown {
  if (module.default === undefined) {
    throw new SettingsError([`The config file ${path} has no default export`], {
      hint: 'Write: export default defineConfig({ ... })',
    })
  }
  return module.default
}

interface ConfigModule {
  readonly default?: unknown
}

const ownPackage = new URL('../../../index.mjs', import.meta.url).href

/**
 * Runs a config file and returns its exports.
 *
 * The file is always an ES module, whatever package.json says: `npm init` writes
 * `"type": "commonjs"`, and Node would then refuse the file's `import` and `export`. The same holds
 * for the TypeScript files that it imports by a relative path. If the project has not installed
 * `holdfast`, the name means this package. Every other import is resolved as usual. An error names
 * the line, which Node shows only in the stack.
 */
async function importConfig(path: string): Promise<ConfigModule> {
  const url = pathToFileURL(path).href
  const ownModules = new Set<string | undefined>()
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = orOwnPackage(specifier, () => next(specifier, context))
      const isOwn =
        specifier === url || (/^\.\.?\//.test(specifier) && ownModules.has(context.parentURL))
      if (!isOwn || !found.url.endsWith('.ts')) return found
      ownModules.add(found.url)
      return { ...found, format: 'module-typescript' }
    },
  })
  const idle = whenIdle()
  try {
    return await Promise.race([import(url) as Promise<ConfigModule>, idle.promise])
  } catch (error) {
    const hint = remedyFor(error)
    throw new SettingsError(
      [`The config file ${path} could not be run: ${failureText(error, ownModules)}`],
      hint === null ? {} : { hint },
    )
  } finally {
    idle.stop()
    hooks.deregister()
  }
}

class NeverReadyError extends Error {}

/** Rejects when Node has nothing left to do: it would then end without a word, and with success. */
function whenIdle() {
  const { promise, reject } = Promise.withResolvers<never>()
  const listener = (): void => reject(new NeverReadyError('it awaits something that never happens'))
  process.once('beforeExit', listener)
  return { promise, stop: () => void process.off('beforeExit', listener) }
}

function orOwnPackage<T extends { readonly url: string }>(
  specifier: string,
  resolve: () => T,
): T | { readonly url: string; readonly shortCircuit: true } {
  try {
    return resolve()
  } catch (error) {
    if (specifier !== 'holdfast' || codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error
    return { url: ownPackage, shortCircuit: true }
  }
}

function failureText(error: unknown, ownModules: ReadonlySet<string | undefined>): string {
  if (!(error instanceof Error)) return 'it threw something that is not an Error'
  if (error instanceof NeverReadyError) return error.message
  const place = placeIn(error.stack ?? '', ownModules)
  return `${error.name}: ${error.message}${place === null ? '' : ` (${place})`}`
}

/**
 * The stack of a syntax error begins with the place. For other errors the place is the first stack
 * frame in one of the user's own files.
 */
function placeIn(stack: string, ownModules: ReadonlySet<string | undefined>): string | null {
  const [, file, line] = /^((?:file:\/\/)?\/.*):(\d+)\n/.exec(stack) ?? []
  if (file !== undefined) {
    return `${file.startsWith('file:') ? fileURLToPath(file) : file}:${String(line)}`
  }
  for (const [, url = '', at = ''] of stack.matchAll(/(file:\/\/[^\s)]*?):(\d+):\d+/g)) {
    if (ownModules.has(url)) return `${fileURLToPath(url)}:${at}`
  }
  return null
}

function remedyFor(error: unknown): string | null {
  if (!(error instanceof Error)) return null
  if (error instanceof NeverReadyError) {
    return 'Look for an await at the top level whose promise is never resolved.'
  }
  if (codeOf(error) === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return 'Node runs the file as it is: use types, but no enum, namespace or parameter property.'
  }
  if (/^(module|require|exports) is not defined/.test(error.message)) {
    return 'The config file is an ES module: use import and export default.'
  }
  const [, missing = ''] = /^Cannot find module '(.*)' imported from/.exec(error.message) ?? []
  return existsSync(`${missing}.ts`) ? `Write the file's ending in the import: .ts` : null
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException | null)?.code
}
