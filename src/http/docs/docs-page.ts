/**
 * The page that shows the API to people. It is one file, made once, and fetches only the OpenAPI
 * document. The content security policy allows only its own script and style, by their hashes.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

function part(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8')
}

/** The policy allows only one script, so the modules are joined into one. */
function inlined(name: string): string {
  return part(name)
    .replaceAll(/^import [^']* from '[^']*'\n/gm, '')
    .replaceAll(/^export /gm, '')
}

function allowed(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

const style = ['page.css', 'operation.css'].map(part).join('\n')
const script = ['elements.js', 'schema.js', 'operation.js', 'page.js'].map(inlined).join('\n')

export const docsPage = {
  script,
  // Functions, because `$&` has a special meaning in a replacement text.
  html: part('page.html')
    .replace('<style>', () => `<style>${style}`)
    .replace('<script type="module">', (tag) => tag + script),
  contentSecurityPolicy: [
    "default-src 'none'",
    `script-src ${allowed(script)}`,
    `style-src ${allowed(style)}`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
} as const
