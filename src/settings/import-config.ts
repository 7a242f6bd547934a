/**
 * Runs a config file and answers with its exports.
 *
 * The file is always an ES module, whatever package.json says: `npm init` writes
 * `"type": "commonjs"`, and Node would then refuse the file's `import` and `export`. The same holds
 * for the TypeScript files that it imports by a relative path. `holdfast` is this package where the
 * project has none installed. Everything else stays what its package says. A failure names the
 * line, which Node tells only in the stack.
 */
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { SettingsError } from './settings-error.ts'

const ownPackage = new URL('../../index.mjs', import.meta.url).href

export async function importConfig(path: string): Promise<{ readonly default?: unknown }> {
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
  try {
    return (await import(url)) as { readonly default?: unknown }
  } catch (error) {
    const hint = remedyFor(error)
    throw new SettingsError(
      [`The config file ${path} could not be run: ${failureText(error, ownModules)}`],
      hint === null ? {} : { hint },
    )
  } finally {
    hooks.deregister()
  }
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
  const place = placeIn(error.stack ?? '', ownModules)
  return `${error.name}: ${error.message}${place === null ? '' : ` (${place})`}`
}

/**
 * Syntax errors begin with the place. Of others, only a frame in one of the user's own files says
 * where to look.
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
