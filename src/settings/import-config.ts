/**
 * Runs a config file and answers with its exports.
 *
 * The file is always an ES module, whatever package.json says: `npm init` writes
 * `"type": "commonjs"`, and Node would then refuse the file's `import` and `export`. The same holds
 * for the TypeScript files that it imports by a relative path. What comes from packages stays what
 * they say. An error names the line, which Node tells only in the stack.
 */
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

export async function importConfig(path: string): Promise<{ readonly default?: unknown }> {
  const url = pathToFileURL(path).href
  const ownModules = new Set<string | undefined>()
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context)
      const isOwn =
        specifier === url || (/^\.\.?\//.test(specifier) && ownModules.has(context.parentURL))
      if (!isOwn || !found.url.endsWith('.ts')) return found
      ownModules.add(found.url)
      return { ...found, format: 'module-typescript' }
    },
  })
  try {
    return (await import(url)) as { readonly default?: unknown }
  } finally {
    hooks.deregister()
  }
}

/** Why the file at `path` could not be run, with the line where Node names one. */
export function importFailure(error: unknown, path: string): string {
  if (!(error instanceof Error)) return 'it threw no error'
  const place = placeIn(error.stack ?? '', path)
  return `${error.name}: ${error.message}${place === null ? '' : ` (${place})`}`
}

/**
 * Syntax errors begin with the place. Of others, only a frame in the file itself is sure to be the
 * user's.
 */
function placeIn(stack: string, path: string): string | null {
  const [, file, line] = /^((?:file:\/\/)?\/.*):(\d+)\n/.exec(stack) ?? []
  if (file !== undefined) {
    return `${file.startsWith('file:') ? fileURLToPath(file) : file}:${String(line)}`
  }
  const url = `${pathToFileURL(path).href}:`
  const at = stack.indexOf(url)
  const thrown = at < 0 ? null : /^\d+/.exec(stack.slice(at + url.length))
  return thrown === null ? null : `${path}:${thrown[0]}`
}
